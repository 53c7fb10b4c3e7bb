// Rotary frequencies for contexts that are longer than those of training. theta_t = base^(-t/r), t = 0 ... r - 1, is
// stretched by the factor s = `factor`. L0 = `trained_length`, L = `length`. x_t = L0 theta_t / (2 pi) is the number of
// turns that pair t makes within the trained length.
//
//   yarn           theta_t (g/s + 1 - g), g = clamp((t - lo) / (hi - lo), 0, 1), lo = max(floor c(beta_fast), 0),
//                  hi = min(ceil c(beta_slow), d - 1), hi + 0.001 where they are equal, c(beta) = r log(L0 / (2 pi
//                  beta)) / log base: the real index of the pair that makes beta turns
//                  Peng et al. 2023, arXiv 2309.00071, section 3.2, as in jquesnelle/yarn and all later code
//   llama3         theta_t ((1 - g)/s + g), g = clamp((x_t - low) / (high - low), 0, 1)
//                  Grattafiori et al. 2024, arXiv 2407.21783, whose three branches are this clamp; where low = high,
//                  g is 0 below and 1 above (Llama 4 Scout, meta-llama/llama-models)
//   dynamic        theta_t a^(-t/(r-1)), a = max(1, s L / L0 - (s - 1))          huggingface/transformers, "dynamic"
//   dynamic_steps  the same, a = max(1, 2^(ceil(log2(L / L0)) + 1) - 1)          QwenLM/Qwen
//   ntk_fixed      theta_t s^(-(t+1)/r)                                          kexue.fm/archives/9706
//   ntk_mixed      theta_t exp(-a (t+1)^beta), a = log s / r^beta                likewise; vLLM's mixed_b
//
// Conventions of yarn: `ramp` goes over the index of the pair, or over turns, as in eq. 21; the latter is the ramp of
// llama3 with beta_slow and beta_fast as low and high. Without `truncate`, lo and hi are the real c. `last` is the end
// that cuts hi: d - 1 or r - 1. `blend` is of frequencies (eq. 25) or of wavelengths (eq. 23): theta_t / (g s + 1 - g).
// `crossed` says what happens where hi < lo: no pair makes beta_slow turns, or all make more than beta_fast. The ramp
// is
//   reversed  the same quotient, as in most published code: the ramp then falls
//   step      0 up to lo, then 1, as where lo and hi are equal: code that bounds hi - lo from below (keras-hub)
//   turns     1 where no pair makes beta_slow turns, 0 where all make more than beta_fast, as in eq. 21
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

/// Pairs of coordinates, and the length in tokens for which they are trained.
struct trained_pairs {
  std::size_t pairs;
  double trained_length;
};
struct extension : trained_pairs {
  enum class kind { yarn, llama3, dynamic, dynamic_steps, ntk_fixed, ntk_mixed };
  kind rule;
  double factor, length;
  double fast, slow;                         ///< beta of yarn; high and low of llama3
  bool truncates, by_turns, by_wavelengths;  ///< the settings `truncate`, `ramp` and `blend`
  double last;                               ///< the end that cuts hi
  enum class crossing { reversed, step, turns } crossed;
  double mixed;  ///< beta of ntk_mixed

  explicit extension(const core::attributes& settings);
};
/// The reason why the settings do not go together; empty where they do.
std::string conflict_of_extension(const core::attributes& settings);

/// The first length, in tokens, at which base^(-t/pairs) makes a turn: ceil(2 pi base^(t/pairs)), decided by intervals;
/// `no_turn` where base^(t/pairs) is beyond 2^49. Precondition: base >= 1 is finite.
inline constexpr std::int64_t no_turn = std::int64_t{1} << 53;
std::int64_t length_of_turn(double base, std::size_t t, std::size_t pairs);
/// 2^(ceil(log2(L / L0)) + 1) - 1, computed from integers; at least 1.
double steps_of_length(const extension& e);

/// c(beta). It is no integer for a finite base, since pi is transcendental.
template <class R>
R index_of_turns(const trained_pairs& e, const R& base, double beta) {
  const R turns = from_setting<R>(e.trained_length) / (R(2.0) * pi<R>() * from_setting<R>(beta));
  return from_integer<R>(static_cast<double>(e.pairs)) * log(turns) / log(base);
}

/// The share, 0 to 1, by which yarn interpolates each pair, from lo to hi; base [k, 1] -> [k, r]. Nothing for
/// extensions without such a ramp.
std::optional<formula::traced> ramp_of(const extension& e, const formula::traced& base);
/// The share, 0 to 1, of each frequency that is kept, by its turns. No pair lies between equal ends: pi is
/// transcendental, so the turns of a finite base are no rational number.
formula::traced kept_by_turns(const extension& e, const formula::traced& theta);
/// The extension of theta = base^(-t/r) [k, r] by the factor s and the given ramp. Precondition: the settings have no
/// conflict; base > 1 for yarn.
formula::traced extended_frequencies(const extension& e, const formula::traced& s,
                                     const std::optional<formula::traced>& ramp, const formula::traced& theta);

/// The number that multiplies queries and keys where contexts are `factor` times as long.
formula::traced magnitude_of_extension(const core::attributes& settings, const formula::traced& factor);

}  // namespace assay::reference
