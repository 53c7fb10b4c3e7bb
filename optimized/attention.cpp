// Works on blocks of queries. The logits and the outputs of a block are products of matrices; keys that the mask hides
// from all queries of the block are left out. A head that holds an infinity or a NaN is computed one query and one key
// at a time instead: in a product of matrices, the infinity or the NaN would spread from keys that the mask hides.
#include "optimized/attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "optimized/matrix_product.hpp"
#include "optimized/numbers.hpp"

namespace assay::optimized {
namespace {

constexpr std::size_t queries_of_block = 64;

bool is_kept_apart(double bias) { return bias == -std::numeric_limits<double>::infinity(); }

template <class Number>
bool all_finite(const std::vector<Number>& x) {
  return std::all_of(x.begin(), x.end(), [](Number y) { return std::isfinite(y); });
}

// The largest Euclidean norm of a row; NaN if a norm is NaN.
template <class Real>
double largest_norm(const view<Real, 2>& rows) {
  double most = 0;
  for (std::size_t i = 0; i < rows.shape[0]; ++i) {
    double sum = 0;
    for_each_element(part(rows, i), [&](Real x) { sum += static_cast<double>(x) * static_cast<double>(x); });
    if (std::isnan(sum)) return sum;
    most = std::max(most, sum);
  }
  return std::sqrt(most);
}

// A product of a row of queries and a row of keys stays below this bound, so that no partial sum overflows.
constexpr double largest_product = 0x1p1000;

// The queries [first, first + count), and the range of keys [first_key, end_key) that covers every key that some query
// keeps. The range may also contain keys that no query keeps.
struct block_of_queries {
  std::size_t first, count, first_key, end_key;
  [[nodiscard]] std::size_t keys() const { return end_key - first_key; }
};

// The loop starts at the last query, because under a causal mask the last query keeps the most keys.
block_of_queries block_of(const double* bias, std::size_t first, std::size_t count, std::size_t keys) {
  std::size_t from = keys, end = 0;
  for (std::size_t i = count; i-- > 0;) {
    const double* row = bias + i * keys;
    std::size_t j = 0, k = keys;
    while (j < from && is_kept_apart(row[j])) ++j;
    while (k > end && is_kept_apart(row[k - 1])) --k;
    from = j, end = k;
  }
  return {first, count, std::min(from, end), end};
}

// y += factor x
template <class Number>
void add(Number factor, const Number* x, std::size_t count, Number* y) {
  for (std::size_t c = 0; c < count; ++c) y[c] += factor * x[c];
}

// The numbers of one head, with logits in double, and the weights of its queries.
template <class Number>
class attention_numbers {
 public:
  template <class Real>
  attention_numbers(const kernel_table& table, const attention_head<Real>& head)
      : n(head.q.shape[0]),
        m(head.k.shape[0]),
        d(head.q.shape[1]),
        e(head.v.shape[1]),
        q(numbers_of(head.q)),
        k(numbers_of(head.k)),
        v(numbers_of<Number>(head.v)),
        finite(largest_norm(head.q) * largest_norm(head.k) <= largest_product && all_finite(v)),
        scale(head.scale),
        kernels(kernels_for<Number>(table)) {}

  const std::size_t n, m, d, e;
  const std::vector<double> q, k;
  const std::vector<Number> v;
  const bool finite;  ///< all numbers and all products are finite
  const double scale;
  const optimized::kernels<Number>& kernels;

  [[nodiscard]] matrix<const Number> values(const block_of_queries& b) const {
    return {v.data() + b.first_key * e, b.keys(), e, e};
  }

