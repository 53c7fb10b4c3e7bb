// The n^2 results are written once and never read, so memory limits the speed. Threads share blocks of columns that fit
// the first cache. The vectors that the compiler makes for the baseline suffice.
#include "optimized/encodings/fox/decay.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "optimized/dispatch.hpp"
#include "optimized/encodings/fox.hpp"
#include "optimized/numbers.hpp"
#include "reference/core/result.hpp"

namespace assay::optimized::fox {

template <class Real>
template <class Out>
void decay_rows<Real>::write_next(const view<Out, 1>& row) {
  const std::size_t i = next_++, columns = high_.size();
  const std::size_t begun = i <= first_ ? 0 : std::min(i - first_, columns);
  if (begun > 0) {
    const double a = *log_f_.at(i);
    double *const high = high_.data(), *const low = low_.data();
    with_step(row, [=, out = row.data](auto step) {
      for (std::size_t j = 0; j < begun; ++j) {
        Out& to = out[static_cast<std::ptrdiff_t>(j) * step];
        if constexpr (sizeof(Real) == sizeof(double)) {
          const double sum = high[j] + a, added = sum - high[j];
          low[j] += (high[j] - (sum - added)) + (a - added);
          high[j] = sum;
          const double corrected = sum + low[j];
          to = static_cast<Out>(sum - sum == 0.0 ? corrected : sum);  // an infinite sum has no remainder
        } else {
          high[j] += a;
          to = static_cast<Out>(high[j]);
        }
      }
    });
  }
  for (std::size_t j = begun; j < columns; ++j) *row.at(j) = -std::numeric_limits<Out>::infinity();
  if (i >= first_ && i - first_ < columns) *row.at(i - first_) = Out(0);
}

// Row i gives token l, for l <= i, the sum of the row's columns before l. For the tokens up to the first row, all rows
// contribute, so the columns of all rows are added first. The later rows are added from the last one backwards.
template <class Real>
void add_decay_gradient(const view<const Real, 2>& rows, std::size_t first, double* gradient) {
  constexpr std::size_t together = 8;
  const std::size_t count = rows.shape[0];
  std::vector<double> columns(first), before(count), corner(count);
  for (std::size_t i = 0; i < count; ++i) {
    const view<const Real, 1> row = part(rows, i);
    with_step(row, [&](auto step) {
      const auto element = [&](std::size_t j) {
        return static_cast<double>(row.data[static_cast<std::ptrdiff_t>(j) * step]);
      };
      std::array<double, together> sums{};
      std::size_t j = 0;
      for (; j + together <= first; j += together)
        for (std::size_t k = 0; k < together; ++k) {
          const double x = element(j + k);
          columns[j + k] += x;
          sums[k] += x;
        }
      for (; j < first; ++j) columns[j] += element(j), sums[0] += element(j);
      for (const double sum : sums) before[i] += sum;
    });
  }
  double sum = 0;
  for (std::size_t l = 1; l <= first; ++l) gradient[l] += sum += columns[l - 1];

  double sum_of_columns = 0;
  for (std::size_t i = count; i-- > 0;) {
    sum_of_columns += before[i];
    double inside = 0;
    for (std::size_t j = 0; j < i; ++j) inside += corner[j] += static_cast<double>(*rows.at(i, first + j));
    if (i > 0) gradient[first + i] += sum_of_columns + inside;
  }
}

namespace {

constexpr std::size_t block_size = 256;  // number of columns, and of rows

std::size_t blocks_of(std::size_t tokens) { return (tokens + block_size - 1) / block_size; }

// log sigmoid(g) and its slope.
double log_sigmoid(double g) { return std::min(g, 0.0) - std::log1p(std::exp(-std::fabs(g))); }
double slope(double g) { return g >= 0 ? std::exp(-g) / (1.0 + std::exp(-g)) : 1.0 / (1.0 + std::exp(g)); }

// Computes D from log f in double, [B, n, heads].
template <class Real>
void decay_of(const execution& on, const view<const double, 3>& log_f, const view<Real, 4>& D) {
  const auto [batch, n, heads] = log_f.shape;
  ASSAY_EXPECTS(has_shape(D, {batch, heads, n, n}));
  const std::size_t blocks = blocks_of(n);
  for_each_task(on.threads, batch * heads * blocks, [&, n = n, heads = heads](std::size_t task) {
    const std::size_t row = task / blocks / heads, head = task / blocks % heads;
    const std::size_t first = task % blocks * block_size, columns = std::min(block_size, n - first);
    decay_rows<Real> decay(lane_of(log_f, row, head), first, columns);
    for (std::size_t i = 0; i < n; ++i) decay.write_next(section(part(part(D, row, head), i), first, columns));
  });
}

// Computes the gradient of log f, [B, n, heads], by blocks in their order, which gives the same bits for any number of
// threads.
template <class Real>
void decay_gradient(const execution& on, const view<const Real, 4>& grad_D, const view<double, 3>& grad_log_f) {
  const auto [batch, n, heads] = grad_log_f.shape;
  ASSAY_EXPECTS(has_shape(grad_D, {batch, heads, n, n}));
  const std::size_t blocks = blocks_of(n);
  std::vector<double> parts(batch * heads * blocks * n);
  for_each_task(on.threads, batch * heads * blocks, [&, n = n, heads = heads](std::size_t task) {
    const std::size_t row = task / blocks / heads, head = task / blocks % heads, first = task % blocks * block_size;
    const std::size_t rows = std::min(block_size, n - first);
    add_decay_gradient(section(part(grad_D, row, head), first, rows), first, parts.data() + task * n);
  });
  for (std::size_t lane = 0; lane < batch * heads; ++lane)
    for (std::size_t l = 0; l < n; ++l) {
      double sum = 0;
      for (std::size_t block = 0; block < blocks; ++block) sum += parts[(lane * blocks + block) * n + l];
      *grad_log_f.at(lane / heads, l, lane % heads) = sum;
    }
}

}  // namespace

template <class Real>
void decay(const execution& on, const view<const Real, 3>& log_f, const view<Real, 4>& D) {
  ASSAY_EXPECTS(has_shape(log_f, log_f.shape));
  const std::vector<double> values = numbers_of(log_f);
  decay_of(on, dense<const double, 3>(values.data(), log_f.shape), D);
}
template <class Real>
void decay_vjp(const execution& on, const view<const Real, 4>& grad_D, const view<Real, 3>& grad_log_f) {
  ASSAY_EXPECTS(has_shape(grad_log_f, grad_log_f.shape));
  std::vector<double> gradient(grad_log_f.size());
  decay_gradient(on, grad_D, dense<double, 3>(gradient.data(), grad_log_f.shape));
  store(gradient, grad_log_f);
}
template <class Real>
void gated_decay(const execution& on, const view<const Real, 3>& g, const view<Real, 4>& D) {
  ASSAY_EXPECTS(has_shape(g, g.shape));
  std::vector<double> values = numbers_of(g);
  std::transform(values.begin(), values.end(), values.begin(), log_sigmoid);
  decay_of(on, dense<const double, 3>(values.data(), g.shape), D);
}
template <class Real>
void gated_decay_vjp(const execution& on, const view<const Real, 3>& g, const view<const Real, 4>& grad_D,
                     const view<Real, 3>& grad_g) {
  ASSAY_EXPECTS(has_shape(g, grad_g.shape) && has_shape(grad_g, grad_g.shape));
  const std::vector<double> gates = numbers_of(g);
  std::vector<double> gradient(gates.size());
  decay_gradient(on, grad_D, dense<double, 3>(gradient.data(), grad_g.shape));
  std::transform(gradient.begin(), gradient.end(), gates.begin(), gradient.begin(),
                 [](double gradient_of_log_f, double x) { return gradient_of_log_f * slope(x); });
  store(gradient, grad_g);
}

// Attention asks for rows in double.
template void decay_rows<float>::write_next(const view<double, 1>&);
template void decay_rows<double>::write_next(const view<double, 1>&);
template void add_decay_gradient(const view<const double, 2>&, std::size_t, double*);

#define ASSAY_INSTANTIATE(Real)                                                                           \
  template void decay(const execution&, const view<const Real, 3>&, const view<Real, 4>&);                \
  template void decay_vjp(const execution&, const view<const Real, 4>&, const view<Real, 3>&);            \
  template void gated_decay(const execution&, const view<const Real, 3>&, const view<Real, 4>&);          \
  template void gated_decay_vjp(const execution&, const view<const Real, 3>&, const view<const Real, 4>&, \
                                const view<Real, 3>&);
ASSAY_INSTANTIATE(float)
ASSAY_INSTANTIATE(double)
#undef ASSAY_INSTANTIATE

}  // namespace assay::optimized::fox
