// What a sweep shows: questions with their answer in words, charts, heat maps and tables. The page, the figures for
// papers and the findings are readings of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/explore/store.hpp"

namespace assay::explore {

/// What readers filter by.
struct filter_keys {
  std::string implementation, storage, family;
};

struct chart_point {
  double x = 0, y = 0;  ///< y infinite: not a number of the format, or none
  std::string cell;     ///< its text
};
struct chart_series {
  std::string name;
  filter_keys keys;
  bool beside = false;  ///< of the second sweep
  std::vector<chart_point> points{};
  std::vector<chart_point> law{};  ///< predicted, where there is a law
};
struct chart {
  std::string id, title, x_label, y_label;
  filter_keys keys;  ///< what all series share
  std::vector<chart_series> series{};
};

struct heat_cell {
  std::string text;  ///< as shown
  double value = 0;  ///< as stored
  double shade = 0;  ///< 0 to 1
  bool is_broken = false;
  std::string cell;  ///< its text; empty: not measured
};
struct heat_row {
  std::string name;
  filter_keys keys;
  std::vector<heat_cell> cells{};
};
struct heat_map {
  std::string title, row_word;
  std::vector<std::string> columns{};
  std::vector<heat_row> rows{};
};

struct question {
  std::string measure, title;
  std::string preset;  ///< the smallest one that makes such cells
  std::vector<std::string> sentences{};
  std::vector<chart> charts{};
  std::vector<heat_map> maps{};
};

/// The questions that the cells answer. `beside`: a second sweep, drawn hollow.
std::vector<question> questions_of(const std::vector<measured_cell>& cells,
                                   const std::vector<measured_cell>& beside = {});

/// The shortest answer to each of them: the worst and the best that was measured. Of a sweep with a candidate, by it.
std::vector<std::string> answers_of(const std::vector<measured_cell>& cells, const std::string& candidate);

/// The command that makes the cells of a measure: by a preset, or for a sweep of one's own by its file.
/// The name of the sweep that a formula of one's own has where none is asked for.
constexpr const char* formulas_own_sweep = "formula";
std::string command_of(const sweep_identity& identity, const std::string& preset);

/// A result by its name; NaN where there is none.
double value_of(const measured_cell& m, const std::string& name);
/// Three significant digits, with a proper sign for what is none.
std::string shown(double x);
/// The exponent of a power law, by least squares of log y against log x over finite positive points; NaN of fewer than
/// three.
double fitted_slope(const std::vector<chart_point>& points);

/// "f32", or "f32 stored, f64 computed".
std::string format_words(const cell& c);
/// "gates, decay 0, scale 1".
std::string regime_words(const cell& c);

/// The answers in words: sentences whose facts were checked.
std::vector<std::string> sentences_of(const std::string& measure, const std::vector<measured_cell>& cells);

}  // namespace assay::explore
