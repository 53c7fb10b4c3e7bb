// The adjoint of the recurrence (algorithms/adjoint.hpp) with a running bound: l_i = g_i + w_(i+1) l_(i+1); the
// gradients are w l in a and v l in h, the parts of l (weights.ipp). The error of the state l - p is a part of p, which
// is as much as the state forgets: so the bound does not grow with the number of tokens.
//
// Three numbers of the weights are stored in the places of grad_h until grad_h is computed: s, negative where t is not
// the larger one, its low part, and F. F is -1 where both h and t are -inf: both gradients are 0 there.

template <class Arithmetic>
ASSAY_INLINE void store_weights(const bounded_field& places, const lanes_of_tokens& lanes, std::size_t token,
                                const weights_of_step& x) {
  const smaller_weight w = weight_of<Arithmetic>(x);
  lanes.store(places.value, token, select(x.past_is_larger, w.s.high, -w.s.high));
  lanes.store(places.low, token, w.s.low);
  lanes.store(places.radius, token, select(x.past | x.input, w.error, broadcast(-1.0)));
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
    const smaller_weight w{{magnitude(weight), weight_low}, larger(error, 0.0)};
    const sum_of_two l = added(two_doubles{carry.high, carry.low}, grad_s);
    const parts_of_number parts = divide<Arithmetic>(w, l.sum, carry.radius + l.error);
    const auto pick = [&](const masks& take_larger) ASSAY_INLINED -> bounded_pack {
      return {where(~none, select(take_larger, parts.larger.high, parts.smaller.high)),
              where(~none, select(take_larger, parts.larger.low, parts.smaller.low)),
              where(~none, select(take_larger, parts.larger.radius, parts.smaller.radius)), no_lanes(),
              ~take_larger & parts.smaller.vanishes};
    };
    const gradients g{pick(past_is_larger), pick(~past_is_larger)};
    carry = g.a;
    return g;
  }
};

template <class Arithmetic, template <class> class Decay>
void adjoint(const adjoint_call& call) {
  const std::size_t all_lanes = call.shape.batch * call.shape.features;
  for (std::size_t from = 0; from < all_lanes; from += lanes_of_pack) {
    const lanes_of_tokens lanes(call.shape, from);
    scan_state<Arithmetic> state(lanes.load_state(call.s0));
    for (std::size_t i = 0; i < call.shape.tokens; ++i) {
      const Decay<Arithmetic> decay{lanes.load(call.decay, i)};
      store_weights<Arithmetic>(call.grad_h, lanes, i, state.step(decay, lanes.load(call.h, i)));
    }
    adjoint_state<Arithmetic> back(lanes.load_state(call.grad_s_n));
    for (std::size_t i = call.shape.tokens; i-- > 0;) {
      const auto g = back.step(lanes.load(call.grad_s, i), lanes.load(call.grad_h.value, i),
                               lanes.load(call.grad_h.low, i), lanes.load(call.grad_h.radius, i));
      const Decay<Arithmetic> decay{lanes.load(call.decay, i)};
      store(call.grad_decay, lanes, i, call.format, decay.through(g.a));
      store(call.grad_h, lanes, i, call.format, g.h);
    }
    const rounded_pack first = round_to(call.format, back.carry);
    lanes.store_state(call.grad_s0.value, first.value);
    lanes.store_state(call.grad_s0.low, first.low);
    lanes.store_state(call.grad_s0.radius, first.radius);
  }
}
