// Blocks of queries: their logits and their outputs are products of matrices. A head that holds an infinity or a NaN is
// computed query by query instead, and key by key: in a product it would spread from keys that are kept apart.
#include "optimized/attention.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "optimized/matrix_product.hpp"
#include "optimized/numbers.hpp"

namespace assay::optimized {
namespace {

constexpr std::size_t queries_of_block = 64;

bool is_kept_apart(double bias) { return bias == -std::numeric_limits<double>::infinity(); }

bool all_finite(const std::vector<double>& x) {
  return std::all_of(x.begin(), x.end(), [](double y) { return std::isfinite(y); });
}

// A head in double, and the weights of its queries.
class attention_numbers {
 public:
  template <class Real>
  attention_numbers(const kernel_table& kernels, const attention_head<Real>& head)
      : n(head.q.shape[0]),
        m(head.k.shape[0]),
        d(head.q.shape[1]),
        e(head.v.shape[1]),
        q(numbers_of(head.q)),
        k(numbers_of(head.k)),
        v(numbers_of(head.v)),
        finite(all_finite(q) && all_finite(k) && all_finite(v)),
        bias_(head.bias),
        scale_(head.scale),
        exp_(kernels.f64.exp) {}

  const std::size_t n, m, d, e;
  const std::vector<double> q, k, v;
  const bool finite;

  [[nodiscard]] bool is_apart(std::size_t i, std::size_t j) const { return is_kept_apart(bias_[i * m + j]); }

  /// Weights of the queries [first, first + count) in w, [count, m].
  void find_weights(std::size_t first, std::size_t count, double* w) const {
    std::fill_n(w, count * m, 0.0);
    if (finite)
      add_product({q.data() + first * d, count, d, d}, {k.data(), d, m, d, true}, {w, count, m, m});
    else
      for (std::size_t i = 0; i < count; ++i)
        for (std::size_t j = 0; j < m; ++j)
          for (std::size_t c = 0; c < d; ++c) w[i * m + j] += q[(first + i) * d + c] * k[j * d + c];
    for (std::size_t i = 0; i < count; ++i) to_weights(bias_ + (first + i) * m, w + i * m);
  }

 private:
  // The logits of a query without scale and bias, in its weights: those of keys that are kept apart are 0.
  void to_weights(const double* bias, double* w) const {
    double largest = -std::numeric_limits<double>::infinity(), sum = 0;
    for (std::size_t j = 0; j < m; ++j) {
      // Not added: a NaN or infinity of a masked key would stay.
      w[j] = is_kept_apart(bias[j]) ? bias[j] : scale_ * w[j] + bias[j];
      if (!(w[j] <= largest)) largest = w[j];
    }
    for (std::size_t j = 0; j < m; ++j)
      if (!is_kept_apart(w[j])) w[j] -= largest;
    exp_(w, w, m);
    for (std::size_t j = 0; j < m; ++j) sum += w[j];
    for (std::size_t j = 0; j < m; ++j)
      if (w[j] != 0.0) w[j] /= sum;
  }
  const double* bias_;
  double scale_;
  decltype(kernel_table::f64.exp) exp_;
};

// visit(first, count) for blocks of queries.
template <class Visit>
void for_each_block_of_queries(std::size_t n, Visit visit) {
  for (std::size_t first = 0; first < n; first += queries_of_block) visit(first, std::min(queries_of_block, n - first));
}

// y += factor x
void add(double factor, const double* x, std::size_t count, double* y) {
  for (std::size_t c = 0; c < count; ++c) y[c] += factor * x[c];
}

}  // namespace

double logit_scale(bool inverse_sqrt, std::size_t width) {
  return inverse_sqrt && width > 0 ? 1.0 / std::sqrt(static_cast<double>(width)) : 1.0;
}

template <class Real>
void attend(const kernel_table& kernels, const attention_head<Real>& head, const view<Real, 2>& o) {
  const attention_numbers x(kernels, head);
  std::vector<double> out(x.n * x.e), w(std::min(queries_of_block, x.n) * x.m);
  for_each_block_of_queries(x.n, [&](std::size_t first, std::size_t count) {
    x.find_weights(first, count, w.data());
    if (x.finite) {
      add_product({w.data(), count, x.m, x.m}, {x.v.data(), x.m, x.e, x.e},
                  {out.data() + first * x.e, count, x.e, x.e});
      return;
    }
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t j = 0; j < x.m; ++j)
        if (!x.is_apart(first + i, j)) add(w[i * x.m + j], x.v.data() + j * x.e, x.e, out.data() + (first + i) * x.e);
  });
  store(out, o);
}

