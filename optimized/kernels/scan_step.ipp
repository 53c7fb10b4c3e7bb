// One step of the recurrence on a state that is an unevaluated sum high + low.
//
//   s_i = log(e^(log p_i + s_{i-1}) + e^(h_i)) = larger + softplus(-|log p_i + s_{i-1} - h_i|)
//
// The low word keeps the rounding errors of the sums log p + s and larger + softplus [Dekker 1971, Fast2Sum]. The error
// of a step is therefore proportional to the amount that the step adds, not to |s|, and it does not grow with the
// length: ../README.md derives the bound.

// log p = high + low of one step. `low` is 0 if log p is given.
template <class Real, int N>
struct decay_pack {
  pack<Real, N> high, low;
};

template <class Real, int N>
struct state_pack {
  pack<Real, N> high, low;
};

// The rounding error of high + x goes to the low word.
template <class Real>
inline void add_exactly(vec<Real>& high, vec<Real>& low, vec<Real> x) {
  const vec<Real> sum = high + x;
  low = low + rounding_of_sum<Real>(high, x, sum);
  high = sum;
}

// Special values: if one term is -inf, the result is the other term, with its low word; if both are -inf, the result is
// -inf. +inf stays until log p = -inf. A NaN argument gives NaN in `high`. If `high` is infinite, `low` is NaN and is
// not used.
template <class Real, int N, bool TwoPart>
inline void advance(state_pack<Real, N>& s, const decay_pack<Real, N>& log_p, const pack<Real, N>& h) {
  pack<Real, N> past, low, top, bottom;
  mask<Real> past_leads[N];
  repeat<N>([&](int k) {
    past.part[k] = s.high.part[k];
    low.part[k] = s.low.part[k];
    add_exactly<Real>(past.part[k], low.part[k], log_p.high.part[k]);
  });
  if constexpr (TwoPart) repeat<N>([&](int k) { low.part[k] = low.part[k] + log_p.low.part[k]; });
  repeat<N>([&](int k) { past_leads[k] = not_at_most_nor_infinite<Real>(past.part[k], h.part[k]); });
  repeat<N>([&](int k) { top.part[k] = larger<Real>(past.part[k], h.part[k]); });
  repeat<N>([&](int k) { bottom.part[k] = smaller<Real>(past.part[k], h.part[k]); });
  const pack<Real, N> u = exp_minus_difference<Real, N>(top, bottom, low, past_leads, for_sums{});
  const pack<Real, N> rest = log1p_rest<Real, N>(u);
  pack<Real, N> added;
  repeat<N>([&](int k) { added.part[k] = fused<Real>(rest.part[k], u.part[k], u.part[k]); });
  repeat<N>([&](int k) { added.part[k] = add_where<Real>(past_leads[k], added.part[k], low.part[k]); });
  repeat<N>([&](int k) { s.high.part[k] = top.part[k] + added.part[k]; });
  repeat<N>([&](int k) { s.low.part[k] = s.high.part[k] - top.part[k]; });
  repeat<N>([&](int k) { s.low.part[k] = added.part[k] - s.low.part[k]; });
}

// The form in which the decay of a step is given.
struct decay_as_log_p {
  static constexpr bool two_part = false, bounded = false;  // bounded: log p <= 0 for every input
  template <class Real>
  static constexpr Real neutral = 0;  // p = 1
  template <class Real, int N>
  static decay_pack<Real, N> log_p(const pack<Real, N>& given) {
    return {given, {}};
  }
};

// log p = log sigmoid(g) = min(g, 0) - softplus(-|g|), with the rounding error of the difference. log p is -inf at g =
// -inf and 0 at g = +inf.
struct decay_as_logit {
  static constexpr bool two_part = true, bounded = true;
  template <class Real>
  static constexpr Real neutral = infinity<Real>;
  template <class Real, int N>
  static decay_pack<Real, N> log_p(const pack<Real, N>& g) {
    pack<Real, N> size, base;
    repeat<N>([&](int k) { size.part[k] = magnitude<Real>(g.part[k]); });
    repeat<N>([&](int k) { base.part[k] = smaller<Real>(vec<Real>{}, g.part[k]); });  // NaN stays
    const pack<Real, N> added = log1p_of<Real, N>(exp_minus<Real, N>(size, for_sums{}));
    decay_pack<Real, N> y;
    repeat<N>([&](int k) { y.high.part[k] = base.part[k] - added.part[k]; });
    repeat<N>([&](int k) { y.low.part[k] = base.part[k] - y.high.part[k]; });
    repeat<N>([&](int k) { y.low.part[k] = y.low.part[k] - added.part[k]; });
    return y;
  }
};
