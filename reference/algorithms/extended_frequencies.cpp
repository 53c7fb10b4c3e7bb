#include "reference/algorithms/extended_frequencies.hpp"

#include <mpfr.h>

#include <cmath>
#include <limits>

#include "reference/oracle.hpp"
#include "reference/readings/enclosure.hpp"

namespace assay::reference {
namespace {

// The integer that both ends of an interval agree on.
double integer_beside(const trained_pairs& e, double base, double beta, bool above) {
  if (!(base >= 0.0)) return std::numeric_limits<double>::quiet_NaN();  // as its logarithm
  for (const unsigned digits : precision_digits) {
    const computing_with_digits precision(digits);
    const enclosure index = index_of_turns(e, enclosure(base), beta), integer = above ? -floor(-index) : floor(index);
    if (mpfr_equal_p(integer.low(), integer.high()) != 0) return to_double(integer);
  }
  throw core::contract_violation("the index of a pair that makes " + std::to_string(beta) + " turns is undecided");
}

}  // namespace

extension::extension(const core::attributes& settings)
    : trained_pairs{static_cast<std::size_t>(core::setting<std::int64_t>(settings, "pairs")),
                    static_cast<double>(core::setting<std::int64_t>(settings, "trained_length"))},
      of(core::chosen<kind>(settings, "scaling",
                            {{"yarn", kind::yarn},
                             {"llama3", kind::llama3},
                             {"dynamic", kind::dynamic},
                             {"dynamic_steps", kind::dynamic_steps},
                             {"ntk_fixed", kind::ntk_fixed},
                             {"ntk_mixed", kind::ntk_mixed}})),
      factor(core::setting<double>(settings, "factor")),
      length(static_cast<double>(core::setting<std::int64_t>(settings, "length"))),
      fast(core::setting<double>(settings, of == kind::llama3 ? "high" : "beta_fast")),
      slow(core::setting<double>(settings, of == kind::llama3 ? "low" : "beta_slow")),
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
  const auto of = [&](const char* name) { return core::setting<double>(settings, name); };
  if (!(of("beta_fast") > of("beta_slow"))) return "attribute 'beta_fast' must be larger than 'beta_slow'";
  return of("high") >= of("low") ? "" : "attribute 'high' must not be smaller than 'low'";
}

double index_below(const trained_pairs& e, double base, double beta) { return integer_beside(e, base, beta, false); }
double index_above(const trained_pairs& e, double base, double beta) { return integer_beside(e, base, beta, true); }

double steps_of_length(const extension& e) {
  double steps = 1.0;  // 2^k of the least k with L <= 2^k L0; of shorter lengths k is 0 or below
  while (steps * e.trained_length < e.length) steps *= 2.0;
  return std::max(1.0, 2.0 * steps - 1.0);
}

}  // namespace assay::reference
