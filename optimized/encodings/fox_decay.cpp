// Every column is a running sum of its own that starts at the diagonal, so its error grows with the distance of the
// two tokens and not with their positions, and log f = -inf stays among the pairs that it separates. f32 is summed in
// f64, f64 with a second number for what the additions leave (Knuth 1998, section 4.2.2, theorem B). The n^2 results
// are written once and never read: memory is the limit, so blocks of columns, which fit the first cache, share the
// work, and the compiler's vectors of the baseline suffice.
#include "optimized/encodings/fox_decay.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "optimized/encodings/fox.hpp"
#include "optimized/numbers.hpp"
#include "reference/core/result.hpp"

namespace assay::optimized::fox {
namespace {

constexpr std::size_t block_columns = 256;

std::size_t blocks_of(std::size_t tokens) { return (tokens + block_columns - 1) / block_columns; }

/// Running sums of a block of columns, all given the same terms.
template <class Real>
class column_sums {
 public:
  /// Starts a column at 0.
  void start(std::size_t j) { high_[j] = low_[j] = 0.0; }
  /// Adds `a` to the first `count` columns and stores their sums, `step` elements apart.
  template <class Step>
  void add(double a, std::size_t count, Real* out, Step step) {
    for (std::size_t j = 0; j < count; ++j) {
      Real& to = out[static_cast<std::ptrdiff_t>(j) * step];
      if constexpr (sizeof(Real) == sizeof(double)) {
        const double sum = high_[j] + a, added = sum - high_[j];
        low_[j] += (high_[j] - (sum - added)) + (a - added);
        high_[j] = sum;
        const double corrected = sum + low_[j];
        to = sum - sum == 0.0 ? corrected : sum;  // an infinite sum has no remainder
      } else {
        high_[j] += a;
        to = static_cast<Real>(high_[j]);
      }
    }
  }

 private:
  std::array<double, block_columns> high_{}, low_{};
};

/// The columns [first, last) of one head, whose log f are [n] and D [n, n].
template <class Real>
void decay_columns(const view<const double, 1>& log_f, std::size_t first, std::size_t last, const view<Real, 2>& D) {
  column_sums<Real> sums;
  for (std::size_t i = 0; i < D.shape[0]; ++i) {
    const view<Real, 1> row = part(D, i);
    const std::size_t begun = i <= first ? 0 : std::min(i, last) - first;
    with_step(row, [&](auto step) { sums.add(*log_f.at(i), begun, row.at(first), step); });
    for (std::size_t j = first + begun; j < last; ++j) *row.at(j) = -std::numeric_limits<Real>::infinity();
    if (i < first || i >= last) continue;
    sums.start(i - first);
    *row.at(i) = Real(0);
  }
}

/// What the columns [first, last) of one head's cotangents add to its gradient: below each diagonal the sums of
/// the columns from the end on, added up over the columns before the token.
template <class Real>
void decay_columns_vjp(const view<const Real, 2>& cotangent, std::size_t first, std::size_t last, double* gradient) {
  std::array<double, block_columns> below{};
  for (std::size_t l = cotangent.shape[0]; l-- > first + 1;) {
    const std::size_t before = std::min(l, last) - first;
    const view<const Real, 1> row = part(cotangent, l);
    double sum = 0;
    for (std::size_t j = 0; j < before; ++j) below[j] += static_cast<double>(*row.at(first + j));
    for (std::size_t j = 0; j < before; ++j) sum += below[j];
    gradient[l] = sum;
  }
}

// Token by token of one row and head of [B, n, heads].
template <class T>
view<T, 1> lane_of(const view<T, 3>& gates, std::size_t row, std::size_t head) {
  return {gates.at(row, std::size_t{0}, head), {gates.shape[1]}, {gates.stride[1]}};
}

// log sigmoid(g), and its slope.
double log_sigmoid(double g) { return std::min(g, 0.0) - std::log1p(std::exp(-std::fabs(g))); }
double slope(double g) { return g >= 0 ? std::exp(-g) / (1.0 + std::exp(-g)) : 1.0 / (1.0 + std::exp(g)); }

}  // namespace

template <class Real>
void decay_of(const execution& on, const view<const double, 3>& log_f, const view<Real, 4>& D) {
  const auto [batch, n, heads] = log_f.shape;
  ASSAY_EXPECTS(has_shape(D, {batch, heads, n, n}));
  const std::size_t blocks = blocks_of(n);
  for_each_task(on.threads, batch * heads * blocks, [&, n = n, heads = heads](std::size_t task) {
    const std::size_t row = task / blocks / heads, head = task / blocks % heads;
    const std::size_t first = task % blocks * block_columns, last = std::min(first + block_columns, n);
    decay_columns(lane_of(log_f, row, head), first, last, part(D, row, head));
  });
}

/// By blocks in their order: the same bits for any number of threads.
template <class Real>
void decay_gradient(const execution& on, const view<const Real, 4>& grad_D, const view<double, 3>& grad_log_f) {
  const auto [batch, n, heads] = grad_log_f.shape;
  ASSAY_EXPECTS(has_shape(grad_D, {batch, heads, n, n}));
  const std::size_t blocks = blocks_of(n);
  std::vector<double> parts(batch * heads * blocks * n);
  for_each_task(on.threads, batch * heads * blocks, [&, n = n, heads = heads](std::size_t task) {
    const std::size_t row = task / blocks / heads, head = task / blocks % heads;
    const std::size_t first = task % blocks * block_columns, last = std::min(first + block_columns, n);
    decay_columns_vjp(part(grad_D, row, head), first, last, parts.data() + task * n);
  });
  for (std::size_t lane = 0; lane < batch * heads; ++lane)
    for (std::size_t l = 0; l < n; ++l) {
      double sum = 0;
      for (std::size_t block = 0; block < blocks; ++block) sum += parts[(lane * blocks + block) * n + l];
      *grad_log_f.at(lane / heads, l, lane % heads) = sum;
    }
}

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
                 [](double of_log_f, double x) { return of_log_f * slope(x); });
  store(gradient, grad_g);
}

#define ASSAY_INSTANTIATE(Real)                                                                           \
  template void decay_of(const execution&, const view<const double, 3>&, const view<Real, 4>&);           \
  template void decay_gradient(const execution&, const view<const Real, 4>&, const view<double, 3>&);     \
  template void decay(const execution&, const view<const Real, 3>&, const view<Real, 4>&);                \
  template void decay_vjp(const execution&, const view<const Real, 4>&, const view<Real, 3>&);            \
  template void gated_decay(const execution&, const view<const Real, 3>&, const view<Real, 4>&);          \
  template void gated_decay_vjp(const execution&, const view<const Real, 3>&, const view<const Real, 4>&, \
                                const view<Real, 3>&);
ASSAY_INSTANTIATE(float)
ASSAY_INSTANTIATE(double)
#undef ASSAY_INSTANTIATE

}  // namespace assay::optimized::fox
