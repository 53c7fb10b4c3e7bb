// The adjoint of the log-linear recurrence [Heinsen 2024, eqs. (1), (3)], features in lanes, step by step in time.

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
// Order: i = n..1 in every lane.
// Bound, to first order: each step multiplies what came before by w_i and adds the roundings of lambda and of
// w_i, whose relative error is at most u (6 + 4 |log p| + |t| + |z|) with t = log p + s_{i-1}, and 4 |log p|
// for logits alone; measured in tests/scan_vjp.cpp.
template <class Real, class Decay>
[[gnu::flatten]] void scan_rows_vjp(const adjoint_block<Real>& b) noexcept {
  for (std::size_t i = b.tokens; i-- > 0;) {
    const auto row = [i](auto* first, std::ptrdiff_t step) { return first + static_cast<std::ptrdiff_t>(i) * step; };
    const Real* previous = i == 0 ? b.before : row(b.s, b.s_step) - b.s_step;
    for_each_pack<Real>(b.features, [&](auto at) {
      const auto given = load(row(b.decay, b.decay_step), at);
      const auto h = load(row(b.h, b.h_step), at);
      const auto lambda = each(plus<Real>, load(row(b.grad_s, b.grad_s_step), at), load(b.high, at));
      const auto t = each(plus<Real>, Decay::log_p(given), load(previous, at));
      const auto z = each(gap<Real>, t, h);
      const auto e = each(exp_minus_magnitude<Real>, z);
      const auto past = each(past_gradient<Real>, t, z, e, lambda);
      store(b.high, at, past);
      store(row(b.grad_decay, b.grad_decay_step), at, each(times<Real>, past, Decay::slope(given)));
      store(row(b.grad_h, b.grad_h_step), at, each(input_gradient<Real>, h, z, e, lambda));
    });
  }
}
