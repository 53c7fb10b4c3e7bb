// One task for each head of each row.
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

// visit(b, k, head) for every head of every row.
template <class Real, class Visit>
void for_each_head(const execution& on, const inputs<Real>& in, const std::vector<double>& bias, Visit visit) {
  const auto [B, h, n, d] = in.q.shape;
  const double scale = logit_scale(in.inverse_sqrt, d);
  const std::size_t pairs = n * in.k.shape[2];
  for_each_task(on.threads, B * h, [&, h = h](std::size_t i) {
    const std::size_t b = i / h, k = i % h;
    visit(b, k,
          attention_head<Real>{part(in.q, b, k), part(in.k, b, k), part(in.v, b, k), bias.data() + k * pairs, scale});
  });
}

}  // namespace

template <class Real>
void output(const execution& on, const inputs<Real>& in, const view<Real, 4>& o) {
  check(in);
  ASSAY_EXPECTS(has_shape(o, {in.q.shape[0], in.q.shape[1], in.q.shape[2], in.v.shape[3]}));
  for_each_head(on, in, numbers_of(in.bias), [&](std::size_t b, std::size_t k, const attention_head<Real>& head) {
    attend(*on.kernels, head, part(o, b, k));
  });
}

template <class Real>
void output_vjp(const execution& on, const inputs<Real>& in, const view<const Real, 4>& grad_o,
                const gradients<Real>& out) {
  check(in);
  ASSAY_EXPECTS(has_shape(grad_o, {in.q.shape[0], in.q.shape[1], in.q.shape[2], in.v.shape[3]}));
  ASSAY_EXPECTS(has_shape(out.q, in.q.shape) && has_shape(out.k, in.k.shape) && has_shape(out.v, in.v.shape));
  ASSAY_EXPECTS(has_shape(out.bias, in.bias.shape));
  const auto [h, n, m] = in.bias.shape;
  const std::size_t batch = in.q.shape[0], pairs = n * m;
  std::vector<double> logits(batch * h * pairs);
  for_each_head(on, in, numbers_of(in.bias),
                [&, h = h](std::size_t b, std::size_t k, const attention_head<Real>& head) {
                  attend_vjp(*on.kernels, head, part(grad_o, b, k),
                             attention_gradients<Real>{part(out.q, b, k), part(out.k, b, k), part(out.v, b, k)},
                             logits.data() + (b * h + k) * pairs);
                });
  // The batch shares the bias.
  for (std::size_t k = 0; k < h; ++k)
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < m; ++j) {
        double sum = 0;
        for (std::size_t b = 0; b < batch; ++b) sum += logits[(b * h + k) * pairs + i * m + j];
        *out.bias.at(k, i, j) = static_cast<Real>(sum);
      }
}

#define ASSAY_INSTANTIATE(Real)                                                      \
  template void output(const execution&, const inputs<Real>&, const view<Real, 4>&); \
  template void output_vjp(const execution&, const inputs<Real>&, const view<const Real, 4>&, const gradients<Real>&);
ASSAY_INSTANTIATE(float)
ASSAY_INSTANTIATE(double)
#undef ASSAY_INSTANTIATE

}  // namespace assay::optimized::attention
