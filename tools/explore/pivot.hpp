// A table of cells in Markdown; used by findings.cpp.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tools/explore/figures.hpp"
#include "tools/report/escape.hpp"

namespace assay::explore {

using words_of = std::function<std::string(const cell&)>;
using shown_of = std::function<std::string(const measured_cell&)>;
using rank_of = std::function<double(const measured_cell&)>;

// Rows by columns, in the order of the cells. If an entry has several cells, it shows the first, or the one with the
// least rank; with ranks, rows without a cell in more than half of the columns are left out.
class pivot {
 public:
  pivot(std::string corner, words_of row, words_of column, shown_of value, rank_of rank = {})
      : corner_(std::move(corner)),
        row_(std::move(row)),
        column_(std::move(column)),
        value_(std::move(value)),
        rank_(std::move(rank)) {}
  void take(const measured_cell& m) {
    const std::string row = row_(m.what), column = column_(m.what);
    remember(rows_, row);
    remember(columns_, column);
    const double rank = rank_ ? rank_(m) : 0;
    const auto [it, is_new] = values_.try_emplace({row, column}, rank, "");
    if (is_new || rank < it->second.first) it->second = {rank, value_(m)};
  }
  [[nodiscard]] bool is_empty() const { return rows_.empty(); }
  [[nodiscard]] std::string markdown() const {
    std::string s = fmt::format("| {} |", corner_), rule = "|---|";
    for (const std::string& c : columns_) s += fmt::format(" {} |", tools::escape_markdown(c)), rule += "---|";
    s += "\n" + rule + "\n";
    for (const std::string& r : rows_) {
      if (rank_ && is_sparse(r)) continue;
      s += fmt::format("| {} |", tools::escape_markdown(r));
      for (const std::string& c : columns_) {
        const auto it = values_.find({r, c});
        s += fmt::format(" {} |", it == values_.end() ? "" : it->second.second);
      }
      s += "\n";
    }
    return s;
  }

 private:
  [[nodiscard]] bool is_sparse(const std::string& row) const {
    const auto has = [&](const std::string& column) { return values_.count({row, column}) != 0; };
    return 2 * static_cast<std::size_t>(std::count_if(columns_.begin(), columns_.end(), has)) < columns_.size();
  }
  static void remember(std::vector<std::string>& names, const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  std::string corner_;
  words_of row_, column_;
  shown_of value_;
  rank_of rank_;
  std::vector<std::string> rows_, columns_;
  std::map<std::pair<std::string, std::string>, std::pair<double, std::string>> values_;
};

}  // namespace assay::explore
