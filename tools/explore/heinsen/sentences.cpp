#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tools/explore/formats.hpp"
#include "tools/explore/heinsen/parts.hpp"

namespace assay::explore {
namespace {

// Words for the growth of an error. They follow from the exponent that is fitted over errors below 0.1.
bool grows_with_n(double slope) { return slope > 0.85 && slope < 1.15; }
std::string growth_words(double slope) {
  if (grows_with_n(slope)) return "grows in proportion to n";
  if (std::fabs(slope) < 0.1) return "does not grow with n";
  return fmt::format("grows like n^{:.2f}", slope);
}

// The errors of a group, from which growth is fitted. Sequences shorter than 256 tokens count only if fewer than three
// longer ones have digits left.
std::vector<chart_point> growth_of(const all_cells& group, range& constant) {
  for (const std::uint64_t shortest : {256, 16}) {
    std::vector<chart_point> points;
    range constants;
    for (const measured_cell* m : group) {
      const double rms = value_of(*m, "rms");
      if (!(rms < 0.1) || m->what.size < shortest) continue;
      points.push_back({static_cast<double>(m->what.size), rms, ""});
      constants.take(value_of(*m, "constant"));
    }
    constant = constants;
    if (points.size() >= 3) return points;
  }
  return {};
}

}  // namespace

sentences sentences_of_scans(const all_cells& cells) {
  sentences all;
  const auto name = [](const cell& c) {
    return fmt::format("{} in {} ({})", c.implementation, format_words(c), regime_words(c));
  };
  std::map<std::string, range> slopes;  // by implementation, over all formats with digits left
  std::map<std::string, std::set<std::string>> without_digits;
  for (const auto& [words, group] : grouped(cells, name)) {
    const cell& c = group.front()->what;
    if (c.family != "gates" || c.scale != 1.0) continue;
    range constant;
    const std::vector<chart_point> points = growth_of(group, constant);
    const double slope = fitted_slope(points);
    if (std::isnan(slope)) {
      if (c.decay == 0.0) without_digits[c.implementation].insert(format_words(c));
      continue;
    }
    if (c.decay == 0.0) slopes[c.implementation].take(slope);
    std::string text = fmt::format("{}: the error {} (exponent {:.2f}, n = {:.0f} to {:.0f})", words,
                                   growth_words(slope), slope + 0.0, points.front().x, points.back().x);
    if (grows_with_n(slope)) text += fmt::format("; it is {} u |A_n|", constant.words());
    if (const range law = ratios(group, "rms", "law"); !law.is_empty())
      text += fmt::format("; measured / law: {}", law.words());
    all.push_back(text + ".");
  }
  std::vector<std::string> growing, steady;
  for (const auto& [implementation, r] : slopes) {
    if (grows_with_n(r.low) && grows_with_n(r.high)) growing.push_back(implementation);
    if (std::max(std::fabs(r.low), std::fabs(r.high)) < 0.1) steady.push_back(implementation);
  }
  std::string lead;
  if (!growing.empty()) {
    std::set<std::string> others;
    for (const std::string& implementation : growing) others.merge(std::set(without_digits[implementation]));
    const std::string formats = others.empty() ? "in every format tried"
                                               : fmt::format(
                                                     "in every format tried but {}, where too few lengths have a "
                                                     "digit left to say",
                                                     fmt::join(others, ", "));
    lead = fmt::format("With gates N(0, 1), the error grows in proportion to n, {}: {}.", formats,
                       fmt::join(growing, ", "));
  }
  if (!steady.empty())
    lead += fmt::format("{} not grow with n: {}.", lead.empty() ? "With gates N(0, 1), the error does" : " It does",
                        fmt::join(steady, ", "));
  if (!lead.empty()) all.insert(all.begin(), lead);
  range radius;
  for (const measured_cell* m : cells) radius.take(value_of(*m, "truth_radius") / value_of(*m, "rms"));
  if (!radius.is_empty())
    all.push_back(
        fmt::format("The truth is proved to within {} of the root mean square error, or better.", shown(radius.high)));
  std::map<std::string, std::set<std::string>> broken;
  for (const measured_cell* m : cells)
    if (!std::isnan(value_of(*m, "nonfinite_at")))
      broken[fmt::format("{} in {}", m->what.implementation, format_words(m->what))].insert(m->what.family);
  for (const auto& [words, families] : broken)
    all.push_back(
        fmt::format("{} gives infinities or NaN where the truth is finite: {}.", words, fmt::join(families, ", ")));
  return all;
}

sentences sentences_of_running_sums(const all_cells& cells) {
  sentences all;
  for (const measured_cell* m : cells) {
    const double stalls = value_of(*m, "stalls_at"), overflows = value_of(*m, "overflows_at");
    const std::string where = fmt::format("{}, gates of mean {} (mean |log p| {})", format_words(m->what),
                                          m->what.decay, shown(value_of(*m, "mean_decay")));
    if (!std::isnan(overflows))
      all.push_back(fmt::format("{}: the sum overflows at token {} (law: {}).", where, shown(overflows),
                                shown(std::round(value_of(*m, "law")))));
    else if (!std::isnan(stalls) && find_format(m->what.storage)->beyond == overflow::saturates)
      all.push_back(fmt::format("{}: the sum saturates, and half of it is missing from token {} on (law: {}).", where,
                                shown(stalls), shown(std::round(value_of(*m, "law")))));
    else if (!std::isnan(stalls))
      all.push_back(fmt::format("{}: half of the sum is missing from token {} on.", where, shown(stalls)));
    else
      all.push_back(fmt::format("{}: neither up to token {}.", where, m->what.size));
  }
  return all;
}

sentences sentences_of_counters(const all_cells& cells) {
  sentences all;
  const auto name = [](const cell& c) { return fmt::format("{} in {}", c.implementation, format_words(c)); };
  for (const auto& [words, group] : grouped(cells, name)) {
    range failed, margin, law = ratios(group, "first_wrong", "law");
    std::size_t kept = 0, tokens = 0;
    for (const measured_cell* m : group) {
      const double first = value_of(*m, "first_wrong");
      failed.take(first);
      margin.take(value_of(*m, "smallest_margin"));
      if (std::isnan(first)) kept += 1, tokens = std::max<std::size_t>(tokens, m->what.size);
    }
    if (kept == group.size())
      all.push_back(
          fmt::format("{} keeps every sign up to token {}, with {} of the margin.", words, tokens, margin.words()));
    else
      all.push_back(fmt::format("{} shows its first wrong sign at token {}{}.", words, failed.words(),
                                law.is_empty() ? "" : fmt::format(", {} of mu / (u |log p|)", law.words())));
  }
  return all;
}

sentences sentences_of_merging(const all_cells& cells) {
  sentences all;
  for (const auto& [format, group] : grouped(cells, format_words)) {
    const range law = ratios(group, "merged_at", "law");
    range steps, cycles;
    std::vector<std::string> frozen;
    for (const measured_cell* m : group) {
      steps.take(value_of(*m, "merged_at"));
      cycles.take(value_of(*m, "cycle"));
      if (value_of(*m, "freezes") == 1.0) frozen.push_back(fmt::format("{}", m->what.decay));
    }
    all.push_back(
        fmt::format("{}: states repeat after {} tokens, {} of the law{}.", format, steps.words(), law.words(),
                    cycles.high > 1.0 ? fmt::format(", in cycles of up to {} states", shown(cycles.high)) : ""));
    if (!frozen.empty())
      all.push_back(fmt::format("{}: a state of 2 never decays for p = {}.", format, fmt::join(frozen, ", ")));
  }
  return all;
}

sentences sentences_of_gradients(const all_cells& cells) {
  sentences all;
  const auto name = [](const cell& c) { return fmt::format("{} in {}", c.implementation, format_words(c)); };
  for (const auto& [words, group] : grouped(cells, name)) {
    range error;
    const measured_cell* noise = nullptr;
    for (const measured_cell* m : group) {
      error.take(value_of(*m, "median_log_p"));
      if (value_of(*m, "median_log_p") >= 1.0 && (noise == nullptr || m->what.size < noise->what.size)) noise = m;
    }
    std::string text = fmt::format("{}: the median relative error of d/d log p is {}", words, error.words());
    if (noise != nullptr)
      text += fmt::format("; no digit is left at n = {}, gates of mean {}", noise->what.size, noise->what.decay);
    all.push_back(text + ".");
  }
  return all;
}

sentences sentences_of_reach(const all_cells& cells) {
  sentences all;
  for (const auto& [format, group] : grouped(cells, format_words)) {
    all_cells moving;
    std::vector<std::string> stuck;
    for (const measured_cell* m : group)
      if (value_of(*m, "ends_with") > find_format(m->what.storage)->unit_roundoff())
        stuck.push_back(fmt::format("{}", m->what.decay));
      else
        moving.push_back(m);
    const range law = ratios(moving, "ends_at", "law"), u_law = ratios(moving, "below_u_at", "law_below_u");
    range below;
    for (const measured_cell* m : moving) below.take(value_of(*m, "below_u_at"));
    if (!below.is_empty())
      all.push_back(fmt::format("{}: a gradient is below u after {} tokens ({} of the law), and ends at {} of its law.",
                                format, below.words(), u_law.words(), law.words()));
    if (!stuck.empty())
      all.push_back(fmt::format("{}: for p = {} the weight rounds to 1, and a gradient does not decay.", format,
                                fmt::join(stuck, ", ")));
  }
  range lost;
  for (const measured_cell* m : cells) lost.take(value_of(*m, "detached_loses"));
  if (!lost.is_empty())
    all.push_back(fmt::format("Chunks of 64 tokens that are detached leave out {} of the gradient.", lost.words()));
  return all;
}

sentences sentences_of_conditioning(const all_cells& cells) {
  sentences all;
  for (const auto& [input, group] : grouped(cells, [](const cell& c) { return c.implementation; })) {
    all_cells settled;  // long enough that the mean age is that of an infinite sequence
    range response;
    for (const measured_cell* m : group)
      if (static_cast<double>(m->what.size) * (1.0 - m->what.decay) > 9.0)
        settled.push_back(m), response.take(value_of(*m, "response"));
    if (settled.empty()) continue;
    all.push_back(fmt::format("A {} change of {} moves the state by {} times that ({} of the law).",
                              input == "h" ? "common" : "relative", input, response.words(),
                              ratios(settled, "response", "law").words()));
  }
  return all;
}

}  // namespace assay::explore
