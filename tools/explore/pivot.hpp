// A table of cells in Markdown: for findings.cpp.
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

// Rows by columns, in the order in which the cells come.
class pivot {
 public:
  pivot(std::string corner, words_of row, words_of column, shown_of value)
      : corner_(std::move(corner)), row_(std::move(row)), column_(std::move(column)), value_(std::move(value)) {}
  void take(const measured_cell& m) {
    const std::string row = row_(m.what), column = column_(m.what);
    remember(rows_, row);
    remember(columns_, column);
    values_[{row, column}] = value_(m);
  }
  [[nodiscard]] bool is_empty() const { return rows_.empty(); }
  [[nodiscard]] std::string markdown() const {
    std::string s = fmt::format("| {} |", corner_), rule = "|---|";
    for (const std::string& c : columns_) s += fmt::format(" {} |", tools::escape_markdown(c)), rule += "---|";
    s += "\n" + rule + "\n";
    for (const std::string& r : rows_) {
      s += fmt::format("| {} |", tools::escape_markdown(r));
      for (const std::string& c : columns_) {
        const auto it = values_.find({r, c});
        s += fmt::format(" {} |", it == values_.end() ? "" : it->second);
      }
      s += "\n";
    }
    return s;
  }

 private:
  static void remember(std::vector<std::string>& names, const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  std::string corner_;
  words_of row_, column_;
  shown_of value_;
  std::vector<std::string> rows_, columns_;
  std::map<std::pair<std::string, std::string>, std::string> values_;
};

}  // namespace assay::explore
