// The weights of a step (w of the past, v = 1 - w of the input) and their products with a number, with bounds. e stands
// for 2^-53.
//
// The smaller weight s = u / (1 + u) has a small relative error; the larger weight is 1 - s. So a number l is divided
// into p = s l and l - p: the error of l - p is only a part of p.
//
// s = sigmoid(-|d|), and the logarithm of s has a slope of at most 1. So if d has an error D, s changes by a factor of
// at most e^D, which is s (D + D^2) at most for D <= 1; and s never changes by more than 1. Beyond the least exponent s
// counts as 0, with an error of twice the power there if D <= 1/2. For |d| above 800 s is below e^-799, and p vanishes
// beside 2^-1075 if |l| is below 2^64.
//
// Let E be the bound of l and F that of s: |p - s l| <= (s + F) E + F |l|, and the truth of l - p is off by (1 - s + F)
// E + F |l|. The rounding of p is added to both. Products below 2^-900 count as 0, with an error of 2^-899: none
// underflows.
//
// The factor 1 + 2^-47 covers the roundings of the bounds (scan.ipp). Each amount that underflows in them is below
// 2^-1074. It is covered by the share of that factor in 2^-52 |p| where p is at least 2^-900, by its share in 2^-899
// where p is less, and by 2^-1020 where s or p is 0 but l and F are not. Subnormal numbers are slow: a bound E that is
// not 0 counts as 2^-960 at least, and the F of a weight that vanishes as 2^-1000. F = s (D + 6e) may be subnormal and
// off by 2^-1075: only 5 of the 6e are needed, and the sixth makes up for this, since s >= 2^-996 where it counts, so
// that e s >= 2^-1049. Where h or t is -inf, s and F are 0 and nothing is rounded.

constexpr double vanishing_exponent = 800.0, error_of_vanishing = 0x1p-1000;

// The smaller weight s and its bound F.
struct smaller_weight {
  two_doubles s;
  pack error;
};

template <class Arithmetic>
ASSAY_INLINE smaller_weight weight_of(const weights_of_step& x) {
  const masks live = x.past & x.input, counts = live & x.near;
  const two_doubles weight = Arithmetic::weight(x.u, x.u_low);
  const pack s = where(counts, weight.high), moved = x.error + x.error * x.error;
  const pack near = s * (moved + Arithmetic::error_of_weight) * (1.0 + 0x1p-47);
  const pack far = select(x.size > vanishing_exponent, broadcast(error_of_vanishing), 2.0 * x.u);
  const pack error = where(live, select(x.error < 0.5, select(x.near, near, far), broadcast(1.0)));
  return {{s, where(counts, weight.low)}, error};
}

// x + y, with the remainder to within `error`; |low| is at most half an ulp of high.
struct sum_of_two {
  two_doubles sum;
  pack error;
};
ASSAY_INLINE sum_of_two added(const two_doubles& x, const two_doubles& y) {
  const exact_sum high = exactly(x.high, y.high), low = exactly(x.low, y.low), rest = exactly(low.sum, high.error);
  const exact_sum whole = exactly(high.sum, rest.sum);
  return {{whole.sum, whole.error}, magnitude(low.error) + magnitude(rest.error)};
}
ASSAY_INLINE sum_of_two added(const two_doubles& x, const pack& y) {
  const exact_sum high = exactly(x.high, y), rest = exactly(x.low, high.error), whole = exactly(high.sum, rest.sum);
  return {{whole.sum, whole.error}, magnitude(rest.error)};
}

// p = s l, where E bounds l. `rounding` is the bound of p without (s + F) E.
struct weighed {
  two_doubles product;
  pack rounding;
  masks vanishes;
};

ASSAY_INLINE pack counted(const pack& bound) { return where(bound > 0.0, larger(bound, 0x1p-960)); }

template <class Arithmetic>
ASSAY_INLINE weighed weigh(const smaller_weight& w, const two_doubles& l, const pack& bound) {
  const pack size = magnitude(l.high) * (1.0 + 0x1p-52);
  const two_doubles product = Arithmetic::product(w.s, l);
  const masks something = (size + bound > 0.0) & (w.error > 0.0),
              tiny = something & (magnitude(product.high) < 0x1p-900);
  const two_doubles p{where(~tiny, product.high), where(~tiny, product.low)};
  const pack rounding = Arithmetic::error_of_product * magnitude(p.high) + w.error * size +
                        where(tiny & (w.s.high > 0.0), broadcast(0x1p-899)) + where(something, broadcast(0x1p-1020));
  return {p, rounding, (w.s.high == 0.0) & (w.error == error_of_vanishing) & (size + bound < 0x1p64)};
}

// Both parts of l.
struct parts_of_number {
  bounded_pack smaller, larger;
};
template <class Arithmetic>
ASSAY_ONCE parts_of_number divide(const smaller_weight& w, const two_doubles& l, const pack& bound_of_l) {
  const pack bound = counted(bound_of_l);
  const weighed p = weigh<Arithmetic>(w, l, bound);
  const pack radius_of_smaller = ((w.s.high + w.error) * bound + p.rounding) * (1.0 + 0x1p-47);
  const sum_of_two rest = added(l, two_doubles{-p.product.high, -p.product.low});
  const pack radius_of_larger = ((1.0 - w.s.high + w.error) * bound + p.rounding) + rest.error;
  return {{p.product.high, p.product.low, radius_of_smaller, no_lanes(), p.vanishes},
          {rest.sum.high, rest.sum.low, radius_of_larger * (1.0 + 0x1p-47), no_lanes(), no_lanes()}};
}
