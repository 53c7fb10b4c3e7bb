// The weights of a query, e^(l - largest l) / sum, for its logits l, and the adjoint.
//
// Domain: all logits. A logit of -inf has weight 0; if all logits are -inf, all weights are 0. A NaN makes all weights
// NaN, except those whose exponential is 0 (a logit of -inf, or far below the largest). If a logit is +inf, its own
// weight is NaN and all other weights are 0. Logits, their differences and all sums are doubles; exp and its results
// have type Real. The division is in double, and the weight is rounded once more.
//
// Bound of the relative error of a weight, to first order, in units of 2^-24. It is the sum of three parts: |l -
// largest l| + 1.57, for the rounded difference and for exp; the mean of this over the weights, for the sum, which is
// at most log m + 1.57 for m keys; and 1. In f64 the unit is 2^-53, 1.63 replaces 1.57, and the sum itself adds m / 2 +
// 2. tests/attention.cpp checks the bound.

// A register of Real, and the same number of doubles.
template <class Real>
inline vec<Real> load_register(const Real* from) {
  return load(from, whole_registers<1>{0}).part[0];
}
template <class Real>
inline void store_register(Real* to, vec<Real> x) {
  store(to, whole_registers<1>{0}, pack<Real, 1>{{x}});
}
template <class Real>
inline widened<Real> load_doubles(const double* from) {
  return load(from, whole_registers<doubles_of<Real>>{0});
}

// The elements that are left at the end of a row, in a register of their own.
template <class T, std::size_t Lanes>
struct filled_up {
  T lane[Lanes];
  filled_up(const T* from, std::size_t count, T rest) {
    for (T& x : lane) x = rest;
    __builtin_memcpy(lane, from, count * sizeof(T));
  }
};

// Adds the registers lane by lane, and then the lanes from the first to the last.
template <class Real>
inline double total(const widened<Real>& numbers) {
  double lanes[lane_count<Real>], sum = 0;
  store(lanes, whole_registers<doubles_of<Real>>{0}, numbers);
  for (const double x : lanes) sum += x;
  return sum;
}
template <class Real>
inline double largest(const widened<Real>& numbers) {
  double lanes[lane_count<Real>], most = -infinity<double>;
  store(lanes, whole_registers<doubles_of<Real>>{0}, numbers);
  for (const double x : lanes) most = x > most ? x : most;
  return most;
}

// Calls visit(logits, weights) for each register. Lanes beyond the end have logits of -inf.
template <class Real, class Visit>
inline void for_each_register(const softmax_row<Real>& row, Visit visit) {
  constexpr std::size_t lanes = lane_count<Real>;
  std::size_t k = 0;
  for (; k + lanes <= row.keys; k += lanes) visit(row.logits + k, row.weights + k);
  if (k == row.keys) return;
  const filled_up<double, lanes> logits(row.logits + k, row.keys - k, -infinity<double>);
  filled_up<Real, lanes> weights(row.weights + k, row.keys - k, 0);
  visit(logits.lane, weights.lane);
  __builtin_memcpy(row.weights + k, weights.lane, (row.keys - k) * sizeof(Real));
}

template <class Real>
[[gnu::flatten]] void softmax(const softmax_row<Real>& row) noexcept {
  using v = vec<double>;
  widened<Real> most = each([](v) { return broadcast(-infinity<double>); }, widened<Real>{}), sums{};
  for_each_register(
      row, [&](const double* logits, const Real*) { most = each(larger<double>, load_doubles<Real>(logits), most); });
  const double found = largest<Real>(most), top = found == -infinity<double> ? 0.0 : found;
  for_each_register(row, [&](const double* logits, Real* weights) {
    const vec<Real> power =
        exp_nonpositive<Real>(narrow(each([top](v l) { return l - top; }, load_doubles<Real>(logits))));
    sums = each(plus<double>, sums, widen(power));
    store_register(weights, power);
  });
  // For f32, a reciprocal in double changes a weight by 2^-52 of itself.
  const double sum = total<Real>(sums), reciprocal = 1.0 / sum;
  for_each_register(row, [=](const double*, Real* weights) {
    const vec<Real> power = load_register(weights);
    const vec<Real> weight = narrow(each(
        [=](v x) {
          if constexpr (sizeof(Real) == sizeof(float))
            return x * reciprocal;
          else
            return x / sum;
        },
        widen(power)));
    store_register(weights, where<Real>(equal<Real>(power, vec<Real>{}), power, weight));
  });
}

// Calls visit(bias, weights, along, grad_logits) for each register. Lanes beyond the end are masked.
template <class Real, class Visit>
inline void for_each_register(const softmax_adjoint_row<Real>& row, Visit visit) {
  constexpr std::size_t lanes = lane_count<Real>;
  std::size_t k = 0;
  for (; k + lanes <= row.keys; k += lanes) visit(row.bias + k, row.weights + k, row.along + k, row.grad_logits + k);
  const std::size_t rest = row.keys - k;
  if (rest == 0) return;
  const filled_up<double, lanes> bias(row.bias + k, rest, -infinity<double>);
  const filled_up<Real, lanes> weights(row.weights + k, rest, 0);
  filled_up<Real, lanes> along(row.along + k, rest, 0);
  filled_up<double, lanes> grad_logits(row.grad_logits + k, rest, 0);
  visit(bias.lane, weights.lane, along.lane, grad_logits.lane);
  __builtin_memcpy(row.along + k, along.lane, rest * sizeof(Real));
  __builtin_memcpy(row.grad_logits + k, grad_logits.lane, rest * sizeof(double));
}

// The gradient of a logit is its weight times the difference between its number `along` (the product of its value and
// the cotangent) and the weighted mean of these numbers.
template <class Real>
[[gnu::flatten]] void softmax_vjp(const softmax_adjoint_row<Real>& row) noexcept {
  using v = vec<double>;
  const auto where_kept = [](v bias, v x) {
    return where<double>(equal<double>(bias, broadcast(-infinity<double>)), v{}, x);
  };
  widened<Real> sums{};
  for_each_register(row, [&](const double* bias, const Real* weights, const Real* along, const double*) {
    sums = each([=](v sum, v b, v w, v x) { return sum + where_kept(b, w * x); }, sums, load_doubles<Real>(bias),
                widen(load_register(weights)), widen(load_register(along)));
  });
  const double mean = total<Real>(sums);
  for_each_register(row, [&](const double* bias, const Real* weights, Real* along, double* grad_logits) {
    const auto gradient_of_logits =
        each([=](v b, v w, v x) { return where_kept(b, w * (x - mean)); }, load_doubles<Real>(bias),
             widen(load_register(weights)), widen(load_register(along)));
    store(grad_logits, whole_registers<doubles_of<Real>>{0}, gradient_of_logits);
    store_register(along, narrow(gradient_of_logits));
  });
}
