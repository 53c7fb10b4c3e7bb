// The exponential in one and two doubles: balls, and the allowance.
#include "reference/algorithms/connected_coordinates.hpp"
#include "reference/algorithms/midpoint_exponential.hpp"
#include "reference/algorithms/skew_exponential.hpp"
#include "reference/readings/all.hpp"

namespace assay::reference {
namespace {

using namespace connected_coordinates;
using namespace midpoint;

template <class Number>
struct midpoints {
  std::vector<Number> centre;
  double radius;  // in Frobenius's norm
  norms sizes;
  midpoints(const square_matrix<ball<Number>>& x, std::size_t b, bool is_skew) {
    double squares = 0.0;
    for (const auto& y : x) centre.push_back(y.centre), squares += y.radius * y.radius;
    for (std::size_t i = 0; is_skew && i < b; ++i)
      for (std::size_t j = 0; j < i; ++j) centre[i * b + j] = negated(centre[j * b + i]);
    radius = root_up(squares);
    sizes = norms_of(b, [&](std::size_t k) { return bound_of(centre[k]); });
  }
  void halve(int times) {
    for (Number& x : centre) {
      if constexpr (std::is_same_v<Number, double>)
        x = std::ldexp(x, -times);
      else
        x = {std::ldexp(x.high, -times), std::ldexp(x.low, -times)};
    }
  }
};
template <class Number>
square_matrix<ball<Number>> balls_of(const std::vector<Number>& centres, double radius) {
  square_matrix<ball<Number>> r;
  for (const Number& c : centres) r.emplace_back(c, radius);
  return r;
}
template <class Number>
bool is_known(const square_matrix<ball<Number>>& x) {
  return std::all_of(x.begin(), x.end(), [](const auto& y) { return y.is_finite(); });
}
template <class Number>
square_matrix<ball<Number>> unknown_matrix(std::size_t b) {
  return square_matrix<ball<Number>>(b * b, ball<Number>::unknown());
}
// Above this norm the errors of doubles are larger than the entries; below the smallest norm halvings would underflow.
constexpr double largest_norm_of_doubles = 0x1p30, smallest_norm_of_doubles = 0x1p-400;

double allowance_of_exponential(double norm, std::size_t b) {
  constexpr double terms = 16.0;
  return std::max(1.0, 4.0 * norm) * std::sqrt(4.0 / 3.0 * (static_cast<double>(b) + terms));
}
// The largest row sum of the errors.
double largest_error(const square_matrix<tracked>& x, std::size_t b) {
  return norms_of(b, [&](std::size_t k) { return x[k].error; }).largest;
}
std::vector<double> numbers_of(const square_matrix<tracked>& x) {
  std::vector<double> all;
  for (const tracked& y : x) all.push_back(y.number);
  return all;
}
// The exponential in double, or its slope.
std::vector<double> in_double(std::vector<double> x, std::vector<double> g, std::size_t b) {
  const floating_arithmetic<double> in{b};
  const norms sizes = norms_of(b, [&](std::size_t k) { return std::fabs(x[k]); });
  const bool is_finite = std::all_of(x.begin(), x.end(), [](double y) { return std::isfinite(y); }) &&
                         std::all_of(g.begin(), g.end(), [](double y) { return std::isfinite(y); });
  if (!is_finite || !(sizes.largest < 0x1p500))
    return std::vector<double>(b * b, std::numeric_limits<double>::quiet_NaN());
  const scaling scaled(sizes.two_norm(), floating_arithmetic<double>::halvings, floating_arithmetic<double>::bits, b);
  for (auto* m : {&x, &g})
    for (double& y : *m) y = std::ldexp(y, -scaled.halvings);
  computed<floating_arithmetic<double>> r = exponentiate(in, scaled, x, g.empty() ? nullptr : &g, 0.0);
  return g.empty() ? std::move(r.exponential) : std::move(r.slope);
}

}  // namespace
template <class Number>
square_matrix<ball<Number>> exponential_of(const square_matrix<ball<Number>>& x, std::size_t b) {
  using arithmetic = floating_arithmetic<Number>;
  return by_parts(x, b, [](const square_matrix<ball<Number>>& own, std::size_t n) {
    if (!is_known(own)) return unknown_matrix<Number>(n);
    midpoints<Number> y(own, n, true);
    const double norm = y.sizes.two_norm();
    if (!(norm < largest_norm_of_doubles) || norm < smallest_norm_of_doubles) return unknown_matrix<Number>(n);
    const scaling scaled(norm, arithmetic::halvings, arithmetic::bits, n);
    y.halve(scaled.halvings);
    const auto r = exponentiate<arithmetic>({n}, scaled, y.centre, nullptr, 0.0);
    return balls_of(r.exponential, up(r.error + y.radius));
  });
}
template <class Number>
square_matrix<ball<Number>> exponential_slope(const square_matrix<ball<Number>>& x,
                                              const square_matrix<ball<Number>>& g, std::size_t b) {
  using arithmetic = floating_arithmetic<Number>;
  return slope_by_parts(x, g, b, [&] {
    if (!is_known(x) || !is_known(g)) return unknown_matrix<Number>(b);
    midpoints<Number> y(x, b, true), h(g, b, false);
    const double norm = y.sizes.two_norm(), norm_of_g = root_up(h.sizes.squares);
    if (!(norm < largest_norm_of_doubles) || norm < smallest_norm_of_doubles || !(norm_of_g < 0x1p400) ||
        norm_of_g < smallest_norm_of_doubles)
      return unknown_matrix<Number>(b);
    const scaling scaled(norm, arithmetic::halvings, arithmetic::bits, b);
    y.halve(scaled.halvings), h.halve(scaled.halvings);
    const auto r = exponentiate<arithmetic>({b}, scaled, y.centre, &h.centre, std::ldexp(norm_of_g, -scaled.halvings));
    return balls_of(r.slope, up(r.error_of_slope + y.radius * norm_of_g + h.radius));
  });
}
template square_matrix<double_ball> exponential_of(const square_matrix<double_ball>&, std::size_t);
template square_matrix<two_double_ball> exponential_of(const square_matrix<two_double_ball>&, std::size_t);
template square_matrix<double_ball> exponential_slope(const square_matrix<double_ball>&,
                                                      const square_matrix<double_ball>&, std::size_t);
template square_matrix<two_double_ball> exponential_slope(const square_matrix<two_double_ball>&,
                                                          const square_matrix<two_double_ball>&, std::size_t);

square_matrix<tracked> exponential_of(const square_matrix<tracked>& x, std::size_t b) {
  const std::vector<double> r = in_double(numbers_of(x), {}, b);
  const double norm = largest_row_sum(x, b), inherited = largest_error(x, b);
  // Zeros give the identity, which every program has exactly. No two rotations differ by more than 2.
  const bool is_identity = norm == 0.0 && inherited == 0.0;
  const double error = is_identity ? 0.0
                                   : std::min(inherited, 2.0 / tracked::u()) +
                                         tracked::growth(allowance_of_exponential(norm, b)) + tracked::tau();
  square_matrix<tracked> out;
  for (const double y : r) out.emplace_back(y, error);
  return out;
}
square_matrix<tracked> exponential_slope(const square_matrix<tracked>& x, const square_matrix<tracked>& g,
                                         std::size_t b, double size) {
  const std::vector<double> r = in_double(numbers_of(x), numbers_of(g), b);
  const double norm_of_x = largest_row_sum(x, b), norm_limit = tracked::u() < 0x1p-50 ? 0.46 : 1.0 / 6.0,
               norm = std::max(norm_of_x, norm_limit * (norm_of_x + size)), inherited = largest_error(x, b);
  const double error_of_g = std::sqrt(norms_of(b, [&](std::size_t k) { return g[k].error; }).squares);
  const double error_of_exponential =
      std::min(inherited, 2.0 / tracked::u()) + tracked::growth(allowance_of_exponential(norm, b));
  const double error = propagate(size, 2.0 * error_of_exponential) + error_of_g + (size != 0.0 ? tracked::tau() : 0.0);
  square_matrix<tracked> out;
  for (const double y : r) out.emplace_back(y, error);
  return out;
}

}  // namespace assay::reference
