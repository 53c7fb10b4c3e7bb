#include "reference/primitives/logistic.hpp"

#include "reference/readings/all.hpp"

namespace assay::reference {

value softplus(const value& x) { return log_sum_exp(value(0.0), x); }
value log_sigmoid(const value& g) { return -softplus(-g); }
value sigmoid(const value& z) { return exp(log_sigmoid(z)); }
weight_pair<value> carry_weights(const value& z) { return {sigmoid(z), sigmoid(-z)}; }

namespace {

// No end is attained: the sigmoid of a dyadic number other than 0 is transcendental.
enclosure sigmoid_of_ends(const enclosure& z) {
  if (z.is_unknown()) return z;
  enclosure r;
  directed::sigmoid(r.left(), z.low(), MPFR_RNDD);
  directed::sigmoid(r.right(), z.high(), MPFR_RNDU);
  const auto transcendental = [](mpfr_srcptr end) { return mpfr_number_p(end) != 0 && mpfr_zero_p(end) == 0; };
  return r.with_open_ends(z.low_open() || transcendental(z.low()), z.high_open() || transcendental(z.high()));
}

// z is dyadic and not 0, so its exponential is transcendental: no end is attained.
bool weights_of_narrow(enclosure& larger, enclosure& smaller, const enclosure& z) {
  if (!directed::weights_of_narrow(larger.result(), smaller.result(), z.ends())) return false;
  larger.with_open_ends(true, true);
  smaller.with_open_ends(true, true);
  return true;
}

}  // namespace

enclosure sigmoid(const enclosure& z) { return carry_weights(z).w; }
enclosure softplus(const enclosure& x) { return log_sum_exp(enclosure(0.0), x); }
enclosure log_sigmoid(const enclosure& g) { return -softplus(-g); }
weight_pair<enclosure> carry_weights(const enclosure& z) {
  weight_pair<enclosure> r;
  if (mpfr_sgn(z.low()) > 0 && weights_of_narrow(r.w, r.v, z)) return r;
  if (mpfr_sgn(z.high()) < 0 && weights_of_narrow(r.v, r.w, -z)) return r;
  return {sigmoid_of_ends(z), sigmoid_of_ends(-z)};
}

tracked log_sigmoid(const tracked& g) {
  const log_sum_exp_parts p(0.0, -g.number);
  return {-p.s, propagate(p.v, g.error) + accuracy::log_sigmoid * finite_magnitude(p.s) + tracked::tau()};
}
tracked softplus(const tracked& x) { return -log_sigmoid(-x); }
tracked sigmoid(const tracked& z) {
  const log_sum_exp_parts p(z.number, 0.0);
  return {p.w, tracked::change(p.w * p.v, -std::fabs(z.number), z.error) + accuracy::sigmoid * p.w + tracked::tau()};
}
weight_pair<tracked> carry_weights(const tracked& z) {
  const log_sum_exp_parts p(z.number, 0.0);
  const double both = tracked::change(p.w * p.v, -std::fabs(z.number), z.error);
  return {{p.w, both + accuracy::sigmoid * p.w + tracked::tau()},
          {p.v, both + accuracy::sigmoid * p.v + 3.0 * p.w + tracked::tau()}};
}

rounded softplus(const rounded& x) { return log_sum_exp(rounded(0.0), x); }
rounded log_sigmoid(const rounded& g) { return -softplus(-g); }
rounded sigmoid(const rounded& z) {
  const rounded e = exp(rounded(-std::fabs(z.number)));
  const rounded larger_weight(1.0 / (rounded(1.0) + e).number);
  return z.number >= 0.0 || std::isnan(z.number) ? larger_weight : e * larger_weight;
}
weight_pair<rounded> carry_weights(const rounded& z) { return {sigmoid(z), sigmoid(-z)}; }

// Balls.

template <class Number>
weight_pair<ball<Number>> carry_weights(const ball<Number>& z) {
  using result = ball<Number>;
  if (z.is_nan() || z.is_unknown()) return {z, z};
  const double c = leading(z.centre);
  if (z.is_infinite())
    return c > 0.0 ? weight_pair<result>{result(1.0), result(0.0)} : weight_pair<result>{result(0.0), result(1.0)};
  if (z.radius > 1.0) return {result(Number(0.5), 0.5), result(Number(0.5), 0.5)};
  const result e = exp(result(c > 0.0 ? negated(z.centre) : z.centre, 0.0)), sum = result(1.0) + e;
  result large = result(1.0) / sum, small = e / sum;
  const double moved = product_of_bounds(small.largest() * large.largest(), z.radius * (1.0 + 2.0 * z.radius));
  large.radius = rounded_up(large.radius + moved);
  small.radius = rounded_up(small.radius + moved);
  return c > 0.0 ? weight_pair<result>{large, small} : weight_pair<result>{small, large};
}
template <class Number>
ball<Number> sigmoid(const ball<Number>& z) {
  return carry_weights(z).w;
}
template <class Number>
ball<Number> softplus(const ball<Number>& x) {
  return log_sum_exp(ball<Number>(0.0), x);
}
template <class Number>
ball<Number> log_sigmoid(const ball<Number>& g) {
  return -softplus(-g);
}

template weight_pair<double_ball> carry_weights(const double_ball&);
template weight_pair<two_double_ball> carry_weights(const two_double_ball&);
template double_ball sigmoid(const double_ball&);
template two_double_ball sigmoid(const two_double_ball&);
template double_ball softplus(const double_ball&);
template two_double_ball softplus(const two_double_ball&);
template double_ball log_sigmoid(const double_ball&);
template two_double_ball log_sigmoid(const two_double_ball&);

}  // namespace assay::reference
