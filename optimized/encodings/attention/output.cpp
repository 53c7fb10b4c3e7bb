// Each head of each row is one task.
#include <vector>

#include "optimized/attention.hpp"
#include "optimized/encodings/attention.hpp"
#include "optimized/numbers.hpp"
#include "reference/core/result.hpp"

namespace assay::optimized::attention {
namespace {

template <class Real>
void check(const inputs<Real>& in) {
  const auto [B, h, n, d] = in.q.shape;
  const std::size_t m = in.k.shape[2], e = in.v.shape[3];
  ASSAY_EXPECTS(has_shape(in.q, in.q.shape) && has_shape(in.k, {B, h, m, d}));
  ASSAY_EXPECTS(has_shape(in.v, {B, h, m, e}) && has_shape(in.bias, {h, n, m}));
}

template <class Real>
attention_head<Real> head_of(const inputs<Real>& in, std::size_t b, std::size_t k) {
  const view<const Real, 2> bias = part(in.bias, k);
  return {part(in.q, b, k), part(in.k, b, k), part(in.v, b, k), logit_scale(in.inverse_sqrt, in.q.shape[3]),
          [bias](std::size_t first, std::size_t count, double* to) {
            for (std::size_t i = 0; i < count; ++i)
              for_each_element(part(bias, first + i), [&](Real x) { *to++ = static_cast<double>(x); });
          }};
}

}  // namespace

template <class Real>
void output(const execution& on, const inputs<Real>& in, const view<Real, 4>& o) {
  check(in);
  const auto [B, h, n, d] = in.q.shape;
  ASSAY_EXPECTS(has_shape(o, {B, h, n, in.v.shape[3]}));
  for_each_task(on.threads, B * h, [&, h = h](std::size_t task) {
    const std::size_t b = task / h, k = task % h;
    attend(*on.kernels, head_of(in, b, k), part(o, b, k));
  });
}

// All rows of the batch share the bias. Each head is therefore one task, which adds the bias gradients of the rows.
template <class Real>
void output_vjp(const execution& on, const inputs<Real>& in, const view<const Real, 4>& grad_o,
                const gradients<Real>& out) {
  check(in);
  const auto [h, n, m] = in.bias.shape;
  const std::size_t batch = in.q.shape[0];
  ASSAY_EXPECTS(has_shape(grad_o, {batch, h, n, in.v.shape[3]}));
  ASSAY_EXPECTS(has_shape(out.q, in.q.shape) && has_shape(out.k, in.k.shape) && has_shape(out.v, in.v.shape));
  ASSAY_EXPECTS(has_shape(out.bias, in.bias.shape));
  for_each_task(on.threads, h, [&, n = n, m = m](std::size_t k) {
    std::vector<double> sums(n * m);
    for (std::size_t b = 0; b < batch; ++b)
      attend_vjp(*on.kernels, head_of(in, b, k), part(grad_o, b, k),
                 {part(out.q, b, k), part(out.k, b, k), part(out.v, b, k),
                  [&](std::size_t first, std::size_t count, const double* grad_logits) {
                    double* to = sums.data() + first * m;
                    for (std::size_t i = 0; i < count * m; ++i) to[i] += grad_logits[i];
                  }});
    store(sums, part(out.bias, k));
  });
}

#define ASSAY_INSTANTIATE(Real)                                                      \
  template void output(const execution&, const inputs<Real>&, const view<Real, 4>&); \
  template void output_vjp(const execution&, const inputs<Real>&, const view<const Real, 4>&, const gradients<Real>&);
ASSAY_INSTANTIATE(float)
ASSAY_INSTANTIATE(double)
#undef ASSAY_INSTANTIATE

}  // namespace assay::optimized::attention
