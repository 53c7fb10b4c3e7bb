// Slopes come from 120 bits. A bias is one product of a slope and an exact integer; biases are written once and never
// read, so memory is the limit, and rows share the work.
#include <cmath>
#include <limits>
#include <vector>

#include "optimized/angles.hpp"
#include "optimized/encodings/alibi.hpp"
#include "optimized/numbers.hpp"
#include "reference/core/result.hpp"

namespace assay::optimized::alibi {
namespace {

/// The slope is 2^(-p / q).
struct exponent {
  long p, q;
};

// alpha_max is a multiple of 1 / parts.
constexpr long parts = 16;

exponent official_exponent(long head, long heads) {
  long power = 1;
  while (2 * power <= heads) power *= 2;
  return head <= power ? exponent{8 * head, power} : exponent{4 * (2 * (head - power) - 1), power};
}

// The slopes of the next power of two, those of even number first.
exponent mpt_exponent(long head, long heads, long alpha) {
  long power = 1;
  while (power < heads) power *= 2;
  if (power == heads) return {alpha * head, parts * power};
  return {alpha * (head <= power / 2 ? 2 * head : 2 * (head - power / 2) - 1), parts * power};
}

// Of one query and every key.
void coefficients(const bias_rule& rule, double query, const std::vector<double>& keys, std::vector<double>& out) {
  const bool of_key = rule.form == bias_form::key || rule.form == bias_form::key_from_last;
  const double origin = !of_key ? query : rule.form == bias_form::key ? 0.0 : rule.last;
  for (std::size_t j = 0; j < out.size(); ++j) out[j] = keys[j] - origin;
  if (rule.form == bias_form::absolute)
    for (double& c : out) c = -std::fabs(c);
}
bool hides(const bias_rule& rule, double query, double key) { return rule.causal && key > query; }

}  // namespace

template <class Real>
void slopes(slope_rule rule, double alpha_max, const view<Real, 1>& slopes) {
  ASSAY_EXPECTS(has_shape(slopes, slopes.shape));
  const long alpha = std::lround(alpha_max * parts), heads = static_cast<long>(slopes.shape[0]);
  for (long head = 1; head <= heads; ++head) {
    const exponent e = rule == slope_rule::official ? official_exponent(head, heads)
                       : rule == slope_rule::mpt    ? mpt_exponent(head, heads, alpha)
                                                    : exponent{alpha * head, parts * heads};
    *slopes.at(head - 1) = static_cast<Real>(geometric_frequency(2.0, e.p, e.q).high);
  }
}

template <class Real>
void bias(const execution& on, const bias_rule& rule, const view<const Real, 1>& slopes,
          const view<const double, 1>& query, const view<const double, 1>& key, const view<Real, 3>& bias) {
  const std::size_t heads = slopes.shape[0], n = query.shape[0], m = key.shape[0];
  ASSAY_EXPECTS(has_shape(slopes, {heads}) && has_shape(query, {n}) && has_shape(key, {m}));
  ASSAY_EXPECTS(has_shape(bias, {heads, n, m}));
  const std::vector<double> keys = numbers_of(key);
  for_each_task(on.threads, n, [&](std::size_t i) {
    const double position = *query.at(i);
    std::vector<double> c(m);
    coefficients(rule, position, keys, c);
    for (std::size_t k = 0; k < heads; ++k) {
      const auto slope = static_cast<double>(*slopes.at(k));
      const view<Real, 1> row = part(bias, k, i);
      with_step(row, [&](auto step) {
        for (std::size_t j = 0; j < m; ++j)
          row.data[static_cast<std::ptrdiff_t>(j) * step] =
              hides(rule, position, keys[j]) ? -std::numeric_limits<Real>::infinity() : static_cast<Real>(slope * c[j]);
      });
    }
  });
}

// The sum of one head by rows: the same bits for any number of threads.
template <class Real>
void bias_vjp(const execution& on, const bias_rule& rule, const view<const double, 1>& query,
              const view<const double, 1>& key, const view<const Real, 3>& grad_bias,
              const view<Real, 1>& grad_slopes) {
  const std::size_t heads = grad_slopes.shape[0], n = query.shape[0], m = key.shape[0];
  ASSAY_EXPECTS(has_shape(grad_slopes, {heads}) && has_shape(query, {n}) && has_shape(key, {m}));
  ASSAY_EXPECTS(has_shape(grad_bias, {heads, n, m}));
  const std::vector<double> keys = numbers_of(key);
  for_each_task(on.threads, heads, [&](std::size_t k) {
    std::vector<double> c(m);
    double total = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double position = *query.at(i);
      coefficients(rule, position, keys, c);
      double sum = 0;
      for (std::size_t j = 0; j < m; ++j)
        sum += hides(rule, position, keys[j]) ? 0.0 : static_cast<double>(*grad_bias.at(k, i, j)) * c[j];
      total += sum;
    }
    *grad_slopes.at(k) = static_cast<Real>(total);
  });
}

#define ASSAY_INSTANTIATE(Real)                                                                                    \
  template void slopes(slope_rule, double, const view<Real, 1>&);                                                  \
  template void bias(const execution&, const bias_rule&, const view<const Real, 1>&, const view<const double, 1>&, \
                     const view<const double, 1>&, const view<Real, 3>&);                                          \
  template void bias_vjp(const execution&, const bias_rule&, const view<const double, 1>&,                         \
                         const view<const double, 1>&, const view<const Real, 3>&, const view<Real, 1>&);
ASSAY_INSTANTIATE(float)
ASSAY_INSTANTIATE(double)
#undef ASSAY_INSTANTIATE

}  // namespace assay::optimized::alibi
