// Large calls that met a limit on time or memory: large is not wrong.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "properties/harness/implementation.hpp"

namespace assay::tools {

/// A call that did not fit, and what limit it met, in words.
struct oversized_call {
  core::axis_sizes sizes;
  std::string limit;
};

/// Of each operation in a dtype: the sizes of calls that were answered, and of those that met a limit.
class size_limits {
 public:
  void note_answered(const properties::request& call);
  void note_oversized(const properties::request& call, std::string limit);

  /// Calls were answered, and none that was as large along every axis.
  [[nodiscard]] bool is_larger_than_answered(const properties::request& call) const;
  /// The size over the largest one that was answered, of the axis where this is most; at least 1.
  [[nodiscard]] double multiple_of_answered(const properties::request& call) const;
  /// Along every axis at least half as large as one that met a limit, and larger than what was answered.
  [[nodiscard]] bool is_oversized(const properties::request& call) const;
  /// "heinsen/scan in f32 was not tried beyond n = 2999: at B = 1, d = 1, n = 65669 there was no answer within 30 s of
  /// computing", a sentence for each axis.
  [[nodiscard]] std::vector<std::string> sentences(const core::operation& op, core::dtype type) const;

 private:
  struct seen {
    std::vector<core::axis_sizes> answered;  ///< none of them as large along every axis as another
    core::axis_sizes largest;                ///< of each axis, among all that were answered
    std::vector<oversized_call> oversized;
  };
  [[nodiscard]] const seen* find(const properties::request& call) const;
  std::map<std::pair<std::string, core::dtype>, seen> all_;
};

/// How often plain code may do something for a call: for every combination of its indices, and of its longest axis once
/// more. A limit that this cannot meet is met by a fault.
double most_steps(const core::axis_sizes& sizes);

/// Whether the text of an error says that memory could not be had.
bool says_no_memory(std::string text);

}  // namespace assay::tools
