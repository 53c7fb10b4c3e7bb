// Texts of documents about the measures of operations. A sentence is given only if its facts hold in the cells.
#include <fmt/format.h>

#include <cmath>

#include "tools/explore/cell_operation.hpp"
#include "tools/explore/operations.hpp"

namespace assay::explore {
namespace {

sentences sentences_of_errors(const all_cells& cells) {
  sentences all;
  const auto name = [](const cell& c) {
    return fmt::format("{}, {} in {}, scale {}", c.family, c.implementation, format_words(c), c.scale);
  };
  for (const auto& [words, group] : grouped(cells, name)) {
    std::vector<std::string> entries;
    for (const measured_cell* m : group)
      entries.push_back(std::isnan(value_of(*m, "largest"))
                            ? fmt::format("no number at {}", m->what.size)
                            : fmt::format("{:.1f} at {}", value_of(*m, "digits"), m->what.size));
    all.push_back(
        fmt::format("{}: digits by {}: {}.", words, size_words(group.front()->what), fmt::join(entries, ", ")));
  }
  return all;
}

sentences sentences_of_inputs(const all_cells& cells) {
  sentences all;
  const auto name = [](const cell& c) {
    return fmt::format("{}, scale {}: inputs rounded to {}", c.family, c.scale, c.storage);
  };
  for (const auto& [words, group] : grouped(cells, name)) {
    std::vector<std::string> entries;
    for (const measured_cell* m : group)
      entries.push_back(fmt::format("{:.1f} at {}", value_of(*m, "digits"), m->what.size));
    all.push_back(fmt::format("{} leave these digits, by {}, whatever the code: {}.", words,
                              size_words(group.front()->what), fmt::join(entries, ", ")));
  }
  return all;
}

sentences sentences_of_repeats(const all_cells& cells) {
  sentences all;
  for (const measured_cell* m : cells) {
    const double merged = value_of(*m, "merged_at");
    all.push_back(fmt::format("{}, {} in {}: {}.", m->what.family, m->what.implementation, format_words(m->what),
                              std::isnan(merged) ? fmt::format("no neighbours are the same up to {}", m->what.size)
                                                 : fmt::format("up to {}, place {} is the first with the row of the "
                                                               "next one",
                                                               m->what.size, shown(merged))));
  }
  return all;
}

const presentation presented_errors{
    .question = "How many digits are left, and which stage must not be narrow?",
    .preset = "angles",
    .answers = {{"digits", "Digits of the worst element", "no number", true, false, answer_rank::digits}},
    .drawn = chart_spec{"largest", "law", x_axis::size, nullptr, "largest error"},
    .said = sentences_of_errors};
const presentation presented_inputs{
    .question = "What does a rounding of the inputs move?",
    .preset = "angles",
    .answers = {{"digits", "Digits that a rounding of the inputs leaves", "no number", true, false,
                 answer_rank::digits}},
    .drawn = chart_spec{"largest", nullptr, x_axis::size, nullptr, "largest change of an output"},
    .said = sentences_of_inputs};
const presentation presented_angles{
    .question = "How many digits of an angle are left at a position, by scaling?",
    .preset = "angles",
    .answers = {{"digits", "Digits of the worst angle", "no number", true, false, answer_rank::digits}},
    .drawn = chart_spec{"largest", "law", x_axis::size, "position", "largest error, radians"},
    .said = sentences_of_errors};
const presentation presented_repeats{.question = "From which position on are neighbours the same?",
                                     .preset = "angles",
                                     .answers = {{"merged_at", "The first place with the row of the next one", "none",
                                                  true, true, answer_rank::any_operation}},
                                     .said = sentences_of_repeats};

}  // namespace

std::vector<measure> measures_of_operations() {
  std::vector<measure> all{operation_errors(), input_errors(), angle_errors(), repeated_rows()};
  std::size_t k = 0;
  for (const presentation* p : {&presented_errors, &presented_inputs, &presented_angles, &presented_repeats})
    all[k++].presented = p;
  return all;
}

std::vector<finding> findings_of_operations() {
  const auto operation_words = [](const cell& c) {
    return fmt::format("{}, {}{}", c.family, implementation_words(c),
                       c.scale == 1 ? "" : fmt::format(", d = {}", c.scale));
  };
  const auto with_wrong = [](const measured_cell& m) {
    const double wrong = value_of(m, "wrong"), first = value_of(m, "first_wrong");
    std::string words = beside_law("largest")(m);
    if (wrong > 0) words += fmt::format(", {} wrong", shown(wrong));
    if (wrong > 0 && !std::isnan(first))  // only errors along positions have places
      words += fmt::format(" from {} to {}", shown(first), shown(value_of(m, "last_wrong")));
    return words;
  };
  return {
      {"Operations: largest error, by tokens, keys, or the largest position or distance",
       "angles",
       "Errors are relative to the scale of the output. In brackets: the error that the rounding of the algorithm "
       "explains. If the name of a stage (angle, product) stands in place of an algorithm, this stage alone is "
       "computed in the stored format. Wrong elements have no digit left. –: no number.",
       has_measure("error"),
       {"operation", operation_words, size_number, with_wrong}},
      {"Operations: change of the outputs by a rounding of the inputs, by tokens, keys, or the largest position",
       "angles",
       "The largest change of an element, relative to the scale of the output; in brackets: digits. Each input goes "
       "up or down by a rounding of the stored format, and the rest is in f64. Code that takes rounded inputs has no "
       "more digits of the intended result.",
       has_measure("sensitivity"),
       {"operation", [](const cell& c) { return fmt::format("{}, {}", c.family, c.storage); }, size_number,
        [](const measured_cell& m) {
          return fmt::format("{} ({:.1f})", shown(value_of(m, "largest")), value_of(m, "digits"));
        }}},
      {"Frequencies: the largest error of an angle, by position",
       "angles",
       "In radians, for the base 10000: the rounding of m theta, and m times the error of theta. In brackets: digits. "
       "At a position ten times as far, one digit less is left.",
       has_measure("angles"),
       {"operation", operation_words, size_number,
        [](const measured_cell& m) {
          return fmt::format("{} ({:.1f})", shown(value_of(m, "largest")), value_of(m, "digits"));
        }}},
      {"Operations: the first position, or distance from the query, with the row of the next one",
       "angles",
       "Then the number of rows among the first 16 that differ from the row before; the first row counts.",
       has_measure("repeats"),
       {"operation", operation_words, size_number, [](const measured_cell& m) {
          return fmt::format("{}, {} of 16", shown(value_of(m, "merged_at")), shown(value_of(m, "distinct_of_16")));
        }}}};
}

}  // namespace assay::explore
