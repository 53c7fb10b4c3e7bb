// Fresh calls in which the size of one axis alone is another: what a condition on sizes is held against.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "properties/diagnosis/probes.hpp"

namespace assay::properties {

class size_experiments {
 public:
  size_experiments(implementation& under_test, std::uint64_t seed) : under_test_(under_test), seed_(seed) {}

  /// Whether the implementation is right in a few fresh cases with the family, the settings and the sizes of the probe,
  /// but for one axis. Nothing where there are no such cases inside its domain, where they are too large, where it does
  /// not answer, or where it has been asked often enough.
  std::optional<bool> is_right(const probe& like, const std::string& axis, std::size_t size);

  /// Whether it is right wherever a wrong case is moved to such a size, and wrong where one of some right ones is moved
  /// to such a wrong size. Precondition: there are both, the smallest first.
  bool confirm(const std::string& axis, const std::vector<const probe*>& wrong, const std::set<std::size_t>& wrong_at,
               const std::vector<const probe*>& right, const std::set<std::size_t>& right_at);

  /// The neighbours between which it turns from right to wrong, as far as it answers; {right_at, wrong_at} at first.
  std::pair<std::size_t, std::size_t> boundary(const probe& wrong, const std::string& axis, std::size_t right_at,
                                               std::size_t wrong_at);

 private:
  implementation& under_test_;
  std::uint64_t seed_;
  std::size_t calls_ = 0;
  std::map<std::tuple<const probe*, std::string, std::size_t>, std::optional<bool>> seen_;
};

}  // namespace assay::properties
