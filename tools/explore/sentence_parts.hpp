// Parts that the sentences of all questions share.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tools/explore/figures.hpp"

namespace assay::explore {

using all_cells = std::vector<const measured_cell*>;
using sentences = std::vector<std::string>;

// Cells grouped by a name that they share, in the order of their sizes.
inline std::map<std::string, all_cells> grouped(const all_cells& cells,
                                                const std::function<std::string(const cell&)>& name) {
  std::map<std::string, all_cells> groups;
  for (const measured_cell* m : cells) groups[name(m->what)].push_back(m);
  for (auto& [key, group] : groups)
    std::stable_sort(group.begin(), group.end(),
                     [](const auto* a, const auto* b) { return a->what.size < b->what.size; });
  return groups;
}

struct range {
  double low = INFINITY, high = -INFINITY;
  void take(double x) {
    if (std::isnan(x)) return;
    low = std::min(low, x);
    high = std::max(high, x);
  }
  [[nodiscard]] bool is_empty() const { return low > high; }
  [[nodiscard]] std::string words() const {
    return shown(low) == shown(high) ? shown(low) : fmt::format("{} to {}", shown(low), shown(high));
  }
};

// Measured values divided by predicted ones.
inline range ratios(const all_cells& cells, const std::string& result, const std::string& law) {
  range r;
  for (const measured_cell* m : cells) {
    const double x = value_of(*m, result), y = value_of(*m, law);
    if (std::isfinite(x) && std::isfinite(y) && y > 0.0) r.take(x / y);
  }
  return r;
}

}  // namespace assay::explore
