// Resampling of numbers along an axis, as torch.nn.functional.interpolate does it. Position i of the new numbers lies
// at src(i) among the old ones, and the weight of number k there is K((src - k) / stretch).
//
//   K      linear: 1 - |x| up to 1; cubic: (A + 2)|x|^3 - (A + 3)|x|^2 + 1 up to 1, A (|x|^3 - 5|x|^2 + 8|x| - 4) up
//          to 2 (Keys 1981), A = -3/4; with antialiasing A = -1/2, as in Pillow
//   src    half pixels: (i + 1/2) s - 1/2 with s = from / to; aligned corners: i (from - 1) / (to - 1), 0 for one
//   ends   outside the old numbers the first and the last one are repeated. With antialiasing, weights outside are left
//          out, and the others are divided by their sum.
//   stretch  s with antialiasing, where s is more than 1; else 1
//
// All of this is rational: here distances and weights are exact, as quotients of integers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "reference/formula/recording.hpp"

namespace assay::reference {

/// The sizes of a resampling, and its conventions.
struct resampling {
  std::int64_t from, to;
  bool cubic = true, aligned = false, antialiased = false;
  /// s = from / (to + 1/10), with which DINOv2 makes sure of the size.
  bool has_offset = false;
  std::int64_t sharpness = antialiased ? -2 : -3;  ///< 4 A
  /// Twice the number of pixels by which src is shifted, and shifted back.
  std::int64_t shift = 1;

  /// The largest `from` and `to`, so that weights are exact integers of 53 bits.
  static constexpr std::int64_t most = 1024;
};

/// The old numbers from which each new number is made: `taps` for each, in row-major order; some new numbers have
/// fewer.
struct resampled_axis {
  explicit resampled_axis(const resampling& requested);

  using traced = formula::traced;
  using index = formula::traced_integer;
  [[nodiscard]] index places() const { return formula::known_integers(shape(), place); }
  [[nodiscard]] formula::traced_truth there() const { return formula::known_truths(shape(), is_there); }
  /// Whole numbers in proportion to the weights of each new number, and their sums [to].
  [[nodiscard]] traced whole_weights() const { return index_number(formula::known_integers(shape(), whole)); }
  [[nodiscard]] traced whole_sums() const { return index_number(formula::known_integers({sums.size()}, sums)); }
  /// The sum that all new numbers share if their whole weights are scaled to one sum; 0 where it is above 2^40.
  [[nodiscard]] std::int64_t common_sum() const;
  [[nodiscard]] traced weights_of_common_sum() const;
  /// K of distances [to, taps]; divided by its sum where weights are normalised.
  [[nodiscard]] traced weights_of(const traced& distances) const;
  /// (src - k) / stretch, computed from s in the format of the stage; the allowance covers the roundings of other
  /// programs.
  [[nodiscard]] traced distances_by_scale() const;
  /// The same, as one quotient.
  [[nodiscard]] traced distances() const {
    return index_number(formula::known_integers(shape(), distance)) / traced(static_cast<double>(unit));
  }

  resampling settings;
  std::size_t taps = 0;
  std::vector<std::int64_t> place, number;    ///< which old number a weight is for: clamped to the old numbers, and not
  std::vector<std::int64_t> distance, reach;  ///< src - k, in units of 1 / per_number, and its error in units of u
  std::vector<bool> is_there;                 ///< false where a new number has fewer old ones than `taps`
  std::vector<std::int64_t> whole, sums;      ///< see whole_weights() and whole_sums()
  /// Distances are divided by `unit`; `per_number` is the distance from one old number to the next.
  std::int64_t unit = 1, per_number = 1;

