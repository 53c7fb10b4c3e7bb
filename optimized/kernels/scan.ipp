// The log-linear recurrence [Heinsen 2024, eqs. (1), (3)] and its adjoint, features in lanes, step by step
// in time.

// s_i = log(e^(log p_i + s_{i-1}) + e^(h_i)), i = 1..n; s_n is the last state, s0 where n = 0.
//
// Domain: log p <= 0 or -inf, h and s0 finite or -inf; other values give the IEEE result of the formula.
// Special values: log p_i = -inf or s_{i-1} = -inf: s_i = h_i; h_i = -inf: s_i = log p_i + s_{i-1}, one
// rounding; NaN stays in its lane, from its token on.
// Order: i = 1..n in every lane; the lanes are independent, so no result depends on their number.
// Bound, to first order: each step multiplies what came before by its weight w_i <= 1 and adds the roundings of
// t = log p_i + s_{i-1} (by w_i), of exp, of log1p and of the sum [Higham 2002, section 3.3: running error];
// measured in tests/scan_values.cpp.
template <class Real, class Decay>
[[gnu::flatten]] void scan(const scan_block<Real>& b) noexcept {
  const Real* previous = b.s0;
  for (std::size_t i = 0; i < b.tokens; ++i) {
    const Real* decay = b.decay + i * b.input_stride;
    const Real* h = b.h + i * b.input_stride;
    Real* s = b.s + i * b.state_stride;
    for_each_pack<Real>(b.features, [=](auto at) {
      const auto t = each(plus<Real>, Decay::log_p(load(decay, at)), load(previous, at));
      store(s, at, log_sum_exp(t, load(h, at)));
    });
    previous = s;
  }
  for_each_pack<Real>(b.features, [&](auto at) { store(b.s_n, at, load(previous, at)); });
}

// w lambda and v lambda of the adjoint below, e = e^-|z|.
template <class Real>
inline vec<Real> past_gradient(vec<Real> t, vec<Real> z, vec<Real> e, vec<Real> lambda) {
  return t == -infinity<Real> ? vec<Real>{} : sigmoid<Real>(z, e) * lambda;
}

template <class Real>
inline vec<Real> input_gradient(vec<Real> h, vec<Real> z, vec<Real> e, vec<Real> lambda) {
  return h == -infinity<Real> ? vec<Real>{} : sigmoid<Real>(-z, e) * lambda;
}

// The adjoint: with w_i = sigmoid(z_i), v_i = sigmoid(-z_i), z_i = log p_i + s_{i-1} - h_i,
//   lambda_i = grad_s_i + w_{i+1} lambda_{i+1}, where the last product starts as grad_s_n,
//   grad log p_i = w_i lambda_i, grad g_i = w_i lambda_i sigmoid(-g_i), grad h_i = v_i lambda_i,
//   grad s0 = w_1 lambda_1, and grad_s_n where n = 0.
//
// Special values: log p_i + s_{i-1} = -inf makes the first product 0, h_i = -inf the third, whatever lambda_i
// is; if one of the two holds, the other weight is 1. The weights of two equal infinities +inf are 1/2. A NaN
// stays in its lane.
// Order: i = n..1 in every lane. grad_s0 carries w_{i+1} lambda_{i+1} from token to token.
// Bound, to first order: each step multiplies what came before by w_i and adds the roundings of lambda and of
// w_i, whose relative error is at most u (6 + 4 |log p| + |t| + |z|) with t = log p + s_{i-1}, and 4 |log p|
// for logits alone; measured in tests/scan_vjp.cpp.
template <class Real, class Decay>
[[gnu::flatten]] void scan_vjp(const scan_vjp_block<Real>& b) noexcept {
  Real* carry = b.grad_s0;
  for_each_pack<Real>(b.features, [&](auto at) { store(carry, at, load(b.grad_s_n, at)); });
  for (std::size_t i = b.tokens; i-- > 0;) {
    const std::size_t input_row = i * b.input_stride;
    const std::size_t state_row = i * b.state_stride;
    const Real* previous = i == 0 ? b.s0 : b.s + (state_row - b.state_stride);
    for_each_pack<Real>(b.features, [&](auto at) {
      const auto given = load(b.decay + input_row, at);
      const auto h = load(b.h + input_row, at);
      const auto lambda = each(plus<Real>, load(b.grad_s + state_row, at), load(carry, at));
      const auto t = each(plus<Real>, Decay::log_p(given), load(previous, at));
      const auto z = each(gap<Real>, t, h);
      const auto e = each(exp_minus_magnitude<Real>, z);
      const auto past = each(past_gradient<Real>, t, z, e, lambda);
      store(carry, at, past);
      store(b.grad_decay + input_row, at, each(times<Real>, past, Decay::slope(given)));
      store(b.grad_h + input_row, at, each(input_gradient<Real>, h, z, e, lambda));
    });
  }
}
