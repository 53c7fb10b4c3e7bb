#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <vector>

#include "tools/explore/formats.hpp"
#include "tools/explore/measure.hpp"
#include "tools/explore/page.hpp"
#include "tools/explore/pivot.hpp"
#include "tools/report/escape.hpp"

namespace assay::explore {
namespace {

using tools::escape_markdown;

/// The measured value, followed by the law's value in parentheses.
shown_of beside_law(std::string result, std::string law = "law", double unit = 1) {
  return [result = std::move(result), law = std::move(law), unit](const measured_cell& m) {
    const double x = value_of(m, result) / unit, y = value_of(m, law) / unit;
    return std::isnan(y) ? shown(x) : fmt::format("{} ({})", shown(x), shown(y));
  };
}
shown_of alone(std::string result) {
  return [result = std::move(result)](const measured_cell& m) { return shown(value_of(m, result)); };
}

struct finding {
  std::string title, preset, note;
  std::function<bool(const cell&)> takes;
  pivot table;
};

std::string size_words(const cell& c) { return fmt::format("{}", c.size); }
std::string decay_words(const cell& c) { return fmt::format("{}", c.decay); }
std::string who(const cell& c) { return fmt::format("{}, {}", c.implementation, format_words(c)); }

bool is_mutant(const cell& c) { return c.implementation.starts_with("builtin:mutant/"); }

std::function<bool(const cell&)> of(const char* measure) {
  return [measure](const cell& c) { return c.measure == measure; };
}

std::vector<finding> of_the_recurrence() {
  const auto gates = [](double decay) {
    return [decay](const cell& c) {
      return c.measure == "scan" && c.family == "gates" && c.decay == decay && c.scale == 1.0 && !is_mutant(c);
    };
  };
  const auto constant = [](const cell& c) { return c.measure == "scan" && c.family == "constant" && c.size == 16384; };
  const auto in_u = [](const measured_cell& m) {
    return beside_law("rms", "law", find_format(m.what.storage)->unit_roundoff())(m);
  };
  const char* units = "Root mean square errors in units of u of the stored format, the law in brackets.";
  std::vector<finding> all;
  for (const double decay : {0.0, 4.0})
    all.push_back({fmt::format("Growth of the error with n: gates N({}, 1), h N(0, 1)", decay),
                   "growth",
                   units,
                   gates(decay),
                   {"algorithm", who, size_words, in_u}});
  all.push_back({"Prefix sums: the error in units of u |A_n|",
                 "growth",
                 "Constant where the law u |A_n| holds; smaller where no digit is left.",
                 [=](const cell& c) { return gates(0)(c) && c.implementation == "cumsum"; },
                 {"format", format_words, size_words, alone("constant")}});
  all.push_back(
      {"Dependence on p: constant p, n = 16384", "growth", units, constant, {"algorithm", who, decay_words, in_u}});
  const auto is_finite = [](const measured_cell& m) { return std::isnan(value_of(m, "nonfinite_at")); };
  all.push_back(
      {"Digits kept at 4096 tokens, by family of inputs",
       "scales",
       "Decimal digits of the worst error so far, relative to max(1, |s|), of the worst decay and scale of the "
       "family that were measured. None: infinities or NaN where the truth is finite.",
       [](const cell& c) {
         return c.measure == "scan" && c.size == 4096 && c.family != "constant" && c.storage == c.arithmetic &&
                (!is_candidate(c.implementation) || is_mutant(c));
       },
       {"algorithm", who, [](const cell& c) { return c.family; },
        [=](const measured_cell& m) {
          return is_finite(m) ? fmt::format("{:.1f}", value_of(m, "digits")) : std::string("none");
        },
        [=](const measured_cell& m) { return is_finite(m) ? value_of(m, "digits") : -1.0; }}});
  return all;
}

std::vector<finding> of_positions() {
  const auto first = [](const measured_cell& m) {
    if (const double x = value_of(m, "first_wrong"); std::isnan(x))
      return fmt::format("none up to {}, margin {}", m.what.size, shown(value_of(m, "smallest_margin")));
    return beside_law("first_wrong")(m);
  };
  const auto merged = [](const measured_cell& m) {
    return fmt::format("{}{}{}", beside_law("merged_at")(m), value_of(m, "law_is_counting") == 1.0 ? " counting" : "",
                       value_of(m, "freezes") == 1.0 ? ", freezes" : "");
  };
  const auto saturation_words = [](const measured_cell& m) {
    const bool saturates = find_format(m.what.storage)->beyond == overflow::saturates;
    return saturates ? fmt::format(" ({}), saturated", shown(value_of(m, "law"))) : std::string();
  };
  const auto sums = [saturation_words](const measured_cell& m) {
    const double overflows = value_of(m, "overflows_at"), stalls = value_of(m, "stalls_at");
    return !std::isnan(overflows) ? fmt::format("overflows at {} ({})", shown(overflows), shown(value_of(m, "law")))
           : !std::isnan(stalls)  ? fmt::format("half is missing at {}{}", shown(stalls), saturation_words(m))
                                  : fmt::format("neither up to {}", m.what.size);
  };
  return {
      {"The first wrong sign of a 2^d counter, by margin",
       "separability",
       "The law is mu / (u |log p|).",
       of("counter"),
       {"algorithm", who, decay_words, first}},
      {"Tokens of a constant input until the states repeat, by p",
       "separability",
       "h = 0, s_0 = 0. Where the first step is already below half an ulp, the counting law decides. \"Freezes\": a "
       "state of 2 never decays.",
       of("merging"),
       {"format", format_words, decay_words, merged}},
      {"Where a running sum stalls or overflows, by the mean of the gate logits",
       "overflow",
       "In brackets the tokens until the sum is the largest number of the format, twice that where it saturates (OFP8: "
       "e4m3 has no infinity, and what is too large is NaN unless the conversion saturates).",
       of("running_sum"),
       {"format", format_words, decay_words, sums}}};
}

std::vector<finding> of_gradients() {
  const auto length = [](const cell& c) { return fmt::format("mean {}, n = {}", c.decay, c.size); };
  const auto p_and_n = [](const cell& c) { return fmt::format("p = {}, n = {}", c.decay, c.size); };
  return {{"Gradients: median relative error of d/d log p",
           "gradient",
           "The law of prefix sums is 0.3 u |A_n| n^1/2 / p.",
           of("gradient"),
           {"algorithm", who, length, beside_law("median_log_p")}},
          {"Gradients: tokens that they reach back, by p",
           "gradient",
           "Until the gradient is 0, or changes no more.",
           of("gradient_reach"),
           {"format", format_words, decay_words, beside_law("ends_at")}},
          {"Gradients: share that detached chunks of 64 tokens leave out, by p",
           "gradient",
           "",
           [](const cell& c) { return c.measure == "gradient_reach" && c.storage == "f64"; },
           {"format", format_words, decay_words, alone("detached_loses")}},
          {"Conditioning: change of s for a relative change of p or log p, or a change of h",
           "conditioning",
           "",
           of("conditioning"),
           {"input", [](const cell& c) { return c.implementation; }, p_and_n, beside_law("response")}}};
}

std::vector<finding> of_operations() {
  const auto asked = [](const cell& c) {
    return fmt::format("{}, {}{}", c.family, who(c), c.scale == 1 ? "" : fmt::format(", d = {}", c.scale));
  };
  const auto with_wrong = [](const measured_cell& m) {
    const double wrong = value_of(m, "wrong"), first = value_of(m, "first_wrong");
    std::string words = beside_law("largest")(m);
    if (wrong > 0) words += fmt::format(", {} wrong", shown(wrong));
    if (wrong > 0 && !std::isnan(first))  // places are reported only for positions
      words += fmt::format(" from {} to {}", shown(first), shown(value_of(m, "last_wrong")));
    return words;
  };
  return {{"Operations: largest error, by tokens, keys, or the largest position or distance",
           "angles",
           "Relative to the scale of the output. In brackets what the rounding of the algorithm explains. An angle, a "
           "product: "
           "this stage is computed in the stored format, all others as said. Wrong: without a digit. –: no number.",
           of("error"),
           {"operation", asked, size_words, with_wrong}},
          {"Operations: what a rounding of the inputs moves, by the same",
           "angles",
           "The largest change of an element, relative to the scale of the output, in brackets digits. Each input goes "
           "up or "
           "down by a rounding of the stored format, and the rest is exact: code that takes rounded inputs has no more "
           "digits "
           "of what they stood for.",
           of("sensitivity"),
           {"operation", [](const cell& c) { return fmt::format("{}, {}", c.family, c.storage); }, size_words,
            [](const measured_cell& m) {
              return fmt::format("{} ({:.1f})", shown(value_of(m, "largest")), value_of(m, "digits"));
            }}},
          {"Frequencies: the largest error of an angle, by position",
           "angles",
           "In radians, of the base 10000: m theta off by its rounding and by m times the error of theta. In brackets "
           "digits; a digit less is a "
           "position ten times as far.",
           of("angles"),
           {"operation", asked, size_words,
            [](const measured_cell& m) {
              return fmt::format("{} ({:.1f})", shown(value_of(m, "largest")), value_of(m, "digits"));
            }}},
          {"Operations: the first position, or distance from the query, with the row of the next one",
           "angles",
           "And how many of the first 16 rows differ from the next one.",
           of("repeats"),
           {"operation", asked, size_words, [](const measured_cell& m) {
              return fmt::format("{}, {} of 16", shown(value_of(m, "merged_at")), shown(value_of(m, "distinct_of_16")));
            }}}};
}

// Cells whose measured value differs by more than a factor of 2 from a law that predicts it (and is not just a bound).
std::string differences(const std::vector<measured_cell>& cells) {
  const std::map<std::string, std::pair<const char*, const char*>> predicted{{"scan", {"rms", "law"}},
                                                                             {"counter", {"first_wrong", "law"}},
                                                                             {"merging", {"merged_at", "law"}},
                                                                             {"gradient", {"median_log_p", "law"}},
                                                                             {"gradient_reach", {"ends_at", "law"}},
                                                                             {"conditioning", {"response", "law"}}};
  std::string s;
  std::size_t compared = 0, apart = 0;
  for (const measured_cell& m : cells) {
    const auto it = predicted.find(m.what.measure);
    if (it == predicted.end()) continue;
    const double x = value_of(m, it->second.first), y = value_of(m, it->second.second);
    if (std::isnan(x) || std::isnan(y)) continue;
    ++compared;
    if (x <= 2 * y && x >= y / 2) continue;
    ++apart;
    s += fmt::format("| `{}` | {} | {} |\n", text_of(m.what), shown(x), shown(y));
  }
  if (compared == 0) return "";
  return fmt::format("\n## Where they differ\n\n{} of {} cells are not within a factor of 2 of what is predicted.\n",
                     apart, compared) +
         (apart == 0 ? "" : "\n| cell | measured | law |\n|---|---|---|\n" + s);
}

}  // namespace

std::string findings(const sweep_identity& identity, const std::vector<measured_cell>& cells) {
  std::string s =
      fmt::format("# Numerical limits of position encodings\n\nMeasured by Assay {}, sweep `{}`, {} cells.\n",
                  identity.version, identity.name, cells.size());
  for (auto* part : {of_the_recurrence, of_positions, of_gradients, of_operations})
    for (finding& f : part()) {
      for (const measured_cell& m : cells)
        if (f.takes(m.what)) f.table.take(m);
      if (f.table.is_empty()) continue;
      s += fmt::format("\n## {}\n\n{}\n\n{}{}", escape_markdown(f.title),
                       tools::markdown_code(command_of(identity, f.preset)),
                       f.note.empty() ? "" : escape_markdown(f.note) + "\n\n", f.table.markdown());
    }
  return s + differences(cells);
}

}  // namespace assay::explore
