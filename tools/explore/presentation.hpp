// The texts and drawings of a measure in the documents of a sweep: question, answers, charts, sentences and findings.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tools/explore/pivot.hpp"
#include "tools/explore/sentence_parts.hpp"

namespace assay::explore {

/// The order of answers: digits first, then other results of operations, then those of the recurrence's own measures.
enum class answer_rank { digits, any_operation, own };
/// A result whose worst and best values are an answer.
struct answer_words {
  const char *result, *title, *none;  ///< `none`: the words for a result without a number
  bool more_is_better, none_is_best;
  answer_rank rank;
};

enum class x_axis { size, memory, decay };
/// A drawing: a result against an axis. There is one chart for each combination of everything else that differs.
struct chart_spec {
  const char *result, *law;
  x_axis axis;
  const char *x_label, *y_label;  ///< x_label null: the quantity with which errors of the operation grow
  bool one_chart_per_storage = false, one_chart_per_size = false;
};

struct presentation {
  const char *question, *preset;  ///< the smallest preset that makes such cells
  std::vector<answer_words> answers{};
  std::optional<chart_spec> drawn{};
  sentences (*said)(const all_cells& cells) = nullptr;
  /// Tables with shades; null: one table of all cells.
  std::vector<heat_map> (*maps)(const std::vector<measured_cell>& cells) = nullptr;
  /// The result that `law` predicts; null if the law is only a bound, or if there is none.
  const char* predicted = nullptr;
};

/// A table of the findings.
struct finding {
  std::string title, preset, note;
  std::function<bool(const cell&)> takes;
  pivot table;
};
/// The tables of the findings of all measures, in order.
std::vector<finding> all_findings();

/// The measured value, followed by that of the law in brackets if there is one; both in units of `unit`.
inline shown_of beside_law(std::string result, std::string law = "law", double unit = 1) {
  return [result = std::move(result), law = std::move(law), unit](const measured_cell& m) {
    const double x = value_of(m, result) / unit, y = value_of(m, law) / unit;
    return std::isnan(y) ? shown(x) : fmt::format("{} ({})", shown(x), shown(y));
  };
}
inline std::function<bool(const cell&)> has_measure(const char* name) {
  return [name](const cell& c) { return c.measure == name; };
}
inline std::string size_number(const cell& c) { return fmt::format("{}", c.size); }
inline std::string implementation_words(const cell& c) {
  return fmt::format("{}, {}", c.implementation, format_words(c));
}

}  // namespace assay::explore
