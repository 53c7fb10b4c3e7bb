// The recurrence s = LSE(a + s', h) with a running bound (Wilkinson 1963; Higham 2002, section 3.3): the state is high
// + low, within `radius` of the truth. e stands for 2^-53.
//
// t = s' + a. The sums are exact except for errors that `radius` includes, together with the radius of a (decay.ipp).
// Let d = t - h, let base be the larger of t and h, and let u = e^-|d|: then LSE(t, h) = base + log(1 + u).
//
// How the result inherits the radius E of t: LSE(., h) has the slope w = 1 / (1 + e^-d), which itself changes by at
// most 1/4 of a change of d. If d has an error D against t - h, the truth is off by at most (w + D/4 + E/4) E. w is u /
// (1 + u) <= u where h is the base, and else 1 / (1 + u) <= 1 - u/2, by convexity, for 0 <= u <= 1. Likewise the error
// D changes log(1 + u) by (u + D/4) D at most. This needs no bound on E or D.
//
// Where u is small, it is added to the radius instead. Then, and also where the sum keeps the bits of the base, the
// base is the centre, and the truth is above it (and above t, if the old truth was above t or t is exact). Such a truth
// is above a tie, too.
//
// Beyond the least exponent of the arithmetic, |d| is replaced by that exponent: then u is too large, and so is the
// bound.
//
// -inf: where t = -inf the result is h, where h = -inf the result is t. Their u is 0, and the results of infinite
// differences are masked. The sums of finite numbers do not overflow: they stay below 2^64 2^900.
//
// The bounds are sums and products with fewer than 30 roundings, and powers with an error of 3 e: the factor 1 + 2^-47
// covers them. None underflows: a weight below 1 comes with a u of at least 2^-996, whose share of that factor is above
// 2^-1044. All other weights are 1, and sums do not underflow.

// The numbers of a step that derivatives need: whether t and h are not -inf; whether t is the larger one; u = e^-|d|,
// except where d is beyond the least exponent and not near; |d|, and its largest error where t and h are finite.
struct weights_of_step {
  masks past, input, past_is_larger, near;
  pack u, u_low, error, size;
};

template <class Arithmetic>
struct scan_state {
  bounded_pack s;

  ASSAY_INLINE explicit scan_state(const pack& s0) : s{s0, broadcast(0.0), broadcast(0.0), all_lanes(), no_lanes()} {}

  template <class Decay>
  ASSAY_INLINE weights_of_step step(const Decay& decay, const pack& h) {
    const bounded_pack a = decay.log_p();
    const exact_sum high = exactly(s.high, a.high);
    exact_sum rest = exactly(s.low, high.error);
    pack left_out = magnitude(rest.error);
    if constexpr (!Decay::is_exact) {
      rest = exactly(rest.sum, a.low);
      left_out = left_out + magnitude(rest.error) + a.radius;
    }
    const masks past = ~(high.sum == minus_infinity), no_input = h == minus_infinity, live = past & ~no_input;
    const pack t = high.sum, low = where(past, rest.sum), radius = where(past, s.radius + left_out);
    const masks above = s.above & (left_out == 0.0);

    const difference to_h = Arithmetic::subtract(t, low, h);
    const masks past_is_larger = no_input | (to_h.d >= 0.0);
    const pack size = magnitude(to_h.d);
    const masks near = size < -Arithmetic::least_exponent;
    const pack z = select(near, -size, broadcast(Arithmetic::least_exponent));
    const softplus_parts plus = Arithmetic::softplus(z, where(near, select(past_is_larger, -to_h.low, to_h.low)));
    const masks counts = live & (z > Arithmetic::least_counted);
    const pack u = where(live, plus.power), counted = where(counts, u), moved = where(live, to_h.error);

    const pack base = select(past_is_larger, t, h), base_low = where(past_is_larger, low);
    const exact_sum next = exactly(base, where(counts, plus.sum));
    exact_sum more{base_low, broadcast(0.0)};
    if constexpr (Arithmetic::has_low_parts) more = exactly(base_low, where(counts, plus.low));
    const exact_sum next_rest = exactly(more.sum, next.error);
    const masks dead = next.sum == minus_infinity;
    const exact_sum state = exactly(next.sum, where(~dead, next_rest.sum));
    const masks lost = ~counts | ((next.sum == base) & (next_rest.sum == base_low));
    const pack weight = select(past_is_larger, 1.0 - 0.5 * counted, u);
    const pack bound = (weight + radius + moved) * radius + (u + moved) * moved + where(counts, plus.error) +
                       (u - counted) + where(~dead, magnitude(more.error) + magnitude(next_rest.error));
    s = {state.sum, state.error, bound * (1.0 + 0x1p-47), ~past | (lost & (~past_is_larger | above)), no_lanes()};
    return {past, ~no_input, past_is_larger, near, plus.power, plus.power_low, radius + to_h.error, size};
  }
};

template <class Arithmetic, template <class> class Decay>
void scan(const scan_call& call) {
  const std::size_t lanes_of_call = call.shape.batch * call.shape.features;
  for (std::size_t from = 0; from < lanes_of_call; from += lanes_of_pack) {
    const lanes_of_tokens lanes(call.shape, from);
    scan_state<Arithmetic> state(lanes.load_state(call.s0));
    for (std::size_t i = 0; i < call.shape.tokens; ++i) {
      state.step(Decay<Arithmetic>{lanes.load(call.decay, i)}, lanes.load(call.h, i));
      store(call.s, lanes, i, call.format, state.s);
    }
  }
}
