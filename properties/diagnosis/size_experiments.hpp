// Fresh calls with other sizes of one axis or of several, other settings, or inputs in other intervals. They test a
// condition on sizes, settings or inputs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "properties/diagnosis/probes.hpp"

namespace assay::properties {

/// Returns at most `most` of the probes, including the first and the last.
std::vector<const probe*> some_of(const std::vector<const probe*>& all, std::size_t most);

/// A case for each value of a choice that the first case does not have: another kernel may have another bound.
std::vector<const probe*> one_of_each_choice(const std::vector<const probe*>& all);

class size_experiments {
 public:
  size_experiments(implementation& under_test, std::uint64_t seed) : under_test_(under_test), seed_(seed) {}

  /// Whether the implementation is right in a few fresh cases with the family, the settings and the sizes of the probe,
  /// except the sizes that are given. Nothing if there are no such cases inside its domain, if they are too large, if
  /// it does not answer, or if it has had enough calls. Also nothing if only informative right cases count and none of
  /// them is informative.
  std::optional<bool> is_right(const probe& like, const core::axis_sizes& changed, evidence counted = evidence::any);
  /// The same with the sizes and the settings of the probe, except those that are given.
  std::optional<bool> is_right(const probe& like, const core::axis_sizes& sizes, const core::attributes& settings,
                               evidence counted);
  /// The same with the sizes and the settings of the probe, and finite inputs that lie in these intervals.
  std::optional<bool> is_right(const probe& like, const input_domains& inside, evidence counted);

  /// Whether the implementation is right wherever a wrong case is moved to such a right size, and wrong where some
  /// right case is moved to such a wrong size. Precondition: there are both, the smallest first.
  bool confirm(const std::string& axis, const std::vector<const probe*>& wrong,
               const std::set<std::size_t>& wrong_sizes, const std::vector<const probe*>& right,
               const std::set<std::size_t>& right_sizes);

  /// The neighbours between which it turns from right to wrong, as far as it answers. The search starts from
  /// {right_size, wrong_size}.
  std::pair<std::size_t, std::size_t> boundary(const probe& wrong, const std::string& axis, std::size_t right_size,
                                               std::size_t wrong_size) {
    return boundary(wrong, {}, {axis}, right_size, wrong_size);
  }
  /// The same with other sizes changed too, for axes that share one size. Neighbours are sizes that the implementation
  /// declares.
  std::pair<std::size_t, std::size_t> boundary(const probe& wrong, core::axis_sizes changed,
                                               const std::vector<std::string>& axes, std::size_t right_size,
                                               std::size_t wrong_size);

  /// The sizes of an axis that the implementation declares.
  [[nodiscard]] declared_sizes declared(const probe& like, const std::string& axis) const {
    return under_test_.describe().sizes_of_axis(*like.c.call.operation, axis);
  }

 private:
  enum class verdict { wrong, says_nothing, right };
  std::optional<verdict> verdict_of(const std::optional<case_key>& key, bool special_inputs);
  static std::optional<bool> as_evidence(std::optional<verdict> found, evidence counted);

  implementation& under_test_;
  std::uint64_t seed_;
  std::size_t calls_ = 0;
  // The key is the text of the first case's key, and whether only cases with special inputs count.
  std::map<std::pair<std::string, bool>, std::optional<verdict>> seen_;
};

}  // namespace assay::properties
