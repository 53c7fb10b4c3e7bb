#include <limits>

#include "reference/formula/pullbacks.hpp"

namespace assay::reference::formula {
namespace {

node_id with_factor(const pullback& b, node_id slope) {
  return b.linear([&](node_id g) { return b.to.product(g, slope); });
}
node_id over(const pullback& b, node_id x) {
  return b.linear([&](node_id g) { return b.to.operation(op::divide, {g, x}); });
}
node_id negated(const pullback& b) {
  return b.linear([&](node_id g) { return b.to.negative(g); });
}
node_id function(const pullback& b, op what, node_id x) { return b.to.operation(what, {x}); }

// s(x) s(-x). It keeps the digits that s (1 - s) loses; frameworks compute s (1 - s).
node_id product_of_sigmoids(const pullback& b, node_id x) {
  return b.to.product(function(b, op::sigmoid, x), function(b, op::sigmoid, b.to.negative(x)));
}
node_id slope_of_sigmoid(const pullback& b, node_id x) {
  const node_id exact = product_of_sigmoids(b, x);
  if (b.form.keeps_digits_of_sigmoids) return exact;
  const node_id usual = b.to.product(b.y, b.to.operation(op::subtract, {b.to.number(1.0), b.y}));
  return b.to.operation(op::another_way, {exact, usual});
}

// 1 - tanh^2, and the same without its cancellation.
node_id slope_of_tanh(const pullback& b, node_id x) {
  const node_id usual = b.to.operation(op::subtract, {b.to.number(1.0), b.to.product(b.y, b.y)});
  const node_id exact = b.to.product(b.to.number(4.0), product_of_sigmoids(b, b.to.product(b.to.number(2.0), x)));
  return b.to.operation(op::another_way, {exact, usual});
}

// 2 / sqrt(pi) exp(-x^2)
node_id slope_of_erf(const pullback& b, node_id x) {
  program_writer& to = b.to;
  const node_id root = to.append({.what = op::power, .in = {to.operation(op::pi, {})}, .integers = {{{1}, {2}}}});
  return to.operation(op::divide,
                      {to.product(to.number(2.0), function(b, op::exp, to.negative(to.product(x, x)))), root});
}

// (1 - cos x) / x as 2 sin(x / 2) (sin(x / 2) / x), which does not cancel; 0 at 0.
node_id slope_of_cosine_integral(const pullback& b, node_id x) {
  program_writer& to = b.to;
  const node_id sine = function(b, op::sin, to.product(to.fraction(1, 2), x));
  const node_id slope = to.product(to.product(to.number(2.0), sine), to.operation(op::divide, {sine, x}));
  return to.where(to.operation(op::equal, {x, to.number(0.0)}), to.number(0.0), slope);
}

// The slope of the magnitude where there is none: 0 at 0, NaN at NaN.
node_id cotangent_of_magnitude(const pullback& b, node_id x) {
  program_writer& to = b.to;
  const node_id zero = to.number(0.0), nan = to.number(std::numeric_limits<double>::quiet_NaN());
  const node_id neither = to.where(function(b, op::is_nan, x), nan, zero);
  const node_id below = to.where(to.operation(op::less, {x, zero}), negated(b), neither);
  return to.where(to.operation(op::less, {zero, x}), b.g, below);
}

node_id back_through_power(const pullback& b, node_id x) {
  const std::int64_t p = b.n.integer(0), q = b.n.integer(1);
  if (p == q) return b.g;
  const node_id rest =
      p - q == q ? x : b.to.append({.what = op::power, .in = {x}, .integers = {std::vector{p - q}, std::vector{q}}});
  return with_factor(b, b.to.product(b.to.fraction(p, q), rest));
}

std::optional<node_id> cotangent_of_one(const pullback& b) {
  program_writer& to = b.to;
  const node_id x = b.in(0);
  switch (b.n.what) {
    case op::negative:
      return negated(b);
    case op::magnitude:
      return cotangent_of_magnitude(b, x);
    case op::exp:
      return with_factor(b, b.y);
    case op::log:
      return over(b, x);
    case op::log1p:
      return over(b, to.operation(op::add, {to.number(1.0), x}));
    case op::sin:
      return with_factor(b, function(b, op::cos, x));
    case op::cos:
      return with_factor(b, to.negative(function(b, op::sin, x)));
    case op::sine_of_angle:
      return with_factor(b, function(b, op::cosine_of_angle, x));
    case op::cosine_of_angle:
      return with_factor(b, to.negative(function(b, op::sine_of_angle, x)));
    case op::tanh:
      return with_factor(b, slope_of_tanh(b, x));
    case op::erf:
      return with_factor(b, slope_of_erf(b, x));
    case op::entire_cosine_integral:
      return with_factor(b, slope_of_cosine_integral(b, x));
    case op::sigmoid:
      return with_factor(b, slope_of_sigmoid(b, x));
    case op::softplus:
      return with_factor(b, function(b, op::sigmoid, x));
    case op::log_sigmoid:
      return with_factor(b, function(b, op::sigmoid, to.negative(x)));
    case op::taken_by:
    case op::rounded_once:
    case op::held_in:
    case op::without_error:
      return b.g;
    case op::reciprocal_root:
      return with_factor(b, b.to.product(b.to.fraction(-1, 2), b.to.operation(op::divide, {b.y, x})));
    case op::power:
      return b.n.integer(0) == 0 ? std::nullopt : std::optional(back_through_power(b, x));
    default:
      ASSAY_EXPECTS(b.n.what == op::floor || b.n.what == op::detach || b.n.what == op::to_real);
      return std::nullopt;
  }
}

cotangents cotangents_of_products(const pullback& b) {
  cotangents all;
  for (std::size_t k = 0; k < b.n.in.size(); ++k) all.push_back(with_factor(b, b.in(k ^ 1U)));
  return all;
}

// The larger (or smaller) one gets all of g. Where both are equal, each gets half of it, and all and none are right as
// well.
cotangents cotangents_of_chosen(const pullback& b) {
  program_writer& to = b.to;
  const node_id half = to.operation(op::right_as_well, {with_factor(b, to.fraction(1, 2)), b.g}), x = b.in(0),
                y = b.in(1);
  if (x == y) return {half, half};
  const node_id same = to.operation(op::equal, {x, y}), zero = to.number(0.0);
  const bool keeps_larger = b.n.what == op::maximum;
  const auto share = [&](node_id own, node_id other) {
    const node_id loses = keeps_larger ? to.operation(op::less, {own, other}) : to.operation(op::less, {other, own});
    return to.where(same, half, to.where(loses, zero, b.g));
  };
  return {share(x, y), share(y, x)};
}

cotangents cotangents_of_pow(const pullback& b) {
  program_writer& to = b.to;
  const node_id x = b.in(0), y = b.in(1), zero = to.number(0.0);
  const node_id below = to.operation(op::pow, {x, to.operation(op::subtract, {y, to.number(1.0)})});
  const node_id in_x = with_factor(b, to.product(y, below));
  const node_id in_y = with_factor(b, to.product(b.y, function(b, op::log, x)));
  const node_id vanishes =
      to.operation(op::both, {to.operation(op::equal, {x, zero}), to.operation(op::less_equal, {zero, y})});
  return {to.where(to.operation(op::equal, {y, zero}), zero, in_x), to.where(vanishes, zero, in_y)};
}

// The weights are sigmoids; those of -inf and -inf are 0, as in a row of log_sum_exp.
cotangents cotangents_of_log_add_exp(const pullback& b) {
  program_writer& to = b.to;
  const node_id zero = to.number(0.0);
  const node_id is_none = to.operation(op::equal, {b.y, to.number(-std::numeric_limits<double>::infinity())});
  const auto weighted = [&](node_id own, node_id other) {
    const node_id weight = function(b, op::sigmoid, to.operation(op::subtract, {own, other}));
    return to.where(is_none, zero, with_factor(b, weight));
  };
  return {weighted(b.in(0), b.in(1)), weighted(b.in(1), b.in(0))};
}

cotangents cotangents_of_modulus(const pullback& b) {
  const auto slope = [&](node_id own, node_id other) { return b.to.operation(op::modulus_slope, {own, other, b.y}); };
  return {with_factor(b, slope(b.in(0), b.in(1))), with_factor(b, slope(b.in(1), b.in(0)))};
}

cotangents cotangents_of_two(const pullback& b) {
  program_writer& to = b.to;
  const node_id x = b.in(0), y = b.in(1);
  switch (b.n.what) {
    case op::add:
      return {b.g, b.g};
    case op::subtract:
      return {b.g, negated(b)};
    case op::multiply:
      return {with_factor(b, y), with_factor(b, x)};
    case op::divide:
      return {over(b, y), with_factor(b, to.negative(to.operation(op::divide, {b.y, y})))};
    case op::pow:
      return cotangents_of_pow(b);
    case op::log_add_exp:
      return cotangents_of_log_add_exp(b);
    case op::right_as_well:
      return {to.operation(op::right_as_well, {b.g, to.number(0.0)}),
              to.operation(op::right_as_well, {to.number(0.0), b.g})};
    case op::another_way:
    case op::off_by:
      return {b.g, std::nullopt};
    case op::with_gradient_of:
      return {std::nullopt, b.g};
    case op::modulus:
      return cotangents_of_modulus(b);
    default:
      ASSAY_EXPECTS(b.n.what == op::maximum || b.n.what == op::minimum);
      return cotangents_of_chosen(b);
  }
}

}  // namespace

cotangents cotangents_of_function(const pullback& b) {
  cotangents all;
  if (b.n.what == op::where) {
    all = {std::nullopt, b.hidden(b.to.operation(op::negation, {b.in(0)})), b.hidden(b.in(0))};
  } else {
    all = b.n.what == op::sum_of_products ? cotangents_of_products(b)
          : b.n.in.size() == 1            ? cotangents{cotangent_of_one(b)}
                                          : cotangents_of_two(b);
  }
  for (std::size_t k = 0; k < all.size(); ++k)
    if (all[k]) all[k] = b.to.sum_to(*all[k], b.shape_of(b.in(k)));
  return all;
}

}  // namespace assay::reference::formula
