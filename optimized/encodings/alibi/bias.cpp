// Slopes are computed from 120 bits. A bias is one product of a slope and an exact integer. Biases are written once and
// never read, so memory limits the speed.
#include <cmath>
#include <limits>
#include <vector>

#include "optimized/angles.hpp"
#include "optimized/encodings/alibi.hpp"
#include "optimized/pair_bias.hpp"

namespace assay::optimized::alibi {
namespace {

/// The slope is 2^(-p / q).
struct exponent {
  long p, q;
};

// alpha_max is a multiple of 1 / parts.
constexpr long parts = 16;

// The exponent by the rules `official` and `mpt`. If the number of heads is a power of two, the exponents are alpha k /
// heads, k = 1..heads, in order. Otherwise they are those of the next power of two: first those with an even k, then
// those with an odd k.
exponent exponent_by_powers(long head, long heads, long alpha) {
  long power = 1;
  while (power < heads) power *= 2;
  const long place = power == heads ? head : head <= power / 2 ? 2 * head : 2 * (head - power / 2) - 1;
  return {alpha * place, parts * power};
}

constexpr double hidden = -std::numeric_limits<double>::infinity();

// For one query, the numbers that multiply the slopes, or `hidden`.
auto coefficients_by(const bias_rule& rule) {
  return [rule](double query, const std::vector<double>& keys, std::vector<double>& out) {
    const bool by_key = rule.form == bias_form::key || rule.form == bias_form::key_from_last;
    const double origin = !by_key ? query : rule.form == bias_form::key ? 0.0 : rule.last;
    for (std::size_t j = 0; j < out.size(); ++j) {
      const double c = keys[j] - origin;
      out[j] = rule.causal && keys[j] > query ? hidden : rule.form == bias_form::absolute ? -std::fabs(c) : c;
    }
  };
}

}  // namespace

template <class Real>
void slopes(slope_rule rule, double alpha_max, const model_heads& model, const view<Real, 1>& slopes) {
  ASSAY_EXPECTS(has_shape(slopes, slopes.shape));
  const long alpha = std::lround(alpha_max * parts), here = static_cast<long>(slopes.shape[0]),
             first = static_cast<long>(model.first),
             heads = model.all == 0 ? first + here : static_cast<long>(model.all);
  ASSAY_EXPECTS(first + here <= heads);
  for (long k = 0; k < here; ++k) {
    const long head = first + k + 1;
    const exponent e =
        rule == slope_rule::naive ? exponent{alpha * head, parts * heads} : exponent_by_powers(head, heads, alpha);
    *slopes.at(k) = static_cast<Real>(geometric_frequency(2.0, e.p, e.q).high);
  }
}

template <class Real>
void bias(const execution& on, const bias_rule& rule, const view<const Real, 1>& slopes,
          const view<const double, 1>& query, const view<const double, 1>& key, const view<Real, 3>& bias) {
  ASSAY_EXPECTS(has_shape(slopes, {bias.shape[0]}));
  write_biases<double>(on, query, key, bias, coefficients_by(rule), [&](std::size_t head) {
    return [slope = static_cast<double>(*slopes.at(head))](double c) {
      return static_cast<Real>(c == hidden ? hidden : slope * c);
    };
  });
}

template <class Real>
void bias_vjp(const execution& on, const bias_rule& rule, const view<const double, 1>& query,
              const view<const double, 1>& key, const view<const Real, 3>& grad_bias,
              const view<Real, 1>& grad_slopes) {
  ASSAY_EXPECTS(has_shape(grad_slopes, {grad_bias.shape[0]}));
  const auto add = [](double* total, const std::vector<double>& c, const view<const Real, 1>& cotangents) {
    double sum = 0;
    for (std::size_t j = 0; j < c.size(); ++j)
      sum += c[j] == hidden ? 0.0 : static_cast<double>(*cotangents.at(j)) * c[j];
    *total += sum;
  };
  store(sums_of_pairs<double>(on, query, key, grad_bias, 1, coefficients_by(rule), add), grad_slopes);
}

#define ASSAY_INSTANTIATE(Real)                                                                                    \
  template void slopes(slope_rule, double, const model_heads&, const view<Real, 1>&);                              \
  template void bias(const execution&, const bias_rule&, const view<const Real, 1>&, const view<const double, 1>&, \
                     const view<const double, 1>&, const view<Real, 3>&);                                          \
  template void bias_vjp(const execution&, const bias_rule&, const view<const double, 1>&,                         \
                         const view<const double, 1>&, const view<const Real, 3>&, const view<Real, 1>&);
ASSAY_INSTANTIATE(float)
ASSAY_INSTANTIATE(double)
#undef ASSAY_INSTANTIATE

}  // namespace assay::optimized::alibi
