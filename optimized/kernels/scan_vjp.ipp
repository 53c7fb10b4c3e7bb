// The adjoint of the log-linear recurrence [Heinsen 2024, eqs. (1), (3)], with features in lanes, step by step in time.
// With z_i = log p_i + s_{i-1} - h_i, w_i = sigmoid(z_i) and v_i = sigmoid(-z_i),
//   lambda_i = grad_s_i + w_{i+1} lambda_{i+1}, where the last product starts as grad_s_n,
//   grad log p_i = w_i lambda_i, grad g_i = w_i lambda_i sigmoid(-g_i), grad h_i = v_i lambda_i,
//   grad s0 = w_1 lambda_1, and grad_s_n where n = 0.
//
// Special values: if log p_i + s_{i-1} = -inf, the first product is 0; if h_i = -inf, the third product is 0. Both hold
// whatever lambda_i is; if one of the two conditions holds, the other weight is 1. The weights of two equal infinities
// +inf are 1/2. A NaN stays in its lane.
// Order: i = n..1 in every lane, and from the last feature to the first, so that addresses fall.
// Both weights are functions of u = e^-|z|, and no 1 - w is formed. lambda is a sum of two numbers. If w > 1/2, the
// product w lambda is computed as lambda - v lambda, whose error is proportional to v = 1 - w. The adjoint forgets the
// same share v of its carry, so errors do not add up where w is near 1.

// The smaller and the larger of w and v.
template <class Real, int N>
struct weights {
  pack<Real, N> small, large;
  mask<Real> past_leads[N];  // w > 1/2
};

// log p + s_{i-1} as the sum high + low. The sum is exact if |log p| <= |s_{i-1}| (FastTwoSum). Otherwise up to half an
// ulp of log p is lost, which also changes the weights. If `high` is infinite, `low` is NaN.
template <class Real, int N>
inline state_pack<Real, N> past_of(const decay_pack<Real, N>& log_p, const pack<Real, N>& previous) {
  state_pack<Real, N> y;
  repeat<N>([&](int k) { y.high.part[k] = log_p.high.part[k] + previous.part[k]; });
  repeat<N>([&](int k) {
    const vec<Real> added = y.high.part[k] - previous.part[k];
    y.low.part[k] = log_p.high.part[k] - added;
  });
  return y;
}

// Equal terms, also infinite ones, have the weights 1/2; the rest of the sum is within the error. A NaN term makes both
// weights NaN. Unless Careful, two equal infinities do the same.
template <class Real, int N, bool Careful = true>
inline weights<Real, N> weights_of(const state_pack<Real, N>& past, const pack<Real, N>& h) {
  pack<Real, N> top, bottom;
  weights<Real, N> y;
  repeat<N>([&](int k) { y.past_leads[k] = less<Real>(h.part[k], past.high.part[k]); });
  repeat<N>([&](int k) { top.part[k] = larger<Real>(past.high.part[k], h.part[k]); });
  repeat<N>([&](int k) { bottom.part[k] = smaller<Real>(h.part[k], past.high.part[k]); });
  pack<Real, N> u = exp_minus_difference<Real, N>(top, bottom, past.low, y.past_leads, for_weights{});
  repeat<N>([&](int k) {
    if constexpr (Careful) {
      const mask<Real> alike = equal<Real>(past.high.part[k], h.part[k]);  // finite or infinite, but not NaN
      u.part[k] = where<Real>(alike, broadcast(Real(1)), u.part[k]);
    }
    y.large.part[k] = reciprocal<Real>(u.part[k] + Real(1));
    y.small.part[k] = u.part[k] * y.large.part[k];
  });
  return y;
}

// log p and its derivative with respect to the given number.
struct slope_of_log_p {
  template <class Real, int N>
  static pack<Real, N> times_slope(const pack<Real, N>&, const pack<Real, N>& x) {
    return x;
  }
};

// The derivative of log sigmoid(g) is sigmoid(-g).
struct slope_of_logit {
  template <class Real, int N>
  static pack<Real, N> times_slope(const pack<Real, N>& g, const pack<Real, N>& x) {
    pack<Real, N> size, y;
    repeat<N>([&](int k) { size.part[k] = magnitude<Real>(g.part[k]); });
    const pack<Real, N> u = exp_minus<Real, N>(size, for_weights{});
    repeat<N>([&](int k) {
      const vec<Real> large = reciprocal<Real>(u.part[k] + Real(1));
      const vec<Real> slope = where<Real>(less<Real>(vec<Real>{}, g.part[k]), u.part[k] * large, large);
      y.part[k] = x.part[k] * where<Real>(unordered<Real>(g.part[k], g.part[k]), g.part[k], slope);
    });
    return y;
  }
};