template <class Real>
void attend_vjp(const kernel_table& kernels, const attention_head<Real>& head, const view<const Real, 2>& grad_o,
                const attention_gradients<Real>& grad, double* grad_logits) {
  const attention_numbers x(kernels, head);
  const auto [n, m, d, e] = std::array{x.n, x.m, x.d, x.e};
  const std::vector<double> g = numbers_of(grad_o);
  const bool finite = x.finite && all_finite(g);
  const std::size_t most = std::min(queries_of_block, n);
  std::vector<double> grad_q(n * d), grad_k(m * d), grad_v(m * e), w(most * m), along(most * m), scaled(most * m);
  for_each_block_of_queries(n, [&, m = m, d = d, e = e](std::size_t first, std::size_t count) {
    const double *const q = x.q.data() + first * d, *const cotangents = g.data() + first * e;
    const auto rows = [&](std::vector<double>& numbers) { return matrix<double>{numbers.data(), count, m, m}; };
    x.find_weights(first, count, w.data());
    std::fill_n(along.begin(), count * m, 0.0);
    if (finite)
      add_product({cotangents, count, e, e}, {x.v.data(), e, m, e, true}, rows(along));
    else
      for (std::size_t i = 0; i < count; ++i)
        for (std::size_t j = 0; j < m; ++j)
          for (std::size_t c = 0; c < e; ++c) along[i * m + j] += cotangents[i * e + c] * x.v[j * e + c];

    for (std::size_t i = 0; i < count; ++i) {
      double mean = 0;
      for (std::size_t j = 0; j < m; ++j)
        if (!x.is_apart(first + i, j)) mean += w[i * m + j] * along[i * m + j];
      for (std::size_t j = 0; j < m; ++j) {
        const std::size_t at = i * m + j;
        const double of_logit = x.is_apart(first + i, j) ? 0.0 : w[at] * (along[at] - mean);
        grad_logits[first * m + at] = of_logit;
        scaled[at] = head.scale * of_logit;
      }
    }

    if (finite) {
      add_product(rows(scaled), {x.k.data(), m, d, d}, {grad_q.data() + first * d, count, d, d});
      add_product(transpose_of(matrix<const double>(rows(scaled))), {q, count, d, d}, {grad_k.data(), m, d, d});
      add_product(transpose_of(matrix<const double>(rows(w))), {cotangents, count, e, e}, {grad_v.data(), m, e, e});
      return;
    }
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t j = 0; j < m; ++j) {
        if (x.is_apart(first + i, j)) continue;
        add(scaled[i * m + j], x.k.data() + j * d, d, grad_q.data() + (first + i) * d);
        add(scaled[i * m + j], q + i * d, d, grad_k.data() + j * d);
        add(w[i * m + j], cotangents + i * e, e, grad_v.data() + j * e);
      }
  });
  store(grad_q, grad.q), store(grad_k, grad.k), store(grad_v, grad.v);
}

#define ASSAY_INSTANTIATE(Real)                                                                          \
  template void attend(const kernel_table&, const attention_head<Real>&, const view<Real, 2>&);          \
  template void attend_vjp(const kernel_table&, const attention_head<Real>&, const view<const Real, 2>&, \
                           const attention_gradients<Real>&, double*);
ASSAY_INSTANTIATE(float)
ASSAY_INSTANTIATE(double)
#undef ASSAY_INSTANTIATE

}  // namespace assay::optimized
