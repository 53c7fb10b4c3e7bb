// A table between its positions: z at p, where p lies a share w of the way from one position to the next,
//
//   w z[k + 1] + (1 - w) z[k],   k = floor p,   w = p - k.
//
// p is at least 0; beyond the last position it counts as the last one. At an integer the number is that of the table,
// and the slope is 0, as in published code, where ceil and floor are equal there. An error of p may move p between
// other positions. The number is continuous, and its error is the steepest slope between these positions times the
// error of p. The slope is not continuous: its allowance reaches from one slope to the others, and to 0.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "reference/accuracy_class.hpp"
#include "reference/readings/rounded.hpp"
#include "reference/readings/tracked.hpp"

namespace assay::reference {

/// w u + (1 - w) l; the allowance reading also covers the error of l + w (u - l).
template <class R>
R between_positions(const R& w, const R& lower, const R& upper) {
  const R mean = w * upper + (R(1.0) - w) * lower;
  if constexpr (std::is_same_v<R, tracked>)
    return covering(mean, [&] { return lower + w * (upper - lower); });
  else
    return mean;
}

/// The place of p in a table with this number of positions, at least one.
template <class R>
class place_in_table {
 public:
  place_in_table(const R& p, std::size_t size)
      : p_(p),
        x_(to_double(p)),
        highest_(static_cast<double>(size - 1)),
        is_beyond_(surely(less(whole(highest_ + 1.0), p))),
        first_(std::floor(x_)),
        last_(first_) {
    if (std::isnan(x_) || is_beyond_) return;
    while (first_ > 0.0 && first_ <= highest_ && !surely(less(whole(first_), p))) --first_;
    while (last_ < highest_ && !surely(less(p, whole(last_ + 1.0)))) ++last_;
    if constexpr (!std::is_same_v<R, tracked>)
      while (first_ < last_ && surely(!less(p, whole(first_ + 1.0)))) ++first_;
  }
  [[nodiscard]] bool is_nan() const { return std::isnan(x_); }
  [[nodiscard]] bool is_beyond() const { return is_beyond_; }  ///< p is more than 1 beyond the last position
  /// The first and last of the lower positions that p may be at or above.
  [[nodiscard]] double first() const { return first_; }
  [[nodiscard]] double last() const { return last_; }
  [[nodiscard]] double highest() const { return highest_; }
  [[nodiscard]] std::size_t entry(double k) const { return static_cast<std::size_t>(std::clamp(k, 0.0, highest_)); }
  /// The upper position; it is the lower one where p is exactly there.
  [[nodiscard]] double next(double k) const { return surely(!less(whole(k), p_)) ? k : k + 1.0; }
  [[nodiscard]] R way_from(double k) const { return p_ - whole(k); }
  /// f(k) for the position k that lies below p.
  template <class F>
  [[nodiscard]] R evaluated_below(F f) const {
    R x = f(first_);
    for (double k = first_ + 1.0; k <= last_; ++k) x = either(less(p_, whole(k)), x, f(k));
    return x;
  }

  /// Calls give(position, share) for each position that has a share in the number.
  template <class Give>
  void share(Give give) const {
    if (is_nan()) return;
    if (is_beyond_) return give(entry(highest_), R(1.0));
    for (double k = std::min(first_, highest_), end = std::min(last_ + 1.0, highest_); k <= end; ++k)
      give(entry(k), share_of(entry(k)));
  }

 private:
  static bool surely(boost::tribool t) { return static_cast<bool>(t); }
  /// An integer, exact in every format: programs keep it as an integer.
  static R whole(double k) {
    R x(k);
    if constexpr (std::is_same_v<R, rounded>) x.number = k;
    return x;
  }
  [[nodiscard]] R share_by(const R& w, double lower, double upper, std::size_t k) const {
    const bool is_lower = entry(lower) == k, is_upper = entry(upper) == k;
    if (is_lower) return is_upper ? w + (R(1.0) - w) : R(1.0) - w;
    return is_upper ? w : R(0.0);
  }
  [[nodiscard]] R share_of(std::size_t k) const {
    if constexpr (std::is_same_v<R, tracked>) {
      // Shares change as p does; l + w (u - l) gives l the gradient g - w g.
      const double lower = std::floor(x_), way = x_ - lower;
      const R share = share_by(R(x_) - R(lower), lower, x_ == lower ? lower : lower + 1.0, k);
      return {share.number, share.error + p_.error + (entry(lower) == k ? way : 0.0)};
    } else {
      return evaluated_below([&](double lower) { return share_by(way_from(lower), lower, next(lower), k); });
    }
  }