 private:
  [[nodiscard]] core::shape shape() const { return {static_cast<std::size_t>(settings.to), taps}; }
  [[nodiscard]] std::int64_t whole_weight(std::size_t k) const;
};

inline resampled_axis::resampled_axis(const resampling& requested) : settings(requested) {
  // s = a / b
  const std::int64_t a = settings.aligned      ? settings.from - 1
                         : settings.has_offset ? 10 * settings.from
                                               : settings.from;
  const std::int64_t b = settings.aligned      ? std::max<std::int64_t>(settings.to - 1, 1)
                         : settings.has_offset ? 10 * settings.to + 1
                                               : settings.to;
  per_number = 2 * b;
  unit = settings.antialiased ? 2 * std::max(a, b) : per_number;
  const std::int64_t support = (settings.cubic ? 2 : 1) * unit;
  const auto floor_of = [&](std::int64_t x) { return x >= 0 ? x / per_number : -((per_number - 1 - x) / per_number); };
  std::vector<std::vector<std::int64_t>> all(static_cast<std::size_t>(settings.to));
  const auto source = [&](std::int64_t i) {
    return settings.aligned ? 2 * i * a : (2 * i + settings.shift) * a - settings.shift * b;  // over 2 b
  };
  for (std::int64_t i = 0; i < settings.to; ++i) {
    auto& own = all[static_cast<std::size_t>(i)];
    for (std::int64_t k = -floor_of(support - source(i)); k <= floor_of(source(i) + support); ++k)
      if (!settings.antialiased || (k >= 0 && k < settings.from)) own.push_back(k);
    taps = std::max(taps, own.size());
  }
  for (std::int64_t i = 0; i < settings.to; ++i)
    for (std::size_t t = 0; t < taps; ++t) {
      const auto& own = all[static_cast<std::size_t>(i)];
      const std::int64_t k = own[std::min(t, own.size() - 1)];
      is_there.push_back(t < own.size());
      number.push_back(k);
      place.push_back(std::clamp<std::int64_t>(k, 0, settings.from - 1));
      distance.push_back(source(i) - k * per_number);
      // In units of u: for a scale that is a quotient of a quotient, its product with i, and the difference of the
      // places.
      reach.push_back(1 + 2 * (std::abs(source(i)) + per_number) / unit);
    }
  sums.assign(all.size(), 0);
  std::int64_t common = 0;
  for (std::size_t k = 0; k < place.size(); ++k) {
    whole.push_back(whole_weight(k));
    common = std::gcd(common, whole.back());
  }
  for (std::size_t k = 0; k < whole.size(); ++k) sums[k / taps] += whole[k] /= common;
}

/// 4 unit^3 K where K is cubic, unit K where it is linear.
inline std::int64_t resampled_axis::whole_weight(std::size_t k) const {
  const std::int64_t x = std::abs(distance[k]), d = unit, a = settings.sharpness;
  if (!is_there[k]) return 0;
  if (!settings.cubic) return d - x;
  return x <= d ? ((a + 8) * x - (a + 12) * d) * x * x + 4 * d * d * d
                : a * (((x - 5 * d) * x + 8 * d * d) * x - 4 * d * d * d);
}
inline std::int64_t resampled_axis::common_sum() const {
  std::int64_t all = 1;
  for (const std::int64_t sum : sums) {
    all = all / std::gcd(all, sum) * sum;
    if (all > std::int64_t{1} << 40) return 0;
  }
  return all;
}
inline formula::traced resampled_axis::weights_of_common_sum() const {
  const std::int64_t common = common_sum();
  std::vector<std::int64_t> all;
  for (std::size_t k = 0; k < whole.size(); ++k) all.push_back(whole[k] * (common / sums[k / taps]));
  return index_number(formula::known_integers(shape(), all));
}

inline formula::traced resampled_axis::weights_of(const traced& distances) const {
  const traced x = magnitude_of(distances), one(1.0), a = traced(static_cast<double>(settings.sharpness) / 4);
  std::vector<bool> is_near;
  for (const std::int64_t d : distance) is_near.push_back(std::abs(d) <= unit);
  const traced near = settings.cubic ? ((a + traced(2.0)) * x - (a + traced(3.0))) * x * x + one : one - x;
  const traced far = ((a * x - traced(5.0) * a) * x + traced(8.0) * a) * x - traced(4.0) * a;
  const traced all = settings.cubic ? either(formula::known_truths(shape(), is_near), near, far) : near;
  if (!settings.antialiased) return all;
  const std::size_t to = shape()[0];
  return all / reshaped(contracted_where(there(), all, broadcast(one, shape()), "it,it->i"), {to, 1});
}
inline formula::traced resampled_axis::distances_by_scale() const {
  const auto number_of = [](std::int64_t x) { return traced(static_cast<double>(x)); };
  const traced i = index_number(reshaped(formula::counted(shape()[0]), {shape()[0], 1})),
               half(static_cast<double>(settings.shift) / 2);
  const traced to = settings.has_offset ? number_of(settings.to) + traced(0.1) : number_of(settings.to);
  const traced scale = settings.aligned
                           ? number_of(settings.from - 1) / number_of(std::max<std::int64_t>(settings.to - 1, 1))
                           : number_of(settings.from) / to;
  const traced source = settings.aligned ? scale * i : scale * (i + half) - half;
  const traced apart = source - index_number(formula::known_integers(shape(), number));
  return off_by(settings.antialiased && unit > per_number ? apart * (traced(1.0) / scale) : apart,
                index_number(formula::known_integers(shape(), reach)));
}

}  // namespace assay::reference
