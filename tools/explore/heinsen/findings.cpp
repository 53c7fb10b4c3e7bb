#include <fmt/format.h>

#include <cmath>

#include "tools/explore/formats.hpp"
#include "tools/explore/heinsen/measures.hpp"

namespace assay::explore {
namespace {

shown_of alone(std::string result) {
  return [result = std::move(result)](const measured_cell& m) { return shown(value_of(m, result)); };
}
std::string decay_words(const cell& c) { return fmt::format("{}", c.decay); }
bool is_mutant(const cell& c) { return c.implementation.starts_with("builtin:mutant/"); }

std::vector<finding> recurrence_findings() {
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
                   {"algorithm", implementation_words, size_number, in_u}});
  all.push_back({"Prefix sums: the error in units of u |A_n|",
                 "growth",
                 "Constant where the law u |A_n| holds; smaller where no digit is left.",
                 [=](const cell& c) { return gates(0)(c) && c.implementation == "cumsum"; },
                 {"format", format_words, size_number, alone("constant")}});
  all.push_back({"Dependence on p: constant p, n = 16384",
                 "growth",
                 units,
                 constant,
                 {"algorithm", implementation_words, decay_words, in_u}});
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
       {"algorithm", implementation_words, [](const cell& c) { return c.family; },
        [=](const measured_cell& m) {
          return is_finite(m) ? fmt::format("{:.1f}", value_of(m, "digits")) : std::string("none");
        },
        [=](const measured_cell& m) { return is_finite(m) ? value_of(m, "digits") : -1.0; }}});
  return all;
}

std::vector<finding> position_findings() {
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
       has_measure("counter"),
       {"algorithm", implementation_words, decay_words, first}},
      {"Tokens of a constant input until the states repeat, by p",
       "separability",
       "h = 0, s_0 = 0. Where the first step is already below half an ulp, the counting law decides. \"Freezes\": a "
       "state of 2 never decays.",
       has_measure("merging"),
       {"format", format_words, decay_words, merged}},
      {"Where a running sum stalls or overflows, by the mean of the gate logits",
       "overflow",
       "In brackets the tokens until the sum is the largest number of the format, twice that where it saturates (OFP8: "
       "e4m3 has no infinity, and what is too large is NaN unless the conversion saturates).",
       has_measure("running_sum"),
       {"format", format_words, decay_words, sums}}};
}

std::vector<finding> gradient_findings() {
  const auto length = [](const cell& c) { return fmt::format("mean {}, n = {}", c.decay, c.size); };
  const auto p_and_n = [](const cell& c) { return fmt::format("p = {}, n = {}", c.decay, c.size); };
  return {{"Gradients: median relative error of d/d log p",
           "gradient",
           "The law of prefix sums is 0.3 u |A_n| n^1/2 / p.",
           has_measure("gradient"),
           {"algorithm", implementation_words, length, beside_law("median_log_p")}},
          {"Gradients: tokens that they reach back, by p",
           "gradient",
           "Until the gradient is 0, or stops changing.",
           has_measure("gradient_reach"),
           {"format", format_words, decay_words, beside_law("ends_at")}},
          {"Gradients: share that detached chunks of 64 tokens leave out, by p",
           "gradient",
           "",
           [](const cell& c) { return c.measure == "gradient_reach" && c.storage == "f64"; },
           {"format", format_words, decay_words, alone("detached_loses")}},
          {"Conditioning: change of s for a relative change of p or log p, or a change of h",
           "conditioning",
           "",
           has_measure("conditioning"),
           {"input", [](const cell& c) { return c.implementation; }, p_and_n, beside_law("response")}}};
}

}  // namespace

std::vector<finding> findings_of_recurrence() {
  std::vector<finding> all;
  for (auto* part : {recurrence_findings, position_findings, gradient_findings})
    for (finding& f : part()) all.push_back(std::move(f));
  return all;
}

}  // namespace assay::explore