  /// Adds the products to the bias of a block, [b.count, m], and writes the weights, [b.count, b.keys()].
  void find_weights(const block_of_queries& b, double* logits, Number* w) const {
    const double* keys = k.data() + b.first_key * d;
    std::vector<double> scaled(q.begin() + static_cast<std::ptrdiff_t>(b.first * d),
                               q.begin() + static_cast<std::ptrdiff_t>((b.first + b.count) * d));
    if (finite) {
      for (double& x : scaled) x *= scale;
      add_product({scaled.data(), b.count, d, d}, {keys, d, b.keys(), d, true},
                  {logits + b.first_key, b.count, b.keys(), m});
    } else {
      for (std::size_t i = 0; i < b.count; ++i)
        for (std::size_t j = 0; j < b.keys(); ++j) {
          double& logit = logits[i * m + b.first_key + j];
          // A masked logit gets no product: a NaN or an infinity of a masked key would stay in it.
          if (!is_kept_apart(logit)) logit += scale * product(scaled.data() + i * d, keys + j * d, d);
        }
    }
    for (std::size_t i = 0; i < b.count; ++i)
      kernels.softmax({b.keys(), logits + i * m + b.first_key, w + i * b.keys()});
  }

  template <class T>
  static T product(const T* x, const T* y, std::size_t count) {
    T sum = 0;
    for (std::size_t c = 0; c < count; ++c) sum += x[c] * y[c];
    return sum;
  }
};

// Calls visit(block, bias) for every block of queries.
template <class Number, class Real, class Visit>
void for_each_block(const attention_numbers<Number>& x, const attention_head<Real>& head, Visit visit) {
  std::vector<double> bias(std::min(queries_of_block, x.n) * x.m);
  for (std::size_t first = 0; first < x.n; first += queries_of_block) {
    const std::size_t count = std::min(queries_of_block, x.n - first);
    head.write_bias(first, count, bias.data());
    visit(block_of(bias.data(), first, count, x.m), bias.data());
  }
}

template <class Number, class Real>
void attend_in(const kernel_table& kernels, const attention_head<Real>& head, const view<Real, 2>& o) {
  const attention_numbers<Number> x(kernels, head);
  const std::size_t m = x.m, e = x.e;
  std::vector<Number> out(x.n * e), w(std::min(queries_of_block, x.n) * m);
  for_each_block(x, head, [&](const block_of_queries& b, double* logits) {
    const std::vector<double> bias =
        x.finite ? std::vector<double>{} : std::vector<double>(logits, logits + b.count * m);
    x.find_weights(b, logits, w.data());
    Number* to = out.data() + b.first * e;
    if (x.finite) return add_product({w.data(), b.count, b.keys(), b.keys()}, x.values(b), {to, b.count, e, e});
    for (std::size_t i = 0; i < b.count; ++i)
      for (std::size_t j = 0; j < b.keys(); ++j)
        if (!is_kept_apart(bias[i * m + b.first_key + j]))
          add(w[i * b.keys() + j], x.v.data() + (b.first_key + j) * e, e, to + i * e);
  });
  store(out, o);
}

template <class Number, class Real>
void attend_vjp_in(const kernel_table& kernels, const attention_head<Real>& head, const view<const Real, 2>& grad_o,
                   const attention_gradients<Real>& grad) {
  const attention_numbers<Number> x(kernels, head);
  const std::size_t m = x.m, d = x.d, e = x.e;
  const std::vector<Number> q = numbers_of<Number>(head.q), k = numbers_of<Number>(head.k),
                            g = numbers_of<Number>(grad_o);
  const bool finite = x.finite && all_finite(g);
  const std::size_t pairs = std::min(queries_of_block, x.n) * m;
  std::vector<Number> grad_q(x.n * d), grad_k(m * d), grad_v(m * e), w(pairs), along(pairs);
  std::vector<double> grad_logits(pairs);
  for_each_block(x, head, [&](const block_of_queries& b, double* logits) {
    const std::size_t keys = b.keys();
    // Where all numbers are finite, a logit is -inf exactly where the bias is -inf.
    const std::vector<double> copy = finite ? std::vector<double>{} : std::vector<double>(logits, logits + b.count * m);
    const double* bias = finite ? logits : copy.data();
    const Number *const cotangents = g.data() + b.first * e, *const keys_from = k.data() + b.first_key * d;
    x.find_weights(b, logits, w.data());
    if (finite) {
      std::fill_n(along.begin(), b.count * keys, Number(0));
      add_product({cotangents, b.count, e, e}, transpose_of(x.values(b)), {along.data(), b.count, keys, keys});
    } else {
      for (std::size_t i = 0; i < b.count; ++i)
        for (std::size_t j = 0; j < keys; ++j)
          along[i * keys + j] = x.product(cotangents + i * e, x.values(b).data + j * e, e);
    }
    std::fill_n(grad_logits.begin(), b.count * m, 0.0);
    for (std::size_t i = 0; i < b.count; ++i)
      x.kernels.softmax_vjp({keys, bias + i * m + b.first_key, w.data() + i * keys, along.data() + i * keys,
                             grad_logits.data() + i * m + b.first_key});
    grad.take_logits(b.first, b.count, grad_logits.data());

    Number *const grad_queries = grad_q.data() + b.first * d, *const grad_keys = grad_k.data() + b.first_key * d,
                  *const grad_values = grad_v.data() + b.first_key * e;
    const Number* queries = q.data() + b.first * d;
    if (finite) {
      const matrix<const Number> weights{w.data(), b.count, keys, keys}, products{along.data(), b.count, keys, keys};
      add_product(products, {keys_from, keys, d, d}, {grad_queries, b.count, d, d});
      add_product(transpose_of(products), {queries, b.count, d, d}, {grad_keys, keys, d, d});
      add_product(transpose_of(weights), {cotangents, b.count, e, e}, {grad_values, keys, e, e});
      return;
    }
    for (std::size_t i = 0; i < b.count; ++i)
      for (std::size_t j = 0; j < keys; ++j) {
        if (is_kept_apart(bias[i * m + b.first_key + j])) continue;
        add(along[i * keys + j], keys_from + j * d, d, grad_queries + i * d);
        add(along[i * keys + j], queries + i * d, d, grad_keys + j * d);
        add(w[i * keys + j], cotangents + i * e, e, grad_values + j * e);
      }
  });
  const auto scale_to = [&x](std::vector<Number>& numbers, const view<Real, 2>& to) {
    for (Number& y : numbers) y = static_cast<Number>(static_cast<double>(y) * x.scale);
    store(numbers, to);
  };
  scale_to(grad_q, grad.q), scale_to(grad_k, grad.k), store(grad_v, grad.v);
}

// Whether no intermediate result overflows in f32 and the largest one does not vanish. Products of three such rows,
// summed over 2^31 tokens, stay below 2^122; products of the largest rows stay above 2^-90. Rows that are far smaller
// than the largest row may lose digits to underflow, as in any f32 arithmetic.
template <class Real>
bool is_of_f32(const view<Real, 2>& rows) {
  constexpr double smallest = 0x1p-30, largest = 0x1p30;
  const double norm = largest_norm(rows);
  return norm == 0 || (norm >= smallest && norm <= largest);
}

}  // namespace

double logit_scale(bool inverse_sqrt, std::size_t width) {
  return inverse_sqrt && width > 0 ? 1.0 / std::sqrt(static_cast<double>(width)) : 1.0;
}

template <class Real>
void attend(const kernel_table& kernels, const attention_head<Real>& head, const view<Real, 2>& o) {
  if (std::is_same_v<Real, float> && !head.in_double && is_of_f32(head.v)) return attend_in<Real>(kernels, head, o);
  attend_in<double>(kernels, head, o);
}

template <class Real>
void attend_vjp(const kernel_table& kernels, const attention_head<Real>& head, const view<const Real, 2>& grad_o,
                const attention_gradients<Real>& grad) {
  if (std::is_same_v<Real, float> && !head.in_double && is_of_f32(head.q) && is_of_f32(head.k) && is_of_f32(head.v) &&
      is_of_f32(grad_o))
    return attend_vjp_in<Real>(kernels, head, grad_o, grad);
  attend_vjp_in<double>(kernels, head, grad_o, grad);
}

#define ASSAY_INSTANTIATE(Real)                                                                          \
  template void attend(const kernel_table&, const attention_head<Real>&, const view<Real, 2>&);          \
  template void attend_vjp(const kernel_table&, const attention_head<Real>&, const view<const Real, 2>&, \
                           const attention_gradients<Real>&);
ASSAY_INSTANTIATE(float)
ASSAY_INSTANTIATE(double)
#undef ASSAY_INSTANTIATE

}  // namespace assay::optimized
