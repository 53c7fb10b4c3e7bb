// Right code that is wrong from a position of an axis on, as kernels are whose blocks, strides or integers end there.
#pragma once

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "properties/builtin.hpp"
#include "properties/tests/gating.hpp"

namespace assay::properties::testing {

struct size_fault {
  const core::operation* operation = nullptr;
  std::string axis;
  std::size_t from = 0;          ///< the first position that is wrong, counted from 0
  std::size_t every = 1;         ///< from there on, every so many-th position
  bool all_of_the_call = false;  ///< as soon as the axis reaches so far, all elements of the outputs are wrong
  double relative = 1e-2;

  /// Whether some position of an axis of this size is wrong.
  [[nodiscard]] bool begins_within(std::size_t size) const { return size > (from + every - 1) / every * every; }
  [[nodiscard]] bool is_wrong(std::size_t position) const { return position >= from && position % every == 0; }
};

/// The optimized kernels with such a fault. It is in every output that has the axis; if no output has it, in the last
/// floating-point input that has it.
class wrong_by_size final : public implementation {
 public:
  explicit wrong_by_size(size_fault fault) : right_(make_builtin("optimized").value()), fault_(std::move(fault)) {}
  [[nodiscard]] const description& describe() const override { return right_->describe(); }
  call_result evaluate(const request& call) override {
    if (call.operation != fault_.operation || !fault_.begins_within(core::check_request(call).value().at(fault_.axis)))
      return right_->evaluate(call);
    if (call_result outputs = right_->evaluate(call); !outputs || spoils(call.operation->outputs, *outputs))
      return outputs;
    request read = call;
    spoils({values_of(*call.operation)}, read.inputs);
    return right_->evaluate(read);
  }

 private:
  // The input to change. Gradients do not depend on an input in which the function is linear: a cotangent with the axis
  // is taken if there is one.
  [[nodiscard]] core::tensor_declaration values_of(const core::operation& op) const {
    const core::tensor_declaration* found = nullptr;
    for (const core::tensor_declaration& d : op.inputs)
      if (core::is_floating(d.type_in(core::dtype::f32)) && core::axis_of(d, fault_.axis)) found = &d;
    return *found;
  }

  bool spoils(const std::vector<core::tensor_declaration>& declared, core::tensors& tensors) const {
    bool some = fault_.all_of_the_call;
    for (const core::tensor_declaration& d : declared) {
      const auto axis = core::axis_of(d, fault_.axis);
      if (!axis && !fault_.all_of_the_call) continue;
      some = true;
      core::tensor& t = tensors.at(d.name);
      const core::shape s = t.shape();
      const std::size_t size = axis ? s[*axis] : 0, inner = axis ? core::stride_of(s, *axis) : 1;
      for (std::size_t i = 0; i < t.size(); ++i) {
        if (!fault_.all_of_the_call && !fault_.is_wrong(i / inner % size)) continue;
        double& x = t.values.storage()[i];
        x = core::is_floating(t.type) ? core::round_to(t.type, x * (1.0 + fault_.relative)) : x + 1.0;
      }
    }
    return some;
  }

  std::unique_ptr<implementation> right_;
  size_fault fault_;
};

/// Whether the truth fails a candidate in some case of a run with these sizes. Only cases with such sizes are called,
/// since all others are right.
inline bool is_seen(implementation& candidate, const core::operation& op, core::dtype type, const run_options& options,
                    const std::function<bool(const core::axis_sizes&)>& are_such) {
  const property& p = truth_property(op);
  for (const case_key& key : plan_of(p, candidate.describe(), op, type, options)) {
    const test_case c = make_case(key);
    if (are_such(sizes_of(c)) && p.check(candidate, c).verdict == status::failed) return true;
  }
  return false;
}

inline bool is_seen(const size_fault& fault, core::dtype type, const run_options& options) {
  wrong_by_size candidate(fault);
  return is_seen(candidate, *fault.operation, type, options,
                 [&](const core::axis_sizes& sizes) { return fault.begins_within(sizes.at(fault.axis)); });
}

}  // namespace assay::properties::testing
