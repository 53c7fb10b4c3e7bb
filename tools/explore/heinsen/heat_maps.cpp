#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tools/explore/formats.hpp"
#include "tools/explore/heinsen/parts.hpp"

namespace assay::explore {
namespace {

// The digits kept in each regime at the longest sequence measured there; one map for each format.
std::vector<heat_map> digit_maps(const std::vector<measured_cell>& cells) {
  std::map<std::string, std::map<std::string, std::map<std::string, const measured_cell*>>> by_format;
  std::map<std::string, std::vector<std::string>> regimes;
  for (const measured_cell& m : cells) {
    if (m.what.measure != "scan") continue;
    const std::string format = format_words(m.what), regime = regime_words(m.what);
    auto& longest_cell = by_format[format][m.what.implementation][regime];
    if (longest_cell == nullptr || longest_cell->what.size < m.what.size) longest_cell = &m;
    auto& known = regimes[format];
    if (std::find(known.begin(), known.end(), regime) == known.end()) known.push_back(regime);
  }
  std::vector<heat_map> maps;
  for (const auto& [format, rows] : by_format) {
    heat_map map{"Decimal digits kept in " + format + ", at the longest sequence of each regime", "algorithm",
                 regimes[format]};
    for (const auto& [implementation, found] : rows) {
      heat_row row{implementation, {implementation, "", ""}};
      for (const std::string& regime : map.columns) {
        const auto it = found.find(regime);
        if (it == found.end()) {
          row.cells.push_back({"", 0, 0, false, ""});
          continue;
        }
        const measured_cell& m = *it->second;
        row.keys.storage = m.what.storage;
        const double digits = value_of(m, "digits");
        const bool broken = !std::isnan(value_of(m, "nonfinite_at"));
        const double most = find_format(m.what.storage)->precision * std::log10(2.0);
        row.cells.push_back({broken ? "none" : fmt::format("{:.1f}", digits), digits, digits / most,
                             broken || digits < 0.05, text_of(m.what)});
      }
      map.rows.push_back(std::move(row));
    }
    maps.push_back(std::move(map));
  }
  return maps;
}

// The number of tokens up to which k digits are kept, for the longest sequences with random gates.
heat_map horizon_map(const std::vector<measured_cell>& cells) {
  std::map<std::string, const measured_cell*> longest;
  for (const measured_cell& m : cells) {
    const cell& c = m.what;
    if (c.measure != "scan" || c.family != "gates" || c.decay != 0.0 || c.scale != 1.0) continue;
    auto& longest_cell = longest[c.implementation + ", " + format_words(c)];
    if (longest_cell == nullptr || longest_cell->what.size < c.size) longest_cell = &m;
  }
  heat_map map{"Tokens up to which so many digits are there: random gates, decay 0, scale 1", "algorithm"};
  for (int k = 1; k <= 7; ++k) map.columns.push_back(fmt::format("{} digit{}", k, k == 1 ? "" : "s"));
  for (const auto& [name, m] : longest) {
    heat_row row{name, {m->what.implementation, m->what.storage, m->what.family}};
    for (int k = 1; k <= 7; ++k) {
      const auto it = m->found.find(fmt::format("tokens_{}", k));
      if (it == m->found.end()) {
        row.cells.push_back({"", 0, 0, false, ""});
        continue;
      }
      const auto n = static_cast<double>(m->what.size);
      const bool all = std::isnan(it->second);
      const double tokens = all ? n : it->second;
      row.cells.push_back({all ? fmt::format("{} or more", m->what.size) : fmt::format("{:.0f}", tokens), tokens,
                           std::log1p(tokens) / std::log1p(n), tokens == 0.0, text_of(m->what)});
    }
    map.rows.push_back(std::move(row));
  }
  return map;
}

}  // namespace

std::vector<heat_map> maps_of_scans(const std::vector<measured_cell>& cells) {
  std::vector<heat_map> all;
  if (heat_map map = horizon_map(cells); !map.rows.empty()) all.push_back(std::move(map));
  for (heat_map& map : digit_maps(cells)) all.push_back(std::move(map));
  return all;
}

}  // namespace assay::explore
