#include "reference/algorithms/extended_frequencies.hpp"

#include <mpfr.h>

#include <cmath>

#include "reference/algorithms/frequencies.hpp"
#include "reference/oracle.hpp"
#include "reference/readings/enclosure.hpp"

namespace assay::reference {

using formula::traced;

extension::extension(const core::attributes& settings)
    : trained_pairs{static_cast<std::size_t>(core::setting<std::int64_t>(settings, "pairs")),
                    static_cast<double>(core::setting<std::int64_t>(settings, "trained_length"))},
      rule(core::chosen<kind>(settings, "scaling",
                              {{"yarn", kind::yarn},
                               {"llama3", kind::llama3},
                               {"dynamic", kind::dynamic},
                               {"dynamic_steps", kind::dynamic_steps},
                               {"ntk_fixed", kind::ntk_fixed},
                               {"ntk_mixed", kind::ntk_mixed}})),
      factor(core::setting<double>(settings, "factor")),
      length(static_cast<double>(core::setting<std::int64_t>(settings, "length"))),
      fast(core::setting<double>(settings, rule == kind::llama3 ? "high" : "beta_fast")),
      slow(core::setting<double>(settings, rule == kind::llama3 ? "low" : "beta_slow")),
      truncates(core::setting<bool>(settings, "truncate")),
      by_turns(core::chosen<bool>(settings, "ramp", {{"index", false}, {"turns", true}})),
      by_wavelengths(core::chosen<bool>(settings, "blend", {{"frequencies", false}, {"wavelengths", true}})),
      last(static_cast<double>(core::chosen<bool>(settings, "last", {{"width", true}, {"pairs", false}}) ? 2 * pairs
                                                                                                         : pairs) -
           1.0),
      crossed(core::chosen<crossing>(
          settings, "crossed",
          {{"reversed", crossing::reversed}, {"step", crossing::step}, {"turns", crossing::turns}})),
      mixed(core::setting<double>(settings, "mixed")) {}

std::string conflict_of_extension(const core::attributes& settings) {
  const auto number = [&](const char* name) { return core::setting<double>(settings, name); };
  if (!(number("beta_fast") > number("beta_slow"))) return "attribute 'beta_fast' must be larger than 'beta_slow'";
  return number("high") >= number("low") ? "" : "attribute 'high' must not be smaller than 'low'";
}

std::int64_t length_of_turn(double base, std::size_t t, std::size_t pairs) {
  if (static_cast<double>(t) / static_cast<double>(pairs) * std::log2(base) > 49.0) return no_turn;
  // The integer that both ends of an interval agree on.
  for (const unsigned digits : precision_digits) {
    const computing_with_digits precision(digits);
    const enclosure turn = enclosure(2.0) * pi<enclosure>() / geometric_frequency(enclosure(base), t, pairs),
                    integer = -floor(-turn);
    if (mpfr_equal_p(integer.low(), integer.high()) != 0) return static_cast<std::int64_t>(to_double(integer));
  }
  throw core::contract_violation("the length at which a pair makes a turn is undecided");
}

double steps_of_length(const extension& e) {
  double steps = 1.0;  // 2^k, where k >= 0 is the least with L <= 2^k L0
  while (steps * e.trained_length < e.length) steps *= 2.0;
  return std::max(1.0, 2.0 * steps - 1.0);
}

namespace {

traced turns_of(const extension& e, const traced& theta) {
  return formula::setting(e.trained_length) / (traced(2.0) * pi<traced>()) * theta;
}
traced clamped_to_unit(const traced& x) { return clamp(x, 0.0, 1.0); }
/// first, first + 1, ...
traced counted_from(double first, std::size_t pairs) {
  return to_real(formula::counted(pairs) + formula::traced_integer::constant(static_cast<std::int64_t>(first)));
}

}  // namespace

std::optional<traced> ramp_of(const extension& e, const traced& base) {
  if (e.rule != extension::kind::yarn || e.by_turns) return std::nullopt;
  // Integers are exact: the error of a program's logarithm is never large enough to change them.
  const auto exact = [&](const traced& x) { return e.truncates ? without_error(x) : x; };
  const auto below = [&](const traced& x) { return e.truncates ? floor(exact(x)) : x; };
  const traced zero(0.0), low = larger(below(index_of_turns(e, base, e.fast)), zero),
                          high = -larger(below(-index_of_turns(e, base, e.slow)), traced(-e.last)),
                          width = exact(high - low);
  const auto crossed = less(high, low);
  const auto is_step = e.crossed == extension::crossing::step ? crossed || equal(width, zero) : equal(width, zero);
  const traced share =
      clamped_to_unit(exact(counted_from(0, e.pairs) - low) / either(is_step, formula::setting(0.001), width));
  if (e.crossed != extension::crossing::turns) return share;
  return either(crossed, either(less(high, zero), traced(1.0), zero), share);
}

traced kept_by_turns(const extension& e, const traced& theta) {
  const traced turns = turns_of(e, theta), low = formula::setting(e.slow);
  if (e.slow == e.fast) return either(less(turns, low), traced(0.0), traced(1.0));
  return clamped_to_unit((turns - low) / (formula::setting(e.fast) - low));
}

traced extended_frequencies(const extension& e, const traced& s, const std::optional<traced>& ramp,
                            const traced& theta) {
  using kind = extension::kind;
  const traced one(1.0);
  const auto blended = [&] {
    const traced kept = ramp ? one - *ramp : kept_by_turns(e, theta), stretched = ramp ? *ramp : one - kept;
    return e.rule == kind::yarn && e.by_wavelengths ? theta / (stretched * s + kept) : theta * (stretched / s + kept);
  };
  switch (e.rule) {
    case kind::yarn:
    case kind::llama3:
      // For the factor 1 the shares add up to 1, but no interval proves it.
      return e.factor == 1.0 ? covering(theta, blended) : blended();
    case kind::ntk_fixed:
      return theta * formula::geometric_frequencies(s, 1, e.pairs, e.pairs);
    case kind::ntk_mixed: {
      const traced share = counted_from(1, e.pairs) / traced(static_cast<double>(e.pairs));
      return theta * exp(-(log(s) * pow(share, formula::setting(e.mixed))));
    }
    default: {
      if (e.pairs == 1) return theta;
      const traced longer =
          e.rule == kind::dynamic
              ? larger(one, s * (formula::setting(e.length) / formula::setting(e.trained_length)) - (s - one))
              : formula::setting(steps_of_length(e));
      return theta * formula::geometric_frequencies(longer, 0, e.pairs, e.pairs - 1);
    }
  }
}

traced magnitude_of_extension(const core::attributes& settings, const traced& factor) {
  enum class rule { yarn, ratio, su };
  const auto by =
      core::chosen<rule>(settings, "rule", {{"yarn", rule::yarn}, {"ratio", rule::ratio}, {"su", rule::su}});
  const traced one(1.0), growth = either(less(one, factor), log(factor), traced(0.0) * factor);
  const auto scaled = [&](const char* by_setting) {
    return formula::setting(0.1) * formula::setting(core::setting<double>(settings, by_setting)) * growth + one;
  };
  if (by == rule::yarn) return scaled("mscale");
  if (by == rule::ratio) return scaled("mscale") / scaled("mscale_all_dim");
  const auto trained = static_cast<double>(core::setting<std::int64_t>(settings, "trained_length"));
  return power(one + growth / log(formula::setting(trained)), ratio(1, 2));
}

}  // namespace assay::reference
