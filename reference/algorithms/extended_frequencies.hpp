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
#include <optional>
#include <string>

#include "reference/algorithms/settings.hpp"
#include "reference/formula/recording.hpp"

namespace assay::reference {

template <>
struct setting_reader<formula::traced> {
  static formula::traced read(double x) { return formula::setting(x); }
};

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
/// The first length, in tokens, at which base^(-t/pairs) makes a turn: ceil(2 pi base^(t/pairs)), decided by intervals;
/// `no_turn` for all beyond 2^51. Precondition: base >= 1 is finite.
inline constexpr std::int64_t no_turn = std::int64_t{1} << 53;
std::int64_t length_of_turn(double base, std::size_t t, std::size_t pairs);
/// 2^(ceil(log2(L / L0)) + 1) - 1, by integers; at least 1.
double steps_of_length(const extension& e);

/// c(beta).
template <class R>
R index_of_turns(const trained_pairs& e, const R& base, double beta) {
  const R turns = from_setting<R>(e.trained_length) / (R(2.0) * pi<R>() * from_setting<R>(beta));
  return from_integer<R>(static_cast<double>(e.pairs)) * log(turns) / log(base);
}

/// How much of each pair yarn interpolates, 0 to 1, from lo to hi; base [k, 1] -> [k, r]. Nothing of those that have no
/// such ramp.
std::optional<formula::traced> ramp_of(const extension& e, const formula::traced& base);
/// How much of frequencies stays as it is, by their turns: 0 to 1. Between equal ends is no pair: pi being
/// transcendental, turns of a finite base are no rational number.
formula::traced kept_by_turns(const extension& e, const formula::traced& theta);
/// Of theta = base^(-t/r) [k, r], by the factor s and that ramp. Precondition: the settings have no conflict; base > 1
/// for yarn.
formula::traced extended_frequencies(const extension& e, const formula::traced& s,
                                     const std::optional<formula::traced>& ramp, const formula::traced& theta);

/// What multiplies queries and keys where contexts are `factor` times as long.
formula::traced magnitude_at(const core::attributes& settings, const formula::traced& factor);

}  // namespace assay::reference
