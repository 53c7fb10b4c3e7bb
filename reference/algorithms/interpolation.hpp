// A table between its positions: z at p, which lies w of the way from one position to the next,
//
//   w z[k + 1] + (1 - w) z[k],   k = floor p,   w = p - k.
//
// p is at least 0, and beyond the last position it counts as the last. At an integer the number is that of the table,
// and the slope is 0, as in published code, whose ceil and floor are the same there. An error of p may take it to other
// neighbours. The number is continuous, and errs by the steepest slope of those times the error. The slope is not: the
// allowance reaches from the one slope to the other ones, and to 0.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "reference/accuracy_class.hpp"
#include "reference/readings/adjoint.hpp"
#include "reference/readings/rounded.hpp"
#include "reference/readings/stages.hpp"

namespace assay::reference {

/// w u + (1 - w) l; the allowance reading takes what l + w (u - l) may be off by, too.
template <class R>
R between_positions(const R& w, const R& lower, const R& upper) {
  const R mean = w * upper + (R(1.0) - w) * lower;
  if constexpr (carries_derivatives<R>)
    return mean;
  else
    return covering(mean, [&] { return lower + w * (upper - lower); });
}

/// What of it mutants and controls replace.
template <class R>
struct interpolation_steps {
  /// The number between two, w of the way from the lower one.
  recipe_step<R, R(const R& w, const R& lower, const R& upper)> between = between_positions<R>;
  /// The upper position, from the lower one, and whether p is that.
  recipe_step<R, double(double lower, bool is_at_it)> next = [](double k, bool is_at_it) {
    return is_at_it ? k : k + 1.0;
  };
};

template <class R>
class interpolated_table {
 public:
  interpolated_table(const R* z, std::size_t size, const interpolation_steps<R>& how) : z_(z), size_(size), how_(how) {}

  /// 0 where the table is empty.
  [[nodiscard]] R at(const R& p) const {
    if (size_ == 0) return R(0.0);
    const double x = to_double(p);
    if (std::isnan(x)) return p;
    if (surely(less(whole(highest() + 1.0), p))) return entry(highest());  // far beyond the end: a constant
    double first = std::floor(x), last = first;  // of the lower positions that p may lie above, or be at
    while (first > 0.0 && first <= highest() && !surely(less(whole(first), p))) --first;
    while (last < highest() && !surely(less(p, whole(last + 1.0)))) ++last;
    if constexpr (std::is_same_v<R, tracked>) {
      return with_error(between(tracked(x), std::floor(x)), p, first, last);
    } else if constexpr (std::is_same_v<R, adjoint<tracked>>) {
      const R b = between(R(tracked(x), p.node), std::floor(x));
      return with_slopes(R::made(with_error(b.number, p.number, first, last), R::along(b)), p, first, last);
    } else {
      R b = between(p, first);
      for (double k = first + 1.0; k <= last; ++k) b = either(less(p, whole(k)), b, between(p, k));
      return b;
    }
  }

 private:
  static bool surely(boost::tribool t) { return static_cast<bool>(t); }
  /// An integer, exact in every format: programs have it in one of its own.
  static R whole(double k) {
    R x(k);
    if constexpr (std::is_same_v<R, rounded>) x.number = k;
    if constexpr (std::is_same_v<R, adjoint<rounded>>) x.number.number = k;
    return x;
  }
  [[nodiscard]] double highest() const { return static_cast<double>(size_ - 1); }
  [[nodiscard]] const R& entry(double k) const { return z_[static_cast<std::size_t>(std::clamp(k, 0.0, highest()))]; }
  [[nodiscard]] R between(const R& p, double k) const {
    const bool is_at_it = surely(!less(whole(k), p));
    return how_.between(p - whole(k), entry(k), entry(how_.next(k, is_at_it)));
  }
  static const tracked& number_of(const tracked& x) { return x; }
  static const tracked& number_of(const adjoint<tracked>& x) { return x.number; }
  /// z[k + 1] - z[k]
  [[nodiscard]] double slope(double k) const { return number_of(entry(k + 1.0)).number - number_of(entry(k)).number; }

  // b has the roundings at the number of p, of which those between other neighbours may be more.
  [[nodiscard]] tracked with_error(tracked b, const tracked& p, double first, double last) const {
    if (p.error == 0.0) return b;
    double steepest = 0.0;
    for (double k = first; k <= last; ++k) {
      const double share = std::clamp(p.number - k, 0.0, 1.0);
      const tracked w(share, share);  // p - k is rounded
      b.error = std::max(b.error, between_positions(w, number_of(entry(k)), number_of(entry(k + 1.0))).error);
      steepest = std::max(steepest, std::fabs(slope(k)));
    }
    return {b.number, b.error + propagate(steepest, p.error)};
  }

  // The shares of the neighbours move as p does; l + w (u - l) hands g - w g on to l. Of a p without an error the truth
  // has the slope of b.
  [[nodiscard]] R with_slopes(R b, const R& p, double first, double last) const {
    const tracked& at = p.number;
    const auto moves = [&](const R& with, double error) {
      b = R::made(b.number, R::along(b), R::by(with, [error] { return tracked(0.0, error); }));
    };
    const double lower = std::floor(at.number);
    moves(entry(lower), std::min(at.number - lower, 1.0));
    if (at.error > 0.0)
      for (double k = first; k <= std::min(last + 1.0, highest()); ++k) moves(entry(k), at.error);
    if (first == last && surely(less(tracked(first), at))) return b;
    double least = 0.0, most = 0.0, rounding = 0.0;
    for (double k = first; k <= last; ++k) {
      least = std::min(least, slope(k)), most = std::max(most, slope(k));
      rounding =
          std::max(rounding, std::fabs(number_of(entry(k)).number) + std::fabs(number_of(entry(k + 1.0)).number));
    }
    // What is no rounding is all there under the slack of a class, and under that of a bug as it is stored, too.
    const double reach = (at.error > 0.0 ? most - least : std::max(-least, most)) / class_slack;
    moves(p, reach / tracked::u() + 2.0 * rounding);
    return b;
  }

  const R* z_;
  std::size_t size_;
  const interpolation_steps<R>& how_;
};

}  // namespace assay::reference
