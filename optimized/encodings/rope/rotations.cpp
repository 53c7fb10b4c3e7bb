// Threads take fixed blocks of tokens. The gradient sums of the blocks are joined in the order of the blocks.
#include <vector>

#include "optimized/compensated.hpp"
#include "optimized/encodings/rope.hpp"
#include "reference/core/result.hpp"

namespace assay::optimized::rope {
namespace {

template <class Real>
void check(const rotary_pairs& pairs, const prepared_frequencies& theta, const view<const double, 2>& position,
           const view<const Real, 4>& x) {
  ASSAY_EXPECTS(theta.size() == pairs.count && 2 * pairs.count <= x.shape[3]);
  ASSAY_EXPECTS(has_shape(position, {x.shape[0], x.shape[1]}) && has_shape(x, x.shape));
}

}  // namespace

template <class Real>
void rotate(const execution& on, const rotary_pairs& pairs, const prepared_frequencies& theta,
            const view<const double, 2>& position, bool back, const view<const Real, 4>& x, const view<Real, 4>& y) {
  check(pairs, theta, position, x);
  ASSAY_EXPECTS(has_shape(y, x.shape));
  turn_tokens(on, pairs, theta, position, back, x, y);
}

template <class Real>
void rotate_angles_vjp(const execution& on, const rotary_pairs& pairs, const prepared_frequencies& theta,
                       const view<const double, 2>& position, const view<const Real, 4>& x,
                       const view<const Real, 4>& grad_y, const view<Real, 1>& grad_theta,
                       const view<Real, 2>& grad_position) {
  const auto [rows, tokens, heads, features] = x.shape;
  check(pairs, theta, position, x);
  ASSAY_EXPECTS(has_shape(grad_y, x.shape));
  ASSAY_EXPECTS(has_shape(grad_theta, {pairs.count}) && has_shape(grad_position, {rows, tokens}));
  const std::size_t blocks = blocks_of_tokens(rows * tokens);
  std::vector<compensated> parts(blocks * pairs.count);
  for_each_token_block(on, rows, tokens, [&, heads = heads, features = features](std::size_t block) {
    return [&, heads, features, sums_of_theta = parts.data() + block * pairs.count,
            turn = token_turn<Real>(on, pairs, theta),
            memory = std::vector<Real>(heads * features)](std::size_t row, std::size_t token) mutable {
      const double m = *position.at(row, token);
      const view<Real, 2> y = dense<Real, 2>(memory.data(), {heads, features});
      const view<const Real, 2> g = part(grad_y, row, token);
      turn.find(m);
      turn(part(x, row, token), y);
      compensated sum_of_position;
      for (std::size_t head = 0; head < heads; ++head)
        for (std::size_t t = 0; t < pairs.count; ++t) {
          const std::size_t first = pairs.first(t), second = pairs.second(t);
          const double torque = static_cast<double>(*y.at(head, first)) * static_cast<double>(*g.at(head, second)) -
                                static_cast<double>(*y.at(head, second)) * static_cast<double>(*g.at(head, first));
          sums_of_theta[t].add(m * torque);
          sum_of_position.add(theta[t] * torque);
        }
      *grad_position.at(row, token) = static_cast<Real>(sum_of_position.total());
    };
  });
  for (std::size_t t = 0; t < pairs.count; ++t) {
    compensated all;
    for (std::size_t block = 0; block < blocks; ++block) all.add(parts[block * pairs.count + t]);
    *grad_theta.at(t) = static_cast<Real>(all.total());
  }
}

#define ASSAY_INSTANTIATE(Real)                                                                               \
  template void rotate(const execution&, const rotary_pairs&, const prepared_frequencies&,                    \
                       const view<const double, 2>&, bool, const view<const Real, 4>&, const view<Real, 4>&); \
  template void rotate_angles_vjp(const execution&, const rotary_pairs&, const prepared_frequencies&,         \
                                  const view<const double, 2>&, const view<const Real, 4>&,                   \
                                  const view<const Real, 4>&, const view<Real, 1>&, const view<Real, 2>&);
ASSAY_INSTANTIATE(float)
ASSAY_INSTANTIATE(double)
#undef ASSAY_INSTANTIATE

}  // namespace assay::optimized::rope
