// Rotary frequencies for contexts that are longer than those of training. theta_t = base^(-t/r), t = 0 ... r - 1, is
// stretched by the factor s = `factor`; L0 = `trained_length`, L = `length`, x_t = L0 theta_t / (2 pi) the turns of
// pair t within the trained length.
//
//   yarn           theta_t (g/s + 1 - g), g = clamp((t - lo) / (hi - lo), 0, 1), lo = max(floor c(beta_fast), 0),
//                  hi = min(ceil c(beta_slow), d - 1), hi + 0.001 where they are equal, c(beta) = r log(L0 / (2 pi
//                  beta)) / log base: the real index of the pair that makes beta turns
//                  Peng et al. 2023, arXiv 2309.00071, section 3.2, as jquesnelle/yarn and all code since has it
//   llama3         theta_t ((1 - g)/s + g), g = clamp((x_t - low) / (high - low), 0, 1)
//                  Grattafiori et al. 2024, arXiv 2407.21783, whose three branches are this clamp; where low = high,
//                  g is 0 below and 1 above (Llama 4 Scout, meta-llama/llama-models)
//   dynamic        theta_t a^(-t/(r-1)), a = max(1, s L / L0 - (s - 1))          huggingface/transformers, "dynamic"
//   dynamic_steps  the same, a = max(1, 2^(ceil(log2(L / L0)) + 1) - 1)          QwenLM/Qwen
//   ntk_fixed      theta_t s^(-(t+1)/r)                                          kexue.fm/archives/9706
//   ntk_mixed      theta_t exp(-a (t+1)^beta), a = log s / r^beta                likewise; vLLM's mixed_b
//
// Conventions of yarn: `ramp` over the index of the pair, or over turns, as eq. 21 has it: that of llama3 with
// beta_slow and beta_fast for low and high; `truncate`, without which lo and hi are the real c; `last`, the end that
// cuts hi: d - 1 or r - 1; `blend` of frequencies (eq. 25) or of wavelengths (eq. 23): theta_t / (g s + 1 - g).
// `crossed`: where hi < lo, as where no pair makes beta_slow turns, or all make more than beta_fast, the ramp is
//   reversed  that quotient, as most published code has it: the other way round
//   step      0 up to lo, then 1, as where they are equal: code that bounds hi - lo from below (keras-hub)
//   turns     1 where no pair makes beta_slow turns, 0 where all make more than beta_fast, as eq. 21 has it
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "reference/algorithms/frequencies.hpp"
#include "reference/algorithms/settings.hpp"
#include "reference/primitives/constants.hpp"

namespace assay::reference {

/// Pairs of coordinates, and the length in tokens that they are trained at.
struct trained_pairs {
  std::size_t pairs;
  double trained_length;
};
struct extension : trained_pairs {
  enum class kind { yarn, llama3, dynamic, dynamic_steps, ntk_fixed, ntk_mixed };
  kind of;
  double factor, length;
  double fast, slow;  ///< beta of yarn; high and low of llama3
  bool truncates, by_turns, by_wavelengths;
  double last;  ///< that cuts hi
  enum class crossing { reversed, step, turns } crossed;
  double mixed;

