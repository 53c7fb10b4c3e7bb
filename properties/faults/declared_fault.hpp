// A fault that follows from the declaration of an operation, as data: its place, its kind, and its words.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "properties/harness/implementation.hpp"

namespace assay::properties {

/// Whether an axis varies from call to call; "1" is one element, along which nothing can be exchanged or lost.
inline bool varies(const std::string& axis) { return axis.find_first_not_of("0123456789") != std::string::npos; }

/// The answer of a faulty implementation to a call, derived from the answer of the right implementation.
using faulty_call = std::function<call_result(implementation& right, const request& call)>;

struct declared_fault {
  const core::operation* operation = nullptr;
  std::string where;  ///< the tensor or setting, or "call"
  std::string what;   ///< "one_off"
  std::string words;  ///< "position is one off"
  /// Makes a fresh fault for each implementation: some faults remember earlier calls.
  std::function<faulty_call()> make{};
  bool remembers = false;  ///< faulty only from its second call on
  /// For a fault that answers another call correctly: that call.
  std::function<request(const request& call)> answered{};

  /// "generated/rope/rotate/position/one_off"
  [[nodiscard]] std::string id() const { return "generated/" + operation->name + "/" + where + "/" + what; }
};
using declared_fault_list = std::vector<declared_fault>;

/// Changes a tensor in place; its shape and dtype do not change.
using tensor_edit = std::function<void(core::tensor& t)>;

/// A fault that changes one input before the call, or one output after it. Precondition: the declaration is one of
/// `op`.
declared_fault fault_in(const core::operation& op, const core::tensor_declaration& where, std::string what,
                        std::string words, tensor_edit edit);

/// A fault that makes another call in place of this one, if that call is valid; otherwise nothing is wrong.
declared_fault fault_of_call(const core::operation& op, std::string where, std::string what, std::string words,
                             std::function<void(request&)> edit);

/// A fault that changes the outputs.
declared_fault fault_of_outputs(const core::operation& op, std::string where, std::string what, std::string words,
                                std::function<void(const request&, core::tensors&)> edit);

/// Replaces every value x by f(x), rounded to the dtype of the tensor.
tensor_edit each_value(std::function<double(double)> f);

/// The inputs and outputs of an operation.
std::vector<const core::tensor_declaration*> tensors_of(const core::operation& op);
inline bool is_output(const core::operation& op, const core::tensor_declaration& d) { return op.output(d.name) == &d; }

// The kinds of faults, one file each: all faults of one operation.
declared_fault_list setting_faults(const core::operation& op);
declared_fault_list index_faults(const core::operation& op);
declared_fault_list axis_faults(const core::operation& op);
declared_fault_list value_faults(const core::operation& op);
declared_fault_list precision_faults(const core::operation& op);
declared_fault_list memory_faults(const core::operation& op);

}  // namespace assay::properties
