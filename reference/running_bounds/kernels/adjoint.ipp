// The adjoint of the recurrence (algorithms/adjoint.hpp) with a running bound: l_i = g_i + w_(i+1) l_(i+1); the
// gradients are w l in a and v l in h. e stands for 2^-53.
//
// Of the weights w and v the smaller one, s = u / (1 + u), is known to a part of itself; the larger one is 1 - s. So
// with p = s l, the gradients are p and l - p, and the state l - p is wrong by a part of p, as much as it forgets: the
// bound does not grow with the number of tokens.
//
// s = sigmoid(-|d|), whose logarithm has a slope of at most 1: where d is off by D, s moves by a factor of at most e^D,
// so by s (D + D^2) at most for D <= 1; and anyway by 1 at most. Beyond the least exponent s counts as 0, to twice the
// power there if D <= 1/2; for |d| above 800 it is below e^-799, and p vanishes beside 2^-1075 if |l| is below 2^64.
//
// With E the bound of l and F that of s: |p - s l| <= (s + F) E + F |l|, and the truth of l - p is off by (1 - s + F) E
// + F |l|; to both comes the rounding of p. Products below 2^-900 count as 0, to 2^-899: none underflows.
//
// The bounds: the factor 1 + 2^-47 covers their roundings (scan.ipp). What underflows in them is below 2^-1074 each: it
// is covered by the share of that factor in 2^-52 |p|, where p is at least 2^-900, in 2^-899 where p is less, and by
// 2^-1020 where s or p is 0 but l and F are not. Numbers below the normal ones are slow: a bound E that is not 0 counts
// as 2^-960 at least, and 2^-1000 as the F of what vanishes. F = s (D + 6e) may lie below the normal numbers and be off
// by 2^-1075: of the 6e 5 are needed, and the sixth makes up for it, since s >= 2^-996 where it counts, so that e s >=
// 2^-1049. Where h or t is -inf, s and F are 0 and nothing is rounded.
//
// Of the weights three numbers stand in the places of grad_h until it is computed: s, minus where t is not the larger
// one, its low part, and F; -1 for F where both h and t are -inf: both gradients are 0 there.

constexpr double vanishing_exponent = 800.0, error_of_vanishing = 0x1p-1000;

template <class Arithmetic>
ASSAY_INLINE void store_weights(const bounded_field& places, const lanes_of_tokens& at, std::size_t token,
                                const weights_of_step& x) {
  const masks live = x.past & x.input, counts = live & x.near;
  const two_doubles weight = Arithmetic::weight(x.u, x.u_low);
  const pack s = where(counts, weight.high), moved = x.error + x.error * x.error;
  const pack near = s * (moved + Arithmetic::error_of_weight) * (1.0 + 0x1p-47);
  const pack far = select(x.size > vanishing_exponent, broadcast(error_of_vanishing), 2.0 * x.u);
  const pack error = where(live, select(x.error < 0.5, select(x.near, near, far), broadcast(1.0)));
  at.store(places.value, token, select(x.past_is_larger, s, -s));
  at.store(places.low, token, where(counts, weight.low));
  at.store(places.radius, token, select(x.past | x.input, error, broadcast(-1.0)));
}

template <class Arithmetic>
struct adjoint_state {
  bounded_pack carry;

  ASSAY_INLINE explicit adjoint_state(const pack& grad_s_n)
      : carry{grad_s_n, broadcast(0.0), broadcast(0.0), no_lanes(), no_lanes()} {}

  struct gradients {
    bounded_pack a, h;
  };
  ASSAY_INLINE gradients step(const pack& grad_s, const pack& weight, const pack& weight_low, const pack& error) {
    const masks none = error < 0.0, past_is_larger = ~is_negative(weight);
    const two_doubles s{magnitude(weight), weight_low};
    const pack off = larger(error, 0.0);
    const exact_sum high = exactly(carry.high, grad_s), low = exactly(carry.low, high.error);
    const exact_sum sum = exactly(high.sum, low.sum);
    const two_doubles l{sum.sum, sum.error};
    const pack own = carry.radius + magnitude(low.error), radius = where(own > 0.0, larger(own, 0x1p-960));
    const pack size = magnitude(l.high) * (1.0 + 0x1p-52);

    const two_doubles product = Arithmetic::product(s, l);
    const masks something = (size + radius > 0.0) & (off > 0.0),
                tiny = something & (magnitude(product.high) < 0x1p-900);
    const two_doubles p{where(~tiny, product.high), where(~tiny, product.low)};
    const pack rounding = Arithmetic::error_of_product * magnitude(p.high) + off * size +
                          where(tiny & (s.high > 0.0), broadcast(0x1p-899)) + where(something, broadcast(0x1p-1020));
    const masks vanishes = (s.high == 0.0) & (off == error_of_vanishing) & (size + radius < 0x1p64);
    const pack of_p = ((s.high + off) * radius + rounding) * (1.0 + 0x1p-47);
    const bounded_pack smaller{p.high, p.low, of_p, no_lanes(), vanishes};

    const exact_sum rest = exactly(l.high, -p.high), rest_of_low = exactly(l.low, -p.low);
    const exact_sum rest_low = exactly(rest_of_low.sum, rest.error), whole = exactly(rest.sum, rest_low.sum);
    const pack of_rest =
        ((1.0 - s.high + off) * radius + rounding) + magnitude(rest_of_low.error) + magnitude(rest_low.error);
    const bounded_pack larger_one{whole.sum, whole.error, of_rest * (1.0 + 0x1p-47), no_lanes(), no_lanes()};

    const auto pick = [&](const masks& take_larger) ASSAY_INLINED -> bounded_pack {
      return {where(~none, select(take_larger, larger_one.high, smaller.high)),
              where(~none, select(take_larger, larger_one.low, smaller.low)),
              where(~none, select(take_larger, larger_one.radius, smaller.radius)), no_lanes(),
              ~take_larger & vanishes};
    };
    const gradients g{pick(past_is_larger), pick(~past_is_larger)};
    carry = g.a;
    return g;
  }
};

template <class Arithmetic>
void adjoint(const adjoint_call& call) {
  const std::size_t lanes = call.shape.batch * call.shape.features;
  for (std::size_t from = 0; from < lanes; from += lanes_of_pack) {
    const lanes_of_tokens at(call.shape, from);
    scan_state<Arithmetic> state(at.load_state(call.s0));
    for (std::size_t i = 0; i < call.shape.tokens; ++i)
      store_weights<Arithmetic>(call.grad_h, at, i, state.step(at.load(call.a, i), at.load(call.h, i)));
    adjoint_state<Arithmetic> back(at.load_state(call.grad_s_n));
    for (std::size_t i = call.shape.tokens; i-- > 0;) {
      const auto g = back.step(at.load(call.grad_s, i), at.load(call.grad_h.value, i), at.load(call.grad_h.low, i),
                               at.load(call.grad_h.radius, i));
      store(call.grad_a, at, i, round_to(call.format, g.a));
      store(call.grad_h, at, i, round_to(call.format, g.h));
    }
    const rounded_pack first = round_to(call.format, back.carry);
    at.store_state(call.grad_s0.value, first.value);
    at.store_state(call.grad_s0.low, first.low);
    at.store_state(call.grad_s0.radius, first.radius);
  }
}
