// Large calls that met a limit on time or memory: large is not wrong.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "properties/harness/implementation.hpp"

namespace assay::tools {

/// A call that met a limit, and the limit in words.
struct oversized_call {
  core::axis_sizes sizes;
  std::string limit;
};

/// For each operation in a dtype: the sizes of answered calls, and of calls that met a limit.
class size_limits {
 public:
  void note_answered(const properties::request& call);
  void note_oversized(const properties::request& call, std::string limit);

  /// Whether calls were answered, but none as large along every axis.
  [[nodiscard]] bool is_larger_than_answered(const properties::request& call) const;
  /// The largest ratio, over the axes, of the size to the largest answered size; at least 1.
  [[nodiscard]] double multiple_of_answered(const properties::request& call) const;
  /// Whether the call is at least half as large along every axis as one that met a limit, and larger than answered
  /// calls.
  [[nodiscard]] bool is_oversized(const properties::request& call) const;
  /// "heinsen/scan in f32 was not tried beyond n = 2999: at B = 1, d = 1, n = 65669 there was no answer within 30 s of
  /// computing"; one sentence for each axis.
  [[nodiscard]] std::vector<std::string> sentences(const core::operation& op, core::dtype type) const;

 private:
  struct seen {
    std::vector<core::axis_sizes> answered;  ///< none of them is as large along every axis as another
    core::axis_sizes largest;                ///< the largest answered size of each axis
    std::vector<oversized_call> oversized;
  };
  [[nodiscard]] const seen* find(const properties::request& call) const;
  std::map<std::pair<std::string, core::dtype>, seen> all_;
};

/// The number of steps that plain code may make for a call: the product of the sizes of all axes, times the longest
/// size once more. If even such code meets no limit, then a call that meets it has a fault.
double most_steps(const core::axis_sizes& sizes);

/// Whether the text of an error says that memory could not be allocated.
bool says_no_memory(std::string text);

}  // namespace assay::tools
