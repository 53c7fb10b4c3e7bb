#include "reference/primitives/log_sum_exp.hpp"

#include "reference/readings/all.hpp"

namespace assay::reference {

value log_sum_exp(const value& x, const value& y) {
  if (is_nan(x) || is_nan(y)) return x + y;
  const value m = larger(x, y);
  if (is_minus_infinity(x) || is_minus_infinity(y) || is_infinite(m)) return m;
  return m + log1p(exp(value(value::real(-boost::multiprecision::abs((x - y).number)))));
}

enclosure log_sum_exp(const enclosure& x, const enclosure& y) {
  if (x.is_nan() || y.is_nan()) return x + y;
  if (is_minus_infinity(x)) return y;
  if (is_minus_infinity(y)) return x;
  enclosure r;
  if (!directed::log_sum_exp_of_narrow(r.result(), x.ends(), y.ends())) {
    directed::log_sum_exp(r.left(), x.low(), y.low(), MPFR_RNDD);
    directed::log_sum_exp(r.right(), x.high(), y.high(), MPFR_RNDU);
  }
  // e^x + e^y = e^r has no solution in dyadic numbers (Lindemann-Weierstrass), so an end, being dyadic, is
  // not the value at its corner: it is open. A term that may be -inf leaves the other's end, open if that is.
  const auto open = [](mpfr_srcptr x_end, bool x_open, mpfr_srcptr y_end, bool y_open) {
    const bool x_infinite = mpfr_inf_p(x_end) != 0, y_infinite = mpfr_inf_p(y_end) != 0;
    return x_infinite ? !y_infinite && y_open : y_infinite ? x_open : true;
  };
  return r.with_open_ends(open(x.low(), x.low_open(), y.low(), y.low_open()),
                          open(x.high(), x.high_open(), y.high(), y.high_open()));
}

tracked log_sum_exp(const tracked& t, const tracked& h) {
  if (std::isnan(t.number) || std::isnan(h.number)) return tracked(t.number + h.number);
  if (is_minus_infinity(t)) return h;
  if (is_minus_infinity(h)) return t;
  if (std::isinf(t.number) || std::isinf(h.number)) return tracked(std::max(t.number, h.number));
  const log_sum_exp_parts p(t.number, h.number);
  double slope_t = p.w, slope_h = p.v;
  if (arithmetic().precision <= 11) {
    // Second order: at 8 or 11 bits the error moves the weights themselves; their slope is at most 1/4.
    const double shift = tracked::u() * (t.error + h.error) / 4.0;
    slope_t = std::min(p.w + shift, 1.0);
    slope_h = std::min(p.v + shift, 1.0);
  }
  const double small = std::min(p.w, p.v);
  return {p.s, propagate(slope_t, t.error) + propagate(slope_h, h.error) + std::fabs(p.s) +
                   (std::fabs(p.z) + accuracy::exp) * small + accuracy::log * p.softplus + tracked::tau()};
}

rounded log_sum_exp(const rounded& x, const rounded& y) {
  if (std::isnan(x.number) || std::isnan(y.number)) return x + y;
  const rounded m = larger(x, y);
  if (is_minus_infinity(x) || is_minus_infinity(y) || std::isinf(m.number)) return m;
  return m + log1p(exp(rounded(-std::fabs((x - y).number))));
}

tangent log_sum_exp(const tangent& t, const tangent& h) {
  if (is_minus_infinity(t)) return h;
  if (is_minus_infinity(h)) return t;
  const weight_pair<value> weight = carry_weights(t.number - h.number);
  return tangent(log_sum_exp(t.number, h.number), weight.w * t.derivative + weight.v * h.derivative);
}

}  // namespace assay::reference
