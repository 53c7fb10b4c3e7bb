// The short answers of a sweep to its question, above all lists: the worst and the best of each measure.
#include "tools/explore/formats.hpp"
#include "tools/explore/measure.hpp"
#include "tools/explore/presentation.hpp"
#include "tools/explore/sweep.hpp"
#include "tools/report/escape.hpp"

namespace assay::explore {
namespace {

// "cumsum in bf16, gates, size 256"
std::string place_words(const cell& c) {
  std::string words = fmt::format("{} in {}", c.implementation, format_words(c));
  if (!c.family.empty()) words += ", " + c.family;
  if (c.decay != 0) words += fmt::format(", decay {}", c.decay);
  if (c.scale != 1) words += fmt::format(", scale {}", c.scale);
  return words + fmt::format(", size {}", c.size);
}

std::string number_words(const answer_words& a, double x) {
  if (std::isnan(x)) return a.none;
  return std::string(a.result) == "digits" ? fmt::format("{:.1f}", x) : shown(x);
}

double result_of(const answer_words& a, const measured_cell& m) {
  const bool is_broken = !std::isnan(value_of(m, "nonfinite_at"));
  // If an error is not a number, there are no digits.
  const bool has_error = m.found.contains("largest") ? !std::isnan(value_of(m, "largest")) : !is_broken;
  return std::string(a.result) != "digits" || has_error ? value_of(m, a.result) : std::nan("");
}

std::string answer_of(const answer_words& a, const all_cells& cells) {
  const auto rank = [&](const measured_cell* m) -> double {
    const double x = result_of(a, *m);
    const double none = a.none_is_best ? INFINITY : -INFINITY;
    if (std::isnan(x)) return none;
    return a.more_is_better ? x : -x;
  };
  const auto [worst, best] =
      std::minmax_element(cells.begin(), cells.end(), [&](const auto* x, const auto* y) { return rank(x) < rank(y); });
  const std::string low = number_words(a, result_of(a, **worst)), high = number_words(a, result_of(a, **best));
  if (low == high) return fmt::format("{}: {} in all {} cells.", a.title, low, cells.size());
  return fmt::format("{}: {} at worst ({}), {} at best ({}).", a.title, low, place_words((*worst)->what), high,
                     place_words((*best)->what));
}

}  // namespace

std::vector<std::string> answers_of(const std::vector<measured_cell>& cells, const std::string& candidate) {
  std::vector<std::pair<const measure*, const answer_words*>> ranked_answers;
  for (const measure& m : measures())
    for (const answer_words& a : m.presented->answers) ranked_answers.emplace_back(&m, &a);
  std::stable_sort(ranked_answers.begin(), ranked_answers.end(),
                   [](const auto& x, const auto& y) { return x.second->rank < y.second->rank; });
  std::vector<std::string> all;
  for (const auto& [about, answer] : ranked_answers) {
    all_cells own, by_candidate;
    for (const measured_cell& m : cells) {
      if (m.what.measure != about->name) continue;
      own.push_back(&m);
      if (m.what.implementation == candidate) by_candidate.push_back(&m);
    }
    if (!own.empty()) all.push_back(answer_of(*answer, by_candidate.empty() ? own : by_candidate));
  }
  return all;
}

std::string command_of(const sweep_identity& identity, const std::string& preset) {
  const auto& known = presets();
  const auto is_own = [&](const explore::preset& p) {
    if (p.name != identity.name) return false;
    const auto s = read_sweep(p.text, identity.name);
    return s && s->question == identity.question;
  };
  const bool is_preset = std::any_of(known.begin(), known.end(), is_own);
  const std::string name = is_preset ? preset : identity.name,
                    file = is_preset ? name : tools::shell_word(name + ".toml");
  const auto option = [](const char* word, const std::string& value) {
    return value.empty() ? "" : fmt::format(" --{} {}", word, tools::shell_word(value));
  };
  const bool is_of_formula = !identity.formula.empty() && identity.name == formulas_own_sweep;
  return fmt::format("assay explore{}{} --out {}{}", is_of_formula ? "" : " --sweep " + file,
                     option("formula", identity.formula), tools::shell_word(name),
                     option("candidate", identity.candidate));
}

}  // namespace assay::explore
