#include "optimized/attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "optimized/dispatch.hpp"

namespace assay::optimized {
namespace {

// [rows, columns] as [columns, rows]: sums over columns then run along rows, in vectors and in one order.
std::vector<double> transposed(const double* x, std::size_t rows, std::size_t columns) {
  std::vector<double> out(rows * columns);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) out[j * rows + i] = x[i * columns + j];
  return out;
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
  explicit attention_rows(const attention_head& head)
      : head_(head), keys_(transposed(head.k, head.keys, head.width)), weights_(head.keys) {}

  const std::vector<double>& weights(std::size_t i) {
    products(head_.q + i * head_.width, keys_, head_.width, weights_);
    const double* bias = head_.bias + i * head_.keys;
    double largest = -std::numeric_limits<double>::infinity(), sum = 0;
    for (std::size_t j = 0; j < head_.keys; ++j) {
      // Not added: a NaN or infinity of a masked key would stay.
      weights_[j] = is_kept_apart(bias[j]) ? bias[j] : head_.scale * weights_[j] + bias[j];
      if (!(weights_[j] <= largest)) largest = weights_[j];
    }
    for (double& w : weights_)
      if (!is_kept_apart(w)) w -= largest;
    kernels_.exp(weights_.data(), weights_.data(), weights_.size());
    for (const double w : weights_) sum += w;
    for (double& w : weights_)
      if (w != 0.0) w /= sum;
    return weights_;
  }

 private:
  const attention_head& head_;
  const kernels<double>& kernels_ = active_kernels().f64;
  std::vector<double> keys_, weights_;
};

}  // namespace

void attention_gradients::store_head(std::size_t index, std::vector<double>& all_q, std::vector<double>& all_k,
                                     std::vector<double>& all_v, std::vector<double>& all_logits) const {
  const auto store = [index](const std::vector<double>& from, std::vector<double>& to) {
    std::copy(from.begin(), from.end(), to.begin() + static_cast<std::ptrdiff_t>(index * from.size()));
  };
  store(q, all_q), store(k, all_k), store(v, all_v), store(logits, all_logits);
}

double logit_scale(bool inverse_sqrt, std::size_t width) {
  return inverse_sqrt && width > 0 ? 1.0 / std::sqrt(static_cast<double>(width)) : 1.0;
}

void attend(const attention_head& head, double* out) {
  attention_rows rows(head);
  for (std::size_t i = 0; i < head.queries; ++i) {
    double* o = out + i * head.value_width;
    std::fill(o, o + head.value_width, 0.0);
    const std::vector<double>& weights = rows.weights(i);
    for (std::size_t j = 0; j < head.keys; ++j)
      if (!is_kept_apart(head.bias[i * head.keys + j]))
        add(weights[j], head.v + j * head.value_width, head.value_width, o);
  }
}

attention_gradients attend_vjp(const attention_head& head, const double* grad_out) {
  const std::size_t n = head.queries, m = head.keys, d = head.width, e = head.value_width;
  attention_gradients grad{std::vector<double>(n * d), std::vector<double>(m * d), std::vector<double>(m * e),
                           std::vector<double>(n * m)};
  attention_rows rows(head);
  const std::vector<double> values = transposed(head.v, m, e);
  std::vector<double> along(m);
  for (std::size_t i = 0; i < n; ++i) {
    const double *cotangent = grad_out + i * e, *bias = head.bias + i * m;
    const std::vector<double>& weights = rows.weights(i);
    products(cotangent, values, e, along);
    double mean = 0;
    for (std::size_t j = 0; j < m; ++j)
      if (!is_kept_apart(bias[j])) mean += weights[j] * along[j];
    for (std::size_t j = 0; j < m; ++j) {
      if (is_kept_apart(bias[j])) continue;
      const double grad_logit = weights[j] * (along[j] - mean), scaled = head.scale * grad_logit;
      grad.logits[i * m + j] = grad_logit;
      add(scaled, head.k + j * d, d, grad.q.data() + i * d);
      add(scaled, head.q + i * d, d, grad.k.data() + j * d);
      add(weights[j], cotangent, e, grad.v.data() + j * e);
    }
  }
  return grad;
}

}  // namespace assay::optimized
