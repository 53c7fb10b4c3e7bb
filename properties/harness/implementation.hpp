// The function that a property checks: the reference, the optimized kernels, a mutant or an outside candidate.
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
/// Whether the program answered and goes on, but wrote no right set of outputs.
bool is_bad_output(fault f);
/// The fault in plain words, such as "bad output": the words of a list of known failures, coarser than the faults.
const char* name_of(fault f);
/// The word for programs, a different one for each fault: "wrong_shape". Stable: reports hold it.
const char* kind_of(fault f);

struct call_failure {
  fault kind = fault::error_reply;
  std::string message;
  std::string errors{};  ///< the end of the program's stderr, if it ended or was stopped
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
  /// The smallest such size that is at least `size`, or else the largest.
  [[nodiscard]] std::size_t nearest(std::size_t size) const {
    const std::size_t above = std::max(low, size), rest = above % multiple_of;
    return std::min(rest == 0 ? above : above + (multiple_of - rest), high - high % multiple_of);
  }
  friend bool operator==(const declared_sizes&, const declared_sizes&) = default;
};

/// The precision of the arithmetic that an implementation declares for a storage dtype: one for everything, or those of
/// some stages, by name.
struct declared_precision {
  std::optional<core::dtype> all{};
  std::map<std::string, core::dtype> stages{};

  declared_precision() = default;
  declared_precision(core::dtype one) : all(one) {}
  friend bool operator==(const declared_precision&, const declared_precision&) = default;
};

/// The variant that says how the inputs of a call lie in memory, such as "transposed"; without it they are contiguous.
inline constexpr const char* strides_variant = "strides";

/// The declarations of an implementation about itself (the `hello` of the candidate protocol).
struct description {
  std::string name;
  std::string version;
  core::list_version written_for = core::newest_list;
  std::map<std::string, std::vector<core::dtype>> operations;
  /// The arithmetic, by storage dtype.
  std::map<core::dtype, declared_precision> compute;
  /// The declared domains, by operation, then by the name of an input or "state".
  std::map<std::string, std::map<std::string, declared_domain>> domain;
  /// The sizes that it takes, by operation, then by axis; any size of an axis that is not listed.
  std::map<std::string, std::map<std::string, declared_sizes>> sizes{};
  /// Relations between the sizes of axes, by operation.
  std::map<std::string, std::vector<axis_relation>> relations{};
  /// The values that it takes, by operation, then by attribute; all values of an attribute that is not listed.
  std::map<std::string, std::map<std::string, std::vector<core::attribute>>> settings{};
  /// The same for values that came after the list it was written for, and are not asked.
  std::map<std::string, std::map<std::string, std::vector<core::attribute>>> unasked{};
  /// Attributes that may be set, each with its values: block sizes, modes. Without them the implementation chooses. All
  /// choices must give results that agree.
  std::map<std::string, std::vector<core::attribute>> variants{};
  bool flush_subnormals = false;
  bool deterministic = false;
  /// The operations that are declared to take empty axes: for them an error is a fault and no refusal.
  std::vector<std::string> takes_empty{};
  /// Its answers were stored beforehand: it cannot say what a second call would give.
  bool recorded = false;
  /// Another process that goes on running gives its answers: starting the program anew forgets nothing.
  bool relayed = false;

  /// The values of `settings` for an operation; a derivative without its own has those of its function.
  [[nodiscard]] const std::map<std::string, std::vector<core::attribute>>& settings_of(const core::operation& op) const;
  /// The declared sizes of an axis; any size if none are declared.
  [[nodiscard]] declared_sizes sizes_of_axis(const core::operation& op, const std::string& symbol) const;
  [[nodiscard]] bool offers(const std::string& operation, core::dtype type) const;
  [[nodiscard]] bool must_take_empty(const std::string& operation) const {
    return std::find(takes_empty.begin(), takes_empty.end(), operation) != takes_empty.end();
  }
  /// The declared precisions for the operation and a storage dtype; for stages that are not declared, the usual one
  /// (core::operation::usual_precisions).
  [[nodiscard]] core::precisions precisions_of(const core::operation& op, core::dtype storage) const;
  /// The same for a call.
  [[nodiscard]] core::precisions precisions_of(const request& call) const {
    return precisions_of(*call.operation, call.type);
  }
};

/// Removes settings and values that came after the list that an implementation was written for. It keeps values that
/// the implementation declares, and settings for which its functions have parameters. `parameters` holds the names of
/// these parameters by operation, as far as they are known. The removed values become `unasked`, except those of
/// settings for which a function with known parameters has none.
void leave_later_settings(description& about, const std::map<std::string, std::vector<std::string>>& parameters);
/// The settings that a call passes to the implementation. A later setting that the implementation does not know is
/// passed only with a value other than the standard one.
core::attributes requested_attributes(const description& about, const request& call);

/// A function under test. `evaluate` gets calls that check_request accepts. It must return outputs that check_outputs
/// accepts, or a failure. It throws only for a fault of Assay itself (a full disk), which must never lead to a verdict.
/// This class is not thread-safe.
class implementation {
 public:
  virtual ~implementation() = default;
  [[nodiscard]] virtual const description& describe() const = 0;
  virtual call_result evaluate(const request& call) = 0;
};

}  // namespace assay::properties
