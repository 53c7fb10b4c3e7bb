// The derivative of the recurrence along a direction (algorithms/forward_derivative.hpp) with a running bound: ds = w
// dt + v dh, where dt = ds' + da. The weights, their bounds and e are those of weights.ipp.
//
// Let x be the one of dt and dh with the larger weight, and y the other one: ds = x + s (y - x). So the error of s
// counts by |y - x|, and the error E of dt counts by (w + F) E: s + F where dt is y, 1 - s + F where it is x. The part
// that the difference leaves out counts by (s + F).
//
// ds vanishes where dh is 0 and has the larger weight, and s dt vanishes.

template <class Arithmetic>
struct tangent_state {
  bounded_pack carry;

  ASSAY_INLINE explicit tangent_state(const pack& tangent_s0)
      : carry{tangent_s0, broadcast(0.0), broadcast(0.0), no_lanes(), no_lanes()} {}

  ASSAY_INLINE void step(const bounded_pack& da, const pack& dh, const weights_of_step& weights) {
    const smaller_weight w = weight_of<Arithmetic>(weights);
    const masks some = weights.past | weights.input, past_is_larger = weights.past_is_larger;
    const sum_of_two dt = added(two_doubles{carry.high, carry.low}, two_doubles{da.high, da.low});
    const pack bound = counted(carry.radius + da.radius + dt.error);
    const sum_of_two difference = added(dt.sum, -dh);
    const weighed p = weigh<Arithmetic>(w, difference.sum, bound + difference.error);

    const two_doubles x{select(past_is_larger, dt.sum.high, dh), where(past_is_larger, dt.sum.low)};
    const two_doubles y{select(past_is_larger, -p.product.high, p.product.high),
                        select(past_is_larger, -p.product.low, p.product.low)};
    const sum_of_two ds = added(x, y);
    const pack share_of_smaller = w.s.high + w.error,
               share_of_past = select(past_is_larger, 1.0 - w.s.high + w.error, share_of_smaller);
    const pack radius_of_ds = share_of_past * bound + share_of_smaller * difference.error + p.rounding + ds.error;
    carry = {where(some, ds.sum.high), where(some, ds.sum.low), where(some, radius_of_ds * (1.0 + 0x1p-47)), no_lanes(),
             ~past_is_larger & (dh == 0.0) & p.vanishes};
  }
};

template <class Arithmetic, template <class> class Decay>
void tangent(const tangent_call& call) {
  const std::size_t all_lanes = call.shape.batch * call.shape.features;
  for (std::size_t from = 0; from < all_lanes; from += lanes_of_pack) {
    const lanes_of_tokens lanes(call.shape, from);
    scan_state<Arithmetic> state(lanes.load_state(call.s0));
    tangent_state<Arithmetic> along(lanes.load_state(call.tangent_s0));
    for (std::size_t i = 0; i < call.shape.tokens; ++i) {
      const Decay<Arithmetic> decay{lanes.load(call.decay, i)};
      const bounded_pack given{lanes.load(call.tangent_decay, i), broadcast(0.0), broadcast(0.0), no_lanes(),
                               no_lanes()};
      along.step(decay.through(given), lanes.load(call.tangent_h, i), state.step(decay, lanes.load(call.h, i)));
      store(call.tangent_s, lanes, i, call.format, along.carry);
    }
  }
}