// Takes one token: lambda = grad_s + carried; `carried` becomes w lambda. The low word enters through grad_s. There its
// rounding error is proportional to the contribution of this token.
template <class Real, int N>
struct token_gradients {
  pack<Real, N> log_p, h;
};
template <class Real, int N>
inline token_gradients<Real, N> go_back(state_pack<Real, N>& carried, const pack<Real, N>& grad_s,
                                        const decay_pack<Real, N>& log_p, const pack<Real, N>& previous,
                                        const pack<Real, N>& h) {
  const state_pack<Real, N> past = past_of<Real, N>(log_p, previous);
  const weights<Real, N> shares = weights_of<Real, N>(past, h);
  token_gradients<Real, N> y;
  repeat<N>([&](int k) {
    const vec<Real> none{}, lowest = broadcast(-infinity<Real>);
    const mask<Real> has_input = differ<Real>(h.part[k], lowest), has_past = differ<Real>(past.high.part[k], lowest);
    const mask<Real> past_leads = shares.past_leads[k];
    const vec<Real> small = shares.small.part[k], large = shares.large.part[k];
    vec<Real> lambda = carried.high.part[k], rest{};
    add_exactly<Real>(lambda, rest, grad_s.part[k] + carried.low.part[k]);
    const vec<Real> lesser = small * lambda;
    const vec<Real> to_input = where<Real>(has_input, where<Real>(past_leads, lesser, large * lambda), none);
    const vec<Real> product = where<Real>(has_past, lesser, none), difference = lambda - to_input;
    const vec<Real> high = where<Real>(past_leads, difference, product);
    const vec<Real> error =
        where<Real>(past_leads, (lambda - difference) - to_input, fused<Real>(small, lambda, -lesser));
    y.h.part[k] = to_input;
    y.log_p.part[k] = carried.high.part[k] = high;
    const vec<Real> left = fused<Real>(where<Real>(past_leads, large, small), rest, error);
    carried.low.part[k] = finite_or_zero<Real>(has_past, left);  // an infinite number leaves no rest
  });
  return y;
}

// Asks for the memory before an address that is in use (scan_rows.ipp).
template <class Real>
inline void fetch_before(const Real* place, std::ptrdiff_t distance = bytes_ahead) {
  __builtin_prefetch(reinterpret_cast<const char*>(place) - distance, 0, 2);
}
template <class Real, class Place>
inline void fetch_before(const Real* row, Place place, std::ptrdiff_t distance = bytes_ahead) {
  for (int k = 0; k < width<Place>; ++k)
    fetch_before(row + place.offset + static_cast<std::size_t>(k) * lane_count<Real>, distance);
}

// Precondition: if b.past_caches is true, the rows of both gradients begin at multiples of vector_bytes.
template <class Real, class Decay, class Slope>
[[gnu::flatten]] void scan_rows_vjp(const adjoint_block<Real>& b) noexcept {
  constexpr std::size_t lanes = lane_count<Real>;
  const std::ptrdiff_t decay_before = distance_of(b.decay, b.rows_ahead), h_before = distance_of(b.h, b.rows_ahead);
  const std::ptrdiff_t grad_s_before = distance_of(b.grad_s, b.rows_ahead), s_before = distance_of(b.s, b.rows_ahead);
  for (std::size_t i = b.tokens; i-- > 0;) {
    const auto row = [i](const auto& array) { return array.first + static_cast<std::ptrdiff_t>(i) * array.step; };
    const Real *decay = row(b.decay), *h = row(b.h), *grad_s = row(b.grad_s);
    const Real* previous = i == 0 ? b.before : row(b.s) - b.s.step;
    Real *grad_decay = row(b.grad_decay), *grad_h = row(b.grad_h);
    for_each_pack_backwards<Real, registers_of_step<Decay>>(b.features, [=](auto place) {
      constexpr int n = width<decltype(place)>;
      fetch_before(decay, place, decay_before), fetch_before(h, place, h_before);
      fetch_before(grad_s, place, grad_s_before), fetch_before(previous, place, s_before);
      const auto given = load(decay, place);
      state_pack<Real, n> carried = {load(b.high, place), load(b.low, place)};
      const token_gradients<Real, n> y = go_back<Real, n>(
          carried, load(grad_s, place), Decay::template log_p<Real>(given), load(previous, place), load(h, place));
      store(b.high, place, carried.high), store(b.low, place, carried.low);
      const pack<Real, n> to_decay = Slope::template times_slope<Real>(given, y.log_p);
      if constexpr (!requires { place.count; })
        if (b.past_caches) {
          repeat<n>([&](int k) { store_past_caches(grad_decay + place.offset + k * lanes, to_decay.part[k]); });
          repeat<n>([&](int k) { store_past_caches(grad_h + place.offset + k * lanes, y.h.part[k]); });
          return;
        }
      store(grad_decay, place, to_decay);
      store(grad_h, place, y.h);
    });
  }
  if (b.past_caches) end_stores_past_caches();
}
