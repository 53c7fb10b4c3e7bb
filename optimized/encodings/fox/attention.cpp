// Attention whose bias is the decay. Each head computes the decay row by row, as attention asks for it, and so never
// keeps n^2 numbers.
#include "optimized/attention.hpp"

#include <vector>

#include "optimized/encodings/fox.hpp"
#include "optimized/encodings/fox/decay.hpp"
#include "optimized/numbers.hpp"
#include "reference/core/result.hpp"

namespace assay::optimized::fox {
namespace {

template <class Real>
void check(const attention_inputs<Real>& in) {
  const auto [B, h, n, d] = in.q.shape;
  ASSAY_EXPECTS(has_shape(in.q, {B, h, n, d}) && has_shape(in.k, {B, h, n, d}));
  ASSAY_EXPECTS(has_shape(in.v, {B, h, n, in.v.shape[3]}) && has_shape(in.log_f, {B, n, h}));
}

// Calls visit(b, k, head) for every head of every row. The bias of the head is the decay.
template <class Real, class Visit>
void for_each_head(const execution& on, const attention_inputs<Real>& in, bool in_double, Visit visit) {
  const auto [B, h, n, d] = in.q.shape;
  const double scale = logit_scale(in.inverse_sqrt, d);
  for_each_task(on.threads, B * h, [&, h = h, n = n](std::size_t task) {
    const std::size_t b = task / h, k = task % h;
    const std::vector<double> log_f = numbers_of(lane_of(in.log_f, b, k));
    decay_rows<Real> decay(dense<const double, 1>(log_f.data(), {n}), 0, n);
    visit(b, k,
          attention_head<Real>{part(in.q, b, k), part(in.k, b, k), part(in.v, b, k), scale,
                               [&](std::size_t, std::size_t count, double* to) {
                                 for (std::size_t i = 0; i < count; ++i)
                                   decay.write_next(dense<double, 1>(to + i * n, {n}));
                               },
                               in_double});
  });
}

}  // namespace

// Computes in double, which takes 1.4 times as long. In f32 the outputs would no longer be of class uniform.
template <class Real>
void attention(const execution& on, const attention_inputs<Real>& in, const view<Real, 4>& o) {
  check(in);
  const auto [B, h, n, d] = in.q.shape;
  ASSAY_EXPECTS(has_shape(o, {B, h, n, in.v.shape[3]}));
  for_each_head(on, in, true, [&](std::size_t b, std::size_t k, const attention_head<Real>& head) {
    attend(*on.kernels, head, part(o, b, k));
  });
}

template <class Real>
void attention_vjp(const execution& on, const attention_inputs<Real>& in, const view<const Real, 4>& grad_o,
                   const attention_gradients<Real>& out) {
  check(in);
  const auto [B, h, n, d] = in.q.shape;
  ASSAY_EXPECTS(has_shape(grad_o, {B, h, n, in.v.shape[3]}) && has_shape(out.q, in.q.shape));
  ASSAY_EXPECTS(has_shape(out.k, in.k.shape) && has_shape(out.v, in.v.shape) && has_shape(out.log_f, in.log_f.shape));
  for_each_head(on, in, false, [&, n = n](std::size_t b, std::size_t k, const attention_head<Real>& head) {
    std::vector<double> gradient_of_log_f(n);
    attend_vjp(
        *on.kernels, head, part(grad_o, b, k),
        {part(out.q, b, k), part(out.k, b, k), part(out.v, b, k),
         [&](std::size_t first, std::size_t count, const double* gradient_of_D) {
           add_decay_gradient(dense<const double, 2>(gradient_of_D, {count, n}), first, gradient_of_log_f.data());
         }});
    store(gradient_of_log_f, lane_of(out.log_f, b, k));
  });
}

#define ASSAY_INSTANTIATE(Real)                                                                            \
  template void attention(const execution&, const attention_inputs<Real>&, const view<Real, 4>&);          \
  template void attention_vjp(const execution&, const attention_inputs<Real>&, const view<const Real, 4>&, \
                              const attention_gradients<Real>&);
ASSAY_INSTANTIATE(float)
ASSAY_INSTANTIATE(double)
#undef ASSAY_INSTANTIATE

}  // namespace assay::optimized::fox
