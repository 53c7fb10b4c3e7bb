#include "optimized/attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "optimized/numbers.hpp"

namespace assay::optimized {
namespace {

// [rows, columns] as [columns, rows]: sums over columns then run along rows, in vectors and in one order.
template <class Real>
std::vector<double> columns_of(const view<const Real, 2>& x) {
  return numbers_of(view<const Real, 2>{x.data, {x.shape[1], x.shape[0]}, {x.stride[1], x.stride[0]}});
}

// out_j = sum over c of x_c y_cj, y [width, count].
void products(const double* x, const std::vector<double>& y, std::size_t width, std::vector<double>& out) {
  const std::size_t count = out.size();
  std::fill(out.begin(), out.end(), 0.0);
  for (std::size_t c = 0; c < width; ++c)
    for (std::size_t j = 0; j < count; ++j) out[j] += x[c] * y[c * count + j];
}

// y += factor x
void add(double factor, const double* x, std::size_t count, double* y) {
  for (std::size_t c = 0; c < count; ++c) y[c] += factor * x[c];
}

bool is_kept_apart(double bias) { return bias == -std::numeric_limits<double>::infinity(); }

// Weights of one row after another.
class attention_rows {
 public:
  template <class Real>
  attention_rows(const kernel_table& kernels, const attention_head<Real>& head)
      : queries_(numbers_of(head.q)),
        keys_(columns_of(head.k)),
        bias_(head.bias),
        scale_(head.scale),
        width_(head.q.shape[1]),
        exp_(kernels.f64.exp),
        weights_(head.k.shape[0]) {}

  [[nodiscard]] const double* query(std::size_t i) const { return queries_.data() + i * width_; }
  [[nodiscard]] const double* bias(std::size_t i) const { return bias_ + i * weights_.size(); }

  const std::vector<double>& weights(std::size_t i) {
    products(query(i), keys_, width_, weights_);
    double largest = -std::numeric_limits<double>::infinity(), sum = 0;
    for (std::size_t j = 0; j < weights_.size(); ++j) {
      // Not added: a NaN or infinity of a masked key would stay.
      weights_[j] = is_kept_apart(bias(i)[j]) ? bias(i)[j] : scale_ * weights_[j] + bias(i)[j];
      if (!(weights_[j] <= largest)) largest = weights_[j];
    }
    for (double& w : weights_)
      if (!is_kept_apart(w)) w -= largest;
    exp_(weights_.data(), weights_.data(), weights_.size());
    for (const double w : weights_) sum += w;
    for (double& w : weights_)
      if (w != 0.0) w /= sum;
    return weights_;
  }

 private:
  std::vector<double> queries_, keys_;
  const double* bias_;
  double scale_;
  std::size_t width_;
  decltype(kernel_table::f64.exp) exp_;
  std::vector<double> weights_;
};

}  // namespace

double logit_scale(bool inverse_sqrt, std::size_t width) {
  return inverse_sqrt && width > 0 ? 1.0 / std::sqrt(static_cast<double>(width)) : 1.0;
}

template <class Real>
void attend(const kernel_table& kernels, const attention_head<Real>& head, const view<Real, 2>& o) {
  const std::size_t e = head.v.shape[1];
  attention_rows rows(kernels, head);
  const std::vector<double> values = numbers_of(head.v);
  std::vector<double> all(o.size());
  for (std::size_t i = 0; i < o.shape[0]; ++i) {
    const std::vector<double>& weights = rows.weights(i);
    for (std::size_t j = 0; j < weights.size(); ++j)
      if (!is_kept_apart(rows.bias(i)[j])) add(weights[j], values.data() + j * e, e, all.data() + i * e);
  }
  store(all, o);
}

template <class Real>
void attend_vjp(const kernel_table& kernels, const attention_head<Real>& head, const view<const Real, 2>& grad_o,
                const attention_gradients<Real>& grad, double* grad_logits) {
  const std::size_t n = head.q.shape[0], m = head.k.shape[0], d = head.q.shape[1], e = head.v.shape[1];
  std::vector<double> grad_q(n * d), grad_k(m * d), grad_v(m * e), along(m);
  attention_rows rows(kernels, head);
  const std::vector<double> keys = numbers_of(head.k), values = columns_of(head.v), cotangents = numbers_of(grad_o);
  for (std::size_t i = 0; i < n; ++i) {
    const double *cotangent = cotangents.data() + i * e, *bias = rows.bias(i);
    const std::vector<double>& weights = rows.weights(i);
    products(cotangent, values, e, along);
    double mean = 0;
    for (std::size_t j = 0; j < m; ++j)
      if (!is_kept_apart(bias[j])) mean += weights[j] * along[j];
    for (std::size_t j = 0; j < m; ++j) {
      if (is_kept_apart(bias[j])) continue;
      const double grad_logit = weights[j] * (along[j] - mean), scaled = head.scale * grad_logit;
      grad_logits[i * m + j] = grad_logit;
      add(scaled, keys.data() + j * d, d, grad_q.data() + i * d);
      add(scaled, rows.query(i), d, grad_k.data() + j * d);
      add(weights[j], cotangent, e, grad_v.data() + j * e);
    }
  }
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
