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
  if (x.is_unknown() || y.is_unknown()) return enclosure::unknown();
  enclosure r;
  if (!directed::log_sum_exp_of_narrow(r.result(), x.ends(), y.ends())) {
    directed::log_sum_exp(r.left(), x.low(), y.low(), MPFR_RNDD);
    directed::log_sum_exp(r.right(), x.high(), y.high(), MPFR_RNDU);
  }
  // e^x + e^y = e^r has no solution in dyadic numbers (Lindemann-Weierstrass), so an end, being dyadic, is not the
  // value at its corner: it is open. Where one term may be -inf, the end is the end of the other term, and it is open
  // if that one is.
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
  if (arithmetic().precision <= 11 || stages_differ()) {
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

// Balls.

template <class Number>
ball<Number> log_sum_exp(const ball<Number>& x, const ball<Number>& y) {
  using result = ball<Number>;
  if (x.is_nan() || y.is_nan()) return result::nan();
  if (x.is_unknown() || y.is_unknown()) return result::unknown();
  if (is_minus_infinity(x)) return y;
  if (is_minus_infinity(y)) return x;
  if (x.is_infinite() || y.is_infinite()) return result(std::numeric_limits<double>::infinity());
  const bool x_is_larger = leading(x.centre) > leading(y.centre) ||
                           (leading(x.centre) == leading(y.centre) && trailing(x.centre) >= trailing(y.centre));
  const result &a = x_is_larger ? x : y, &b = x_is_larger ? y : x;
  const auto z = sum(b.centre, negated(a.centre));
  const double radii = a.radius + b.radius;
  // Both terms count, so the truth is above the larger one.
  const side truth = a.is_exact() || a.side_of_centre == side::above ? side::above : side::both;
  if (!(leading(z.value) > -640.0)) {
    // The smaller term adds less than e^-639.
    return radii < 0.5 ? result(a.centre, rounded_up(a.radius + 0x1p-920), truth) : result::unknown();
  }
  const auto e = proved::exponential(z.value);
  const auto above = proved::logarithm_of_one_plus(e.value);
  const auto s = sum(a.centre, above.value);
  if (truth == side::above && is_same(s.value, a.centre) && radii < 0.5)
    return {
        a.centre,
        rounded_up(a.radius + (leading(above.value) * (1.0 + 0x1p-40) + above.error + e.error) * (1.0 + 2.0 * radii)),
        side::above};
  // log(1 + e) changes by less than e's error, and by less than e times the error of z.
  const double small = leading(e.value) * (1.0 + 0x1p-40), own = s.error + above.error + e.error + z.error * small;
  const double grown = radii / 4.0, large = (1.0 + 0x1p-40) / (1.0 + leading(e.value));
  const double inherited =
      std::min((large + grown) * a.radius + (small * large + grown) * b.radius, std::max(a.radius, b.radius));
  return {s.value, rounded_up(own + inherited)};
}

template double_ball log_sum_exp(const double_ball&, const double_ball&);
template two_double_ball log_sum_exp(const two_double_ball&, const two_double_ball&);

}  // namespace assay::reference
