// The contents of a sweep's report: questions with their answers in words, charts, heat maps and tables. The page, the
// figures for papers and the findings are made from them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/explore/store.hpp"

namespace assay::explore {

/// The keys by which readers filter.
struct filter_keys {
  std::string implementation, storage, family;
};

struct chart_point {
  double x = 0, y = 0;  ///< y is infinite if the result is infinite or NaN
  std::string cell;     ///< text of its cell
};
struct chart_series {
  std::string name;
  filter_keys keys;
  bool beside = false;  ///< true: the second sweep, which is drawn hollow
  std::vector<chart_point> points{};
  std::vector<chart_point> law{};  ///< predicted values, if there is a law
};
struct chart {
  std::string id, title, x_label, y_label;
  filter_keys keys;  ///< the keys that all series share
  std::vector<chart_series> series{};
};

struct heat_cell {
  std::string text;  ///< text as shown
  double value = 0;  ///< value as stored
  double shade = 0;  ///< 0 to 1
  bool is_broken = false;
  std::string cell;  ///< text of its cell; empty: not measured
};
struct heat_row {
  std::string name;
  filter_keys keys;
  std::vector<heat_cell> cells{};
};
struct heat_map {
  std::string title, row_word;  ///< row_word: the heading above the names of rows
  std::vector<std::string> columns{};
  std::vector<heat_row> rows{};
};

struct question {
  std::string measure, title;
  std::string preset;  ///< the smallest preset that makes such cells
  std::vector<std::string> sentences{};
  std::vector<chart> charts{};
  std::vector<heat_map> maps{};
};

/// The questions that the cells answer. `beside`: a second sweep, drawn hollow.
std::vector<question> questions_of(const std::vector<measured_cell>& cells,
                                   const std::vector<measured_cell>& beside = {});

/// The shortest answers: the worst and the best measured values. For a sweep with a candidate, those of the candidate.
std::vector<std::string> answers_of(const std::vector<measured_cell>& cells, const std::string& candidate);

/// The name of the sweep that is made for a user formula if the user names no sweep.
constexpr const char* formulas_own_sweep = "formula";
/// The command that makes the cells of a measure, from a preset, or from the file of a user's sweep.
std::string command_of(const sweep_identity& identity, const std::string& preset);

/// A result by its name; NaN if there is none.
double value_of(const measured_cell& m, const std::string& name);
/// Three significant digits; whole numbers below 1e9 in full; a dash for NaN.
std::string shown(double x);
/// The exponent of a power law, by least squares of log y against log x over finite positive points; NaN for fewer than
/// three.
double fitted_slope(const std::vector<chart_point>& points);

/// "f32", or "f32 stored, f64 computed".
std::string format_words(const cell& c);
/// "gates, decay 0, scale 1".
std::string regime_words(const cell& c);

/// The answers in words. A sentence is given only if its facts hold in the cells.
std::vector<std::string> sentences_of(const std::string& measure, const std::vector<measured_cell>& cells);

}  // namespace assay::explore
