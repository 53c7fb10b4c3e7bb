// Feed-forward maps of a token: y = W x + b, and its adjoint. A map in a module is any type with these members (see
// heinsen::embed_position):
//   inputs(), outputs()                                   sizes
//   accumulate(x, y)                                      y[o] += map(x)[o], into accumulators
//   gradients                                             a type with accumulators for gradients of the parameters
//   pull_back(x, grad_y, grad_x, parameter_gradients)     grad_x[k] += ..., into accumulators
#pragma once

#include <span>
#include <vector>

#include "reference/readings/stages.hpp"

namespace assay::reference {

template <class R>
using accumulators = std::vector<accumulator<R>>;

template <class R, class Stage>
field<R> totals(Stage stage, const accumulators<R>& sums, const core::shape& s) {
  field<R> f = field<R>::from_shape(s);
  for (std::size_t i = 0; i < sums.size(); ++i) f.storage()[i] = total_in(stage, sums[i]);
  return f;
}

/// A map with weight [m, k], row-major, and bias [m].
template <class R>
class affine_map {
 public:
  affine_map(const field<R>& weight, const field<R>& bias) : weight_(weight), bias_(bias) {}

  [[nodiscard]] std::size_t inputs() const { return weight_.shape(1); }
  [[nodiscard]] std::size_t outputs() const { return weight_.shape(0); }

  void accumulate(std::span<const R> x, accumulators<R>& y) const {
    for (std::size_t o = 0; o < outputs(); ++o) {
      for (std::size_t k = 0; k < inputs(); ++k) y[o].add_product(x[k], weight(o, k));
      y[o].add(bias_.storage()[o]);
    }
  }

  struct gradients {
    explicit gradients(const affine_map& map) : weight(map.weight_.size()), bias(map.outputs()) {}
    accumulators<R> weight, bias;
  };

  void pull_back(std::span<const R> x, std::span<const R> grad_y, accumulators<R>& grad_x, gradients& grad) const {
    for (std::size_t o = 0; o < outputs(); ++o) {
      for (std::size_t k = 0; k < inputs(); ++k) {
        grad_x[k].add_product(grad_y[o], by_magnitude(weight(o, k)));
        grad.weight[o * inputs() + k].add_product(grad_y[o], by_magnitude(x[k]));
      }
      grad.bias[o].add(grad_y[o]);
    }
  }

 private:
  [[nodiscard]] const R& weight(std::size_t o, std::size_t k) const { return weight_.storage()[o * inputs() + k]; }
  const field<R>&weight_, &bias_;
};

}  // namespace assay::reference
