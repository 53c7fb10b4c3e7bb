// Attention with the decay as the bias of each head.
#include <vector>

#include "optimized/attention.hpp"
#include "optimized/encodings/fox.hpp"
#include "optimized/encodings/fox_decay.hpp"
#include "optimized/numbers.hpp"
#include "reference/core/result.hpp"

namespace assay::optimized::fox {
namespace {

template <class Real>
class decayed_attention {
 public:
  decayed_attention(const execution& on, const attention_inputs<Real>& in) : on_(on), in_(in) {
    const auto [B, h, n, d] = in.q.shape;
    ASSAY_EXPECTS(has_shape(in.q, {B, h, n, d}) && has_shape(in.k, {B, h, n, d}));
    ASSAY_EXPECTS(has_shape(in.v, o_shape()) && has_shape(in.log_f, {B, n, h}));
    bias_.resize(B * h * n * n);
    const std::vector<double> log_f = numbers_of(in.log_f);
    decay_of(on, dense<const double, 3>(log_f.data(), {B, n, h}), matrices(bias_));
  }

  [[nodiscard]] std::array<std::size_t, 4> o_shape() const {
    return {in_.q.shape[0], in_.q.shape[1], in_.q.shape[2], in_.v.shape[3]};
  }
  /// A number of each pair of tokens, [B, heads, n, n].
  template <class Numbers>
  [[nodiscard]] auto matrices(Numbers& numbers) const {
    const auto [B, h, n, d] = in_.q.shape;
    return dense<std::remove_reference_t<decltype(*numbers.data())>, 4>(numbers.data(), {B, h, n, n});
  }
  [[nodiscard]] std::size_t pairs() const { return bias_.size(); }

  /// visit(b, k, head) for every head of every row.
  template <class Visit>
  void for_each_head(Visit visit) const {
    const std::size_t h = in_.q.shape[1];
    const double scale = logit_scale(in_.inverse_sqrt, in_.q.shape[3]);
    for_each_task(on_.threads, in_.q.shape[0] * h, [&](std::size_t i) {
      const std::size_t b = i / h, k = i % h;
      visit(b, k,
            attention_head<Real>{part(in_.q, b, k), part(in_.k, b, k), part(in_.v, b, k), matrices(bias_).at(b, k),
                                 scale});
    });
  }

 private:
  const execution& on_;
  const attention_inputs<Real>& in_;
  std::vector<double> bias_;
};

}  // namespace

template <class Real>
void attention(const execution& on, const attention_inputs<Real>& in, const view<Real, 4>& o) {
  const decayed_attention<Real> decayed(on, in);
  ASSAY_EXPECTS(has_shape(o, decayed.o_shape()));
  decayed.for_each_head([&](std::size_t b, std::size_t k, const attention_head<Real>& head) {
    attend(*on.kernels, head, part(o, b, k));
  });
}

template <class Real>
void attention_vjp(const execution& on, const attention_inputs<Real>& in, const view<const Real, 4>& grad_o,
                   const attention_gradients<Real>& out) {
  const decayed_attention<Real> decayed(on, in);
  ASSAY_EXPECTS(has_shape(grad_o, decayed.o_shape()) && has_shape(out.q, in.q.shape) && has_shape(out.k, in.k.shape) &&
                has_shape(out.v, in.v.shape) && has_shape(out.log_f, in.log_f.shape));
  std::vector<double> logits(decayed.pairs()), gates(in.log_f.size());
  decayed.for_each_head([&](std::size_t b, std::size_t k, const attention_head<Real>& head) {
    attend_vjp(*on.kernels, head, part(grad_o, b, k),
               optimized::attention_gradients<Real>{part(out.q, b, k), part(out.k, b, k), part(out.v, b, k)},
               decayed.matrices(logits).at(b, k));
  });
  const std::vector<double>& cotangents = logits;
  decay_gradient(on, decayed.matrices(cotangents), dense<double, 3>(gates.data(), in.log_f.shape));
  store(gates, out.log_f);
}

#define ASSAY_INSTANTIATE(Real)                                                                            \
  template void attention(const execution&, const attention_inputs<Real>&, const view<Real, 4>&);          \
  template void attention_vjp(const execution&, const attention_inputs<Real>&, const view<const Real, 4>&, \
                              const attention_gradients<Real>&);
ASSAY_INSTANTIATE(float)
ASSAY_INSTANTIATE(double)
#undef ASSAY_INSTANTIATE

}  // namespace assay::optimized::fox
