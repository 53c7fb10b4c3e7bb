// The derivative of the log-linear recurrence [Heinsen 2024, eqs. (1), (3)] along a direction (d log p, dh, ds_0),
// features in lanes, step by step in time: with w_i and v_i as in scan_vjp.ipp and t_i = d log p_i + ds_{i-1},
//   ds_i = w_i t_i + v_i dh_i,  d log p_i = sigmoid(-g_i) dg_i where logits are given.
//
// Special values: if log p_i + s_{i-1} = -inf, then ds_i = dh_i. If h_i = -inf, then ds_i = t_i. If both hold, ds_i =
// 0. A term with weight 0 adds nothing, whatever its value. The weights of two equal infinities +inf are 1/2. A NaN of
// log p, h or s gives NaN, and so does an infinite derivative; both stay in their lane until log p + s = -inf.
// Order: i = 1..n in every lane. A walk that is cut anywhere and continues from both words gives the same bits.
//
// Bound: let m = min(w, v) have the relative error delta, let u be the unit roundoff, and let `top` be the term with
// the larger weight and `other` the term with the smaller weight. Then ds = top + m (other - top) uses no large weight,
// and no 1 - w is formed. ds is a sum of two numbers. The rounded quantities are d log p, m top, m other - m top (with
// fused operations; without them, also m other) and terms of order u^2. The error E_i of high + low is therefore, up to
// these terms,
//
//   E_i <= w (E_{i-1} + u |d log p_i|) + m (delta + 2 u) (|t_i| + |dh_i|).
//
// Since m <= v = 1 - w, the step forgets as much of the old error as it adds. Without d log p, E_i is at most the
// largest (delta + 2 u) (|t_j| + |dh_j|) of the steps j <= i, for every n. d log p adds u times its own contribution to
// ds_i, and 6 u times this contribution if d log p is the product with sigmoid(-g). The output adds half an ulp. delta
// is a few u for exp, for the sum and for the reciprocal, plus the error of z = log p + s - h, where s is the given
// state: half an ulp of s, and up to half an ulp of log p (4 u |log p| for logits).

// Takes one step. `carried` is ds_{i-1} and becomes ds_i.
template <class Real, int N>
inline void go_on(state_pack<Real, N>& carried, const pack<Real, N>& d_log_p, const pack<Real, N>& dh,
                  const decay_pack<Real, N>& log_p, const pack<Real, N>& previous, const pack<Real, N>& h) {
  const state_pack<Real, N> past = past_of<Real, N>(log_p, previous);
  const weights<Real, N> shares = weights_of<Real, N>(past, h);
  repeat<N>([&](int k) {
    const vec<Real> none{}, lowest = broadcast(-infinity<Real>);
    const mask<Real> has_input = differ<Real>(h.part[k], lowest), has_past = differ<Real>(past.high.part[k], lowest);
    const auto alive = static_cast<mask<Real>>(has_input | has_past);
    const mask<Real> past_leads = shares.past_leads[k];
    const vec<Real> small = where<Real>(alive, shares.small.part[k], none);
    vec<Real> t = carried.high.part[k], rest{};
    add_exactly<Real>(t, rest, d_log_p.part[k] + carried.low.part[k]);
    const vec<Real> entering = where<Real>(alive, dh.part[k], none);
    const vec<Real> top = where<Real>(past_leads, t, entering), other = where<Real>(past_leads, entering, t);
    const vec<Real> difference = fused<Real>(small, other, -(small * top));
    const vec<Real> change = where<Real>(differ<Real>(small, none), difference, none);
    const vec<Real> small_rest = small * rest;
    // An infinite number leaves no rest.
    vec<Real> high = top, low = finite_or_zero<Real>(alive, where<Real>(past_leads, rest - small_rest, small_rest));
    add_exactly<Real>(high, low, change);
    carried.high.part[k] = high + low;
    carried.low.part[k] = low - (carried.high.part[k] - high);
  });
}

template <class Real, class Decay, class Slope>
[[gnu::flatten]] void scan_rows_jvp(const tangent_block<Real>& b) noexcept {
  constexpr std::size_t lanes = lane_count<Real>;
  const auto one_token = [&b](std::size_t i, auto place, auto& carried) {
    constexpr int n = width<decltype(place)>;
    const auto row = [i](const auto& array) { return array.first + static_cast<std::ptrdiff_t>(i) * array.step; };
    const Real *d_decay = row(b.tangent_decay), *dh = row(b.tangent_h);
    const Real* previous = i == 0 ? b.before : row(b.s) - b.s.step;
    Real* ds = row(b.tangent_s);
    fetch_ahead(d_decay, place, distance_of(b.tangent_decay, b.rows_ahead));
    fetch_ahead(dh, place, distance_of(b.tangent_h, b.rows_ahead));
    const auto given = load(row(b.decay), place);
    go_on<Real, n>(carried, Slope::template times_slope<Real>(given, load(d_decay, place)), load(dh, place),
                   Decay::template log_p<Real>(given), load(previous, place), load(row(b.h), place));
    if constexpr (!requires { place.count; })
      if (b.past_caches && reinterpret_cast<std::uintptr_t>(ds) % vector_bytes == 0)
        return repeat<n>([&](int k) { store_past_caches(ds + place.offset + k * lanes, carried.high.part[k]); });
    store(ds, place, carried.high);
  };
  const auto with_state = [&b](auto place, auto go) {
    state_pack<Real, width<decltype(place)>> carried = {load(b.high, place), load(b.low, place)};
    go(carried);
    store(b.high, place, carried.high), store(b.low, place, carried.low);
  };
  if (b.features <= lanes * registers_of_row)  // the state stays in registers
    for_each_pack<Real, registers_of_row>(b.features, [&](auto place) {
      with_state(place, [&](auto& carried) {
        for (std::size_t i = 0; i < b.tokens; ++i) one_token(i, place, carried);
      });
    });
  else
    for (std::size_t i = 0; i < b.tokens; ++i)
      for_each_pack<Real, registers_of_row>(
          b.features, [&](auto place) { with_state(place, [&](auto& carried) { one_token(i, place, carried); }); });
  if (b.past_caches) end_stores_past_caches();
}
