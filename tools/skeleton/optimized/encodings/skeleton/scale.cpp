// It computes f32 in f64 and rounds once; it computes f64 as it is written. It uses no formula of reference/: the two
// check one another. Threads share independent parts (for_each_task), so that any number of them gives the same bits.
#include "optimized/encodings/skeleton.hpp"
#include "reference/core/result.hpp"

namespace assay::optimized::skeleton {
namespace {

template <class Real>
void check(const scale_inputs<Real>& in) {
  const auto [B, n, d] = in.x.shape;
  ASSAY_EXPECTS(has_shape(in.x, {B, n, d}) && has_shape(in.a, {d}) && has_shape(in.b, {d}));
  ASSAY_EXPECTS(has_shape(in.position, {n}));
}

template <class Real>
double step(const scale_inputs<Real>& in, std::size_t token) {
  return in.minus ? -*in.position.at(token) : *in.position.at(token);
}

}  // namespace

template <class Real>
void scale(const execution& on, const scale_inputs<Real>& in, const view<Real, 3>& y) {
  check(in);
  ASSAY_EXPECTS(has_shape(y, in.x.shape));
  const auto [B, n, d] = in.x.shape;
  for_each_task(on.threads, B, [&, n = n, d = d](std::size_t row) {
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < d; ++j)
        *y.at(row, i, j) =
            static_cast<Real>(static_cast<double>(*in.a.at(j)) * static_cast<double>(*in.x.at(row, i, j)) +
                              static_cast<double>(*in.b.at(j)) * step(in, i));
  });
}

template <class Real>
void scale_vjp(const execution& on, const scale_inputs<Real>& in, const view<const Real, 3>& grad_y,
               const scale_gradients<Real>& out) {
  check(in);
  const auto [B, n, d] = in.x.shape;
  ASSAY_EXPECTS(has_shape(grad_y, in.x.shape) && has_shape(out.x, in.x.shape));
  ASSAY_EXPECTS(has_shape(out.a, {d}) && has_shape(out.b, {d}));
  for_each_task(on.threads, d, [&, B = B, n = n](std::size_t j) {
    double of_a = 0, of_b = 0;
    for (std::size_t row = 0; row < B; ++row)
      for (std::size_t i = 0; i < n; ++i) {
        const auto cotangent = static_cast<double>(*grad_y.at(row, i, j));
        *out.x.at(row, i, j) = static_cast<Real>(static_cast<double>(*in.a.at(j)) * cotangent);
        of_a += static_cast<double>(*in.x.at(row, i, j)) * cotangent;
        of_b += step(in, i) * cotangent;
      }
    *out.a.at(j) = static_cast<Real>(of_a);
    *out.b.at(j) = static_cast<Real>(of_b);
  });
}

#define ASSAY_INSTANTIATE(Real)                                                                    \
  template void scale(const execution&, const scale_inputs<Real>&, const view<Real, 3>&);          \
  template void scale_vjp(const execution&, const scale_inputs<Real>&, const view<const Real, 3>&, \
                          const scale_gradients<Real>&);
ASSAY_INSTANTIATE(float)
ASSAY_INSTANTIATE(double)
#undef ASSAY_INSTANTIATE

}  // namespace assay::optimized::skeleton