  const R& p_;
  double x_, highest_;
  bool is_beyond_;
  double first_, last_;
};

template <class R>
class interpolated_table {
 public:
  interpolated_table(const R* z, std::size_t size) : z_(z), size_(size) {}

  /// The number at p; 0 where the table is empty.
  [[nodiscard]] R value(const R& p) const {
    if (size_ == 0) return R(0.0);
    const place_in_table<R> place(p, size_);
    if (place.is_nan()) return p;
    if (place.is_beyond()) return z_[size_ - 1];
    if constexpr (std::is_same_v<R, tracked>) {
      const tracked number(p.number);
      const place_in_table<R> exact(number, size_);
      const double k = std::floor(p.number);
      return with_error(between_positions(exact.way_from(k), entry(place, k), entry(place, exact.next(k))), p, place);
    } else {
      return place.evaluated_below(
          [&](double k) { return between_positions(place.way_from(k), entry(place, k), entry(place, place.next(k))); });
    }
  }
  /// The derivative in p.
  [[nodiscard]] R slope(const R& p) const {
    if (size_ == 0) return R(0.0);
    const place_in_table<R> place(p, size_);
    if (place.is_nan()) return R(1.0);
    if (place.is_beyond()) return R(0.0);
    if constexpr (std::is_same_v<R, tracked>)
      return slope_of_bounded(p, place);
    else
      return place.evaluated_below([&](double k) {
        const double next = place.next(k);
        const bool is_0 = next == k && std::isfinite(to_double(entry(place, k)));
        return is_0 ? R(0.0) : entry(place, next) - entry(place, k);
      });
  }

 private:
  [[nodiscard]] const R& entry(const place_in_table<R>& place, double k) const { return z_[place.entry(k)]; }
  /// z[k + 1] - z[k]
  [[nodiscard]] double step(const place_in_table<R>& place, double k) const {
    return entry(place, k + 1.0).number - entry(place, k).number;
  }

  // b has the roundings at the number of p; the roundings between other neighbours may be larger.
  [[nodiscard]] R with_error(R b, const R& p, const place_in_table<R>& place) const {
    if (p.error == 0.0) return b;
    double steepest = 0.0;
    for (double k = place.first(); k <= place.last(); ++k) {
      const double share = std::clamp(p.number - k, 0.0, 1.0);
      const R w(share, share);  // p - k is rounded
      b.error = std::max(b.error, between_positions(w, entry(place, k), entry(place, k + 1.0)).error);
      steepest = std::max(steepest, std::fabs(step(place, k)));
    }
    return {b.number, b.error + propagate(steepest, p.error)};
  }

  // Programs multiply a cotangent with both neighbours, and subtract. If p has no error and lies between two positions,
  // the true slope is that of the number.
  [[nodiscard]] R slope_of_bounded(const R& p, const place_in_table<R>& place) const {
    const double lower = std::floor(p.number), upper = p.number == lower ? lower : lower + 1.0;
    const R &l = entry(place, lower), &u = entry(place, upper);
    R slope(u.number - l.number, l.error + u.error + finite_magnitude(u.number) + finite_magnitude(l.number));
    if (place.first() == place.last() && static_cast<bool>(less(R(place.first()), p))) return slope;
    double least = 0.0, most = 0.0, rounding = 0.0;
    for (double k = place.first(); k <= place.last(); ++k) {
      least = std::min(least, step(place, k)), most = std::max(most, step(place, k));
      rounding = std::max(rounding, std::fabs(entry(place, k).number) + std::fabs(entry(place, k + 1.0).number));
    }
    // A change that is no rounding fits within the slack of a class, and, as it is stored, within the slack of a bug,
    // too.
    const double reach = (p.error > 0.0 ? most - least : std::max(-least, most)) / class_slack;
    slope.error += reach / R::u() + 2.0 * rounding;
    return slope;
  }

  const R* z_;
  std::size_t size_;
};

}  // namespace assay::reference
