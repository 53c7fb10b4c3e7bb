// Measures whose cells share nothing.
#pragma once

#include <limits>

#include "tools/explore/measure.hpp"

namespace assay::explore {

/// Adds `found` and `steps` of one cell to a measure. Precondition: m has the rest.
inline measure single_cell_measure(measure m, results (*found)(const cell&), double (*steps)(const cell&)) {
  m.batch = text_of;
  m.steps = [steps](std::span<const cell> batch) { return steps(batch.front()); };
  m.run = [found](std::span<const cell> batch, const caller&) -> core::result<std::vector<results>> {
    std::vector<results> all;
    for (const cell& c : batch) all.push_back(found(c));
    return all;
  };
  return m;
}

/// The work of a measure that reads every token once, in steps.
inline double every_token(const cell& c) { return static_cast<double>(c.size); }

/// Stands in place of a result that a cell does not have.
inline constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

inline core::result<void> refuse_cell(const cell& c, const std::string& what) {
  return core::failure("'" + text_of(c) + "': " + what);
}

}  // namespace assay::explore
