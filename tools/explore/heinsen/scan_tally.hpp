// The truth of one lane of the recurrence, and the counts of errors; used by scan_errors.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <variant>

#include "reference/readings/ball.hpp"
#include "tools/explore/cell.hpp"

namespace assay::explore {

inline constexpr std::size_t counted_digits = 15;

// The states of one lane, as balls.
class truth {
 public:
  explicit truth(bool precise)
      : state_(precise ? state(reference::two_double_ball(0.0)) : state(reference::double_ball(0.0))) {}

  struct number {
    double high = 0, low = 0;  ///< the centre is high + low
    double radius = 0;         ///< the largest radius of the states so far
    /// |x - truth|; 0 if both are the same infinity; infinite if x or the truth is otherwise no finite number.
    [[nodiscard]] double distance(double x) const {
      if (x == high && !std::isfinite(x)) return 0.0;
      const double d = std::fabs((x - high) - low);
      return std::isnan(d) ? std::numeric_limits<double>::infinity() : d;
    }
  };
  number next(double a, double h) {
    return std::visit(
        [&]<class Ball>(Ball& s) -> number {
          s = log_sum_exp(Ball(a) + s, Ball(h));
          radius_ = std::max(radius_, s.radius);
          return {reference::leading(s.centre), reference::trailing(s.centre), radius_};
        },
        state_);
  }

 private:
  using state = std::variant<reference::double_ball, reference::two_double_ball>;
  state state_;
  double radius_ = 0;  // the largest radius so far
};

// The counts for one cell so far.
struct tally {
  const cell* measured = nullptr;
  std::size_t lanes = 1, window = 1;
  double squares = 0, relative_squares = 0, state_squares = 0, samples = 0;  // over the windows of all lanes
  double largest = 0;  // the largest absolute error in the windows
  double worst = 0;    // the largest scaled error of any token
  double log_decay = 0, radius = 0;
  double nonfinite_at = std::nan(""), lost_at = std::nan("");
  std::array<double, counted_digits + 1> left_at;  // for each number of digits: the first token with fewer digits
};

inline void keep_first(double& first, double token) {
  if (std::isnan(first) || token < first) first = token;
}

// The counts for one implementation on one lane so far. lost_at: the first token with a scaled error of 1 or more.
struct progress {
  double worst = 0;
  double nonfinite_at = std::nan(""), lost_at = std::nan("");
  std::array<double, counted_digits + 1> left_at;
  std::size_t digits = counted_digits;  // digits that are left after all errors so far

  progress() { left_at.fill(std::nan("")); }
  void see(double token, double error, double state) {
    if (std::isinf(error)) keep_first(nonfinite_at, token);
    const double scaled = error / std::max(1.0, std::fabs(state));
    if (!(scaled > worst)) return;
    worst = scaled;
    if (worst >= 1.0) keep_first(lost_at, token);
    for (; digits > 0 && worst > bounds()[digits]; --digits) left_at[digits] = token;
  }
  static const std::array<double, counted_digits + 1>& bounds() {
    static const auto all = [] {
      std::array<double, counted_digits + 1> x{};
      for (std::size_t k = 0; k < x.size(); ++k) x[k] = std::pow(10.0, -static_cast<double>(k));
      return x;
    }();
    return all;
  }
};

}  // namespace assay::explore
