// The functions of one step of the recurrence: log-sum-exp, the weights of its terms, and log-sigmoid.
//
// All are functions of e = exp(-|z|), so nothing overflows and no 1 - w cancels. NaN in any argument gives
// NaN. Bound: exp and log1p are below 1 ulp (exp.ipp, log1p.ipp); a sigmoid adds the roundings of one addition
// and one division, log-sum-exp and log-sigmoid that of one addition.

// e^-|x|
template <class Real>
inline vec<Real> exp_minus_magnitude(vec<Real> x) {
  return exp_nonpositive<Real>(x < Real(0) ? x : -x);
}

// t - h, and 0 where t = h, equal infinities among them.
template <class Real>
inline vec<Real> gap(vec<Real> t, vec<Real> h) {
  return t == h ? vec<Real>{} : t - h;
}

// log(e^t + e^h) = max(t, h) + log1p(e^-|t - h|). With one term -inf it is the other term, bit for bit; with
// both it is -inf; with one +inf it is +inf.
template <class Real, int N>
inline pack<Real, N> log_sum_exp(const pack<Real, N>& t, const pack<Real, N>& h) {
  using v = vec<Real>;
  const auto e = each([](v x, v y) { return exp_minus_magnitude<Real>(gap<Real>(x, y)); }, t, h);
  const auto largest = [](v x, v y) { return x > y ? x : y; };  // a NaN in x comes back through the gap
  return each([=](v x, v y, v z) { return largest(x, y) + log1p_unit<Real>(z); }, t, h, e);
}

// sigmoid(z), given e = e^-|z|; sigmoid(-z) with the sign turned.
template <class Real>
inline vec<Real> sigmoid(vec<Real> z, vec<Real> e) {
  return (z < Real(0) ? e : broadcast(Real(1))) / (Real(1) + e);
}

// How the decay of a step is given: log p and its derivative in what is given.
struct given_as_log_p {
  template <class Real, int N>
  static pack<Real, N> log_p(const pack<Real, N>& given) {
    return given;
  }
  template <class Real, int N>
  static pack<Real, N> slope(const pack<Real, N>& given) {
    return each([](vec<Real>) { return broadcast(Real(1)); }, given);
  }
};

// log p = log sigmoid(g) = min(g, 0) - log1p(e^-|g|), of slope sigmoid(-g). -inf at g = -inf, 0 at +inf.
struct given_as_logit {
  template <class Real, int N>
  static pack<Real, N> log_p(const pack<Real, N>& g) {
    using v = vec<Real>;
    const auto e = each([](v x) { return exp_minus_magnitude<Real>(x); }, g);
    return each([](v x, v y) { return (x < Real(0) ? x : v{}) - log1p_unit<Real>(y); }, g, e);
  }
  template <class Real, int N>
  static pack<Real, N> slope(const pack<Real, N>& g) {
    using v = vec<Real>;
    const auto e = each([](v x) { return exp_minus_magnitude<Real>(x); }, g);
    return each([](v x, v y) { return sigmoid<Real>(-x, y); }, g, e);
  }
};
