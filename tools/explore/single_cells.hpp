// Measures whose cells share nothing.
#pragma once

#include <limits>
#include <utility>

#include "tools/explore/measure.hpp"

namespace assay::explore {

/// `found` and `steps` of one cell. Precondition: m has all else.
template <class Found, class Steps>
measure of_single_cells(measure m, Found found, Steps) {
  m.batch = text_of;
  m.steps = [](std::span<const cell> batch) { return Steps()(batch.front()); };
  m.run = [found](std::span<const cell> batch, const caller&) -> core::result<std::vector<results>> {
    std::vector<results> all;
    for (const cell& c : batch) all.push_back(found(c));
    return all;
  };
  return m;
}

/// The steps of a measure that looks at each token once.
struct every_token {
  double operator()(const cell& c) const { return static_cast<double>(c.size); }
};

/// In place of a result that a cell has not.
inline constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

inline core::result<void> refuse_cell(const cell& c, const std::string& what) {
  return core::failure("'" + text_of(c) + "': " + what);
}

}  // namespace assay::explore
