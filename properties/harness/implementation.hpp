// What a property is checked against: the reference, the optimized kernels, a mutant or an outside candidate.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "properties/harness/relations.hpp"
#include "reference/core/attributes.hpp"
#include "reference/core/operation.hpp"

namespace assay::properties {

using core::request;

/// Why a call gave no outputs. Each has its own verdict in the report.
enum class fault {
  unsupported,      ///< the implementation declines this case
  error_reply,      ///< it answered with an error
  missing_file,     ///< it said ok and wrote no file
  bad_file,         ///< no regular file, or one that breaks its format
  truncated_file,   ///< the file ends before its tensors do
  oversized_file,   ///< the file, or its header, is larger than allowed or than its tensors
  missing_output,   ///< the file lacks an output
  unknown_output,   ///< the file holds a tensor that is no output
  wrong_dtype,      ///< of an output
  wrong_shape,      ///< of an output
  crashed,          ///< the process ended by a signal or a non-zero status
  exited,           ///< the process ended with status 0 without an answer
  closed_stdout,    ///< it closed its stdout and went on running
  timed_out,        ///< no answer to a call within the time limit
  silent_hello,     ///< no hello within the time limit
  out_of_memory,    ///< above the limit on resident memory
  malformed_hello,  ///< its hello broke the protocol, or another one came after a restart
  malformed_reply,  ///< the answer was no message of the protocol
  wrong_id,         ///< the answer to another call
};
/// The program answered and goes on, but what it wrote is no right set of outputs.
bool is_bad_output(fault f);
/// In words, such as "bad output": the words of a list of known failures, coarser than the faults.
const char* name_of(fault f);
/// The word for programs, one for each fault: "wrong_shape". Stable: reports hold it.
const char* kind_of(fault f);

struct call_failure {
  fault kind = fault::error_reply;
  std::string message;
  std::string errors{};  ///< the end of what the program wrote to stderr, where it ended or was stopped
};

using call_result = tl::expected<core::tensors, call_failure>;

/// Closed interval of finite values that an input or the state is declared to stay in.
struct declared_domain {
  double low = -std::numeric_limits<double>::max();
  double high = std::numeric_limits<double>::max();
  friend bool operator==(const declared_domain&, const declared_domain&) = default;
};

/// The sizes that an axis is declared to have: multiples of a number in a closed interval. Precondition: there is one.
struct declared_sizes {
  std::size_t low = 0, high = std::numeric_limits<std::size_t>::max();
  std::size_t multiple_of = 1;

  [[nodiscard]] bool holds(std::size_t size) const { return size >= low && size <= high && size % multiple_of == 0; }
  /// The smallest such size that is not below `size`, or else the largest.
  [[nodiscard]] std::size_t nearest(std::size_t size) const {
    const std::size_t above = std::max(low, size), rest = above % multiple_of;
    return std::min(rest == 0 ? above : above + (multiple_of - rest), high - high % multiple_of);
  }
  friend bool operator==(const declared_sizes&, const declared_sizes&) = default;
};

/// The precision of the arithmetic that an implementation declares for a storage dtype: one for all, or those of some
/// stages, by name.
struct declared_precision {
  std::optional<core::dtype> all{};
  std::map<std::string, core::dtype> stages{};

  declared_precision() = default;
  declared_precision(core::dtype one) : all(one) {}
  friend bool operator==(const declared_precision&, const declared_precision&) = default;
};

/// The variant that says how the inputs of a call lie in memory, such as "transposed"; contiguous without it.
inline constexpr const char* strides_variant = "strides";

/// What an implementation says of itself (the `hello` of the candidate protocol).
struct description {
  std::string name;
  std::string version;
  core::list_version written_for = core::newest_list;
  std::map<std::string, std::vector<core::dtype>> operations;
  /// By storage dtype.
  std::map<core::dtype, declared_precision> compute;
  /// By operation, then by the name of an input or "state".
  std::map<std::string, std::map<std::string, declared_domain>> domain;
  /// By operation, then by axis: the sizes that it takes; any where an axis is not there.
  std::map<std::string, std::map<std::string, declared_sizes>> sizes{};
  /// By operation: how the sizes of its axes go together.
  std::map<std::string, std::vector<axis_relation>> relations{};
  /// By operation, then by attribute: the values that it takes; all where an attribute is not there.
  std::map<std::string, std::map<std::string, std::vector<core::attribute>>> settings{};
  /// The same of values that came after the list it was written for, and are not asked.
  std::map<std::string, std::map<std::string, std::vector<core::attribute>>> unasked{};
  /// Attributes that may be set, each with its values: block sizes, modes. Without them it uses its own choice.
  /// The results must agree.
  std::map<std::string, std::vector<core::attribute>> variants{};
  bool flush_subnormals = false;
  bool deterministic = false;
  /// The operations that are declared to take empty axes: an error is then no refusal but a fault.
  std::vector<std::string> takes_empty{};
  /// Its answers were stored beforehand: what a second call would give it cannot say.
  bool recorded = false;
  /// Another process, which goes on running, gives its answers: a program that is started anew forgets nothing.
  bool relayed = false;

  /// The values of `settings` for an operation; those of its function where a derivative has none of its own.
  [[nodiscard]] const std::map<std::string, std::vector<core::attribute>>& settings_of(const core::operation& op) const;
  /// The sizes of an axis; any where none are declared.
  [[nodiscard]] declared_sizes sizes_of_axis(const core::operation& op, const std::string& symbol) const;
  [[nodiscard]] bool offers(const std::string& operation, core::dtype type) const;
  [[nodiscard]] bool must_take_empty(const std::string& operation) const {
    return std::find(takes_empty.begin(), takes_empty.end(), operation) != takes_empty.end();
  }
  /// What it declares for the operation and a storage dtype; of stages of which it says nothing the usual one
  /// (core::operation::usual_precisions).
  [[nodiscard]] core::precisions precisions_of(const core::operation& op, core::dtype storage) const;
  /// The same for a call.
  [[nodiscard]] core::precisions precisions_of(const request& call) const {
    return precisions_of(*call.operation, call.type);
  }
};

/// Of settings and values that came after the list that an implementation was written for it is asked for those alone
/// that it names: values that it declares, and settings that its functions have parameters for, here by operation. The
/// others are `unasked`, but for settings that functions whose parameters are known have none for.
void leave_later_settings(description& about, const std::map<std::string, std::vector<std::string>>& parameters);
/// The settings that a call hands over: of later ones those that it names, and what is not standard.
core::attributes attributes_asked(const description& about, const request& call);

/// A function under test. `evaluate` is called with what check_request accepts and must return
/// outputs that check_outputs accepts, or a failure. It throws only for a fault of Assay's own (a full disk),
/// of which no verdict may come. Not thread-safe.
class implementation {
 public:
  virtual ~implementation() = default;
  [[nodiscard]] virtual const description& describe() const = 0;
  virtual call_result evaluate(const request& call) = 0;
};

}  // namespace assay::properties
