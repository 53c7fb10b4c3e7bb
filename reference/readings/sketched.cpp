#include "reference/readings/sketched.hpp"

#include "reference/core/counter_random.hpp"

namespace assay::reference {
namespace {

thread_local core::counter_random random_numbers(0);

// tan(pi v), |v| < 1/2, within 0.35 %: the poles are right, and so is the slope at 0.
double cauchy(std::uint32_t bits) {
  const double v = (static_cast<double>(bits) + 0.5) * 0x1p-32 - 0.5, square = v * v;
  return v * (0.7853981633974483 - 0.5951122 * square) / (0.25 - square);
}

sketched increasing_function(const tracked& r, const sketched& x, double slope) {
  return sketched::made(r, sketched::along{x, slope});
}

}  // namespace

void sketched::seed(std::uint64_t seed) { random_numbers = core::counter_random(seed); }

void sketched::add_noise(double width) {
  if (width == 0.0) return;
  is_exact = false;
  const double u = tracked::u();
  for (std::size_t k = 0; k < experiments; k += 2) {
    const std::uint64_t bits = random_numbers.bits();
    change[k] += (width + u * std::fabs(change[k])) * cauchy(static_cast<std::uint32_t>(bits));
    change[k + 1] += (width + u * std::fabs(change[k + 1])) * cauchy(static_cast<std::uint32_t>(bits >> 32));
  }
}

boost::tribool less(const sketched& x, const sketched& y) {
  double margin = 0.0;
  for (std::size_t k = 0; k < sketched::experiments; ++k)
    margin = std::max(margin, std::fabs(x.change[k] - y.change[k]));
  if (margin != 0.0 && !(std::fabs(x.number - y.number) > margin)) return boost::indeterminate;
  return x.number < y.number;
}
sketched either(boost::tribool condition, const sketched& x, const sketched& y) {
  if (!boost::indeterminate(condition)) return condition ? x : y;
  sketched r = covering(std::isfinite(x.number) ? x : y, [&] { return std::isfinite(x.number) ? y : x; });
  const double apart = std::fabs(x.number - y.number);
  r.add_noise(std::isfinite(apart) ? apart : std::numeric_limits<double>::infinity());
  return r;
}
sketched larger(const sketched& x, const sketched& y) {
  if (std::isnan(x.number) || std::isnan(y.number)) return sketched(x.number + y.number);
  const boost::tribool below = less(x, y);
  if (!boost::indeterminate(below)) return below ? y : x;
  return x.number < y.number ? covering(y, [&] { return x; }) : covering(x, [&] { return y; });
}
sketched floor(const sketched& x) {
  sketched r(std::floor(x.number));
  const double reach = x.reach();
  r.add_noise(std::max(std::floor(x.number + reach) - r.number, r.number - std::floor(x.number - reach)));
  return r;
}

sketched exp(const sketched& x) {
  const tracked r = exp(x.alone());
  return increasing_function(r, x, r.number);
}
sketched log(const sketched& x) { return increasing_function(log(x.alone()), x, 1.0 / x.number); }
sketched log1p(const sketched& x) { return increasing_function(log1p(x.alone()), x, 1.0 / (1.0 + x.number)); }
sketched sin(const sketched& x) { return sketched::made(sin(x.alone()), sketched::along{x, std::cos(x.number)}); }
sketched cos(const sketched& x) { return sketched::made(cos(x.alone()), sketched::along{x, -std::sin(x.number)}); }
sketched tanh(const sketched& x) {
  const tracked r = tanh(x.alone());
  return increasing_function(r, x, 1.0 - r.number * r.number);
}
sketched erf(const sketched& x) {
  return increasing_function(erf(x.alone()), x, M_2_SQRTPI * std::exp(-x.number * x.number));
}
sketched entire_cosine_integral(const sketched& x) {
  const double sine = std::sin(x.number / 2.0), slope = x.number == 0.0 ? 0.0 : 2.0 * sine * (sine / x.number);
  return sketched::made(entire_cosine_integral(x.alone()), sketched::along{x, slope});
}
sketched sigmoid(const sketched& x) {
  const tracked r = sigmoid(x.alone());
  return increasing_function(r, x, r.number * (1.0 - r.number));
}
sketched softplus(const sketched& x) {
  return increasing_function(softplus(x.alone()), x, sigmoid(tracked(x.number)).number);
}
sketched log_sigmoid(const sketched& x) {
  return increasing_function(log_sigmoid(x.alone()), x, sigmoid(tracked(-x.number)).number);
}
sketched log_sum_exp(const sketched& x, const sketched& y) {
  const log_sum_exp_parts parts(x.number, y.number);
  return sketched::made(log_sum_exp(x.alone(), y.alone()), sketched::along{x, parts.w}, sketched::along{y, parts.v});
}
sketched power(const sketched& x, rational e) {
  const tracked r = power(x.alone(), e);
  const double slope = e.q == 1 && e.p == 1 ? 1.0 : e.to_double() * std::pow(x.number, e.to_double() - 1.0);
  return sketched::made(r, sketched::along{x, slope});
}
sketched pow(const sketched& x, const sketched& e) {
  const tracked r = pow(x.alone(), e.alone());
  return sketched::made(r, sketched::along{x, e.number * std::pow(x.number, e.number - 1.0)},
                        sketched::along{e, r.number == 0.0 ? 0.0 : r.number * std::log(x.number)});
}

}  // namespace assay::reference