  explicit extension(const core::attributes& settings);
};
/// Why the settings do not go together; empty where they do.
std::string conflict_of_extension(const core::attributes& settings);

/// floor(c(beta)) and ceil(c(beta)), decided by intervals: pi being transcendental, c of a finite base is no integer.
/// NaN of a base that is none. Precondition: base > 1.
double index_below(const trained_pairs& e, double base, double beta);
double index_above(const trained_pairs& e, double base, double beta);
/// 2^(ceil(log2(L / L0)) + 1) - 1, by integers; at least 1.
double steps_of_length(const extension& e);

/// min(max(x, 0), 1).
template <class R>
R clamped_to_unit(const R& x) {
  return -larger(-larger(x, R(0.0)), R(-1.0));
}

/// c(beta).
template <class R>
R index_of_turns(const trained_pairs& e, const R& base, double beta) {
  const R turns = from_setting<R>(e.trained_length) / (R(2.0) * pi<R>() * from_setting<R>(beta));
  return from_integer<R>(static_cast<double>(e.pairs)) * log(turns) / log(base);
}

/// How much of pair t is interpolated: 0 to 1.
template <class R>
using ramp_of_pairs = std::function<R(std::size_t t)>;
/// That of yarn, from lo to hi.
template <class R>
ramp_of_pairs<R> ramp_of_index(const extension& e, const R& base) {
  const auto at = [crossed = e.crossed](const R& from_low, const R& width) {
    const double wide = to_double(width);
    const bool is_step = wide == 0.0 || (wide < 0.0 && crossed == extension::crossing::step);
    return clamped_to_unit(from_low / (is_step ? from_setting<R>(0.001) : width));
  };
  const auto by_turns = [&](double low, double high) { return high < low && e.crossed == extension::crossing::turns; };
  const auto same_of_all = [](double high) {
    return [share = R(high < 0.0 ? 1.0 : 0.0)](std::size_t) { return share; };
  };
  if (!e.truncates) {
    const R low = larger(index_of_turns(e, base, e.fast), R(0.0)),
            high = -larger(-index_of_turns(e, base, e.slow), R(-e.last));
    if (by_turns(to_double(low), to_double(high))) return same_of_all(to_double(high));
    return [=](std::size_t t) { return at(from_integer<R>(static_cast<double>(t)) - low, high - low); };
  }
  const double low = std::max(index_below(e, to_double(base), e.fast), 0.0),
               high = std::min(index_above(e, to_double(base), e.slow), e.last);
  if (by_turns(low, high)) return same_of_all(high);
  return [=](std::size_t t) { return at(from_integer<R>(static_cast<double>(t) - low), from_integer<R>(high - low)); };
}

/// How much of a frequency stays as it is, by its turns: 0 to 1. Between equal ends is no pair: pi being
/// transcendental, turns of a finite base are no rational number.
template <class R>
R kept_by_turns(const extension& e, const R& theta) {
  const R turns = from_setting<R>(e.trained_length) / (R(2.0) * pi<R>()) * theta, low = from_setting<R>(e.slow);
  if (e.slow == e.fast) return either(less(turns, low), R(0.0), R(1.0));
  return clamped_to_unit((turns - low) / (from_setting<R>(e.fast) - low));
}

/// The ramp of those that have one.
template <class R>
ramp_of_pairs<R> ramp_of(const extension& e, const R& base) {
  return e.of == extension::kind::yarn && !e.by_turns ? ramp_of_index(e, base) : ramp_of_pairs<R>();
}
/// Of theta = base^(-t/r). Precondition: the settings have no conflict; base > 1 for yarn.
template <class R>
R extended_frequency(const extension& e, const ramp_of_pairs<R>& ramp, const R& /*base*/, const R& theta,
                     std::size_t t) {
  using kind = extension::kind;
  const auto r = static_cast<long>(e.pairs), pair = static_cast<long>(t);
  const R s = from_setting<R>(e.factor);
  if (e.of == kind::yarn || e.of == kind::llama3) {
    const auto blended = [&] {
      const R share = ramp ? ramp(t) : kept_by_turns(e, theta), rest = R(1.0) - share;
      const R &kept = ramp ? rest : share, &stretched = ramp ? share : rest;
      return e.of == kind::yarn && e.by_wavelengths ? theta / (stretched * s + kept) : theta * (stretched / s + kept);
    };
    return e.factor == 1.0 ? covering(theta, blended) : blended();  // the shares add up to 1, as no interval shows
  }
  if (e.of == kind::ntk_fixed) return theta * power(s, ratio(-(pair + 1), r));
  if (e.of == kind::ntk_mixed) {
    const R beta = from_setting<R>(e.mixed),
            share = from_integer<R>(static_cast<double>(t + 1)) / R(static_cast<double>(e.pairs));
    return theta * exp(-(log(s) * pow(share, beta)));
  }
  if (t == 0) return theta;
  const R longer =
      e.of == kind::dynamic
          ? larger(R(1.0), s * (from_setting<R>(e.length) / from_setting<R>(e.trained_length)) - (s - R(1.0)))
          : from_setting<R>(steps_of_length(e));
  return theta * power(longer, ratio(-pair, r - 1));
}

/// What multiplies queries and keys where contexts are `factor` times as long.
template <class R>
R magnitude_at(const core::attributes& settings, const R& factor) {
  enum class rule { yarn, ratio, su };
  const auto by =
      core::chosen<rule>(settings, "rule", {{"yarn", rule::yarn}, {"ratio", rule::ratio}, {"su", rule::su}});
  const R growth = either(less(R(1.0), factor), log(factor), R(0.0) * factor);
  const auto scaled = [&](const char* by_setting) {
    return from_setting<R>(0.1) * from_setting<R>(core::setting<double>(settings, by_setting)) * growth + R(1.0);
  };
  if (by == rule::yarn) return scaled("mscale");
  if (by == rule::ratio) {
    // Of equal numbers it is 1, which no interval shows: proofs are told. Programs divide, and the terms of the
    // derivative cancel but for their roundings: readings that count these divide, too.
    const bool equal = core::setting<double>(settings, "mscale") == core::setting<double>(settings, "mscale_all_dim");
    if (equal && !computes_in_formats<R>) return R(1.0) + R(0.0) * growth;
    return scaled("mscale") / scaled("mscale_all_dim");
  }
  const auto trained = static_cast<double>(core::setting<std::int64_t>(settings, "trained_length"));
  return power(R(1.0) + growth / log(from_integer<R>(trained)), ratio(1, 2));
}

}  // namespace assay::reference
