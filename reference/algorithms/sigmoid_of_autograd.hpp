// sigmoid with the derivative that automatic differentiation has of it in PyTorch, JAX and TensorFlow: y (1 - y), which
// loses exp(-a) beside 1 where a is large, and nothing where y is small. It is of class linear.
#pragma once

#include "reference/readings/differentiated.hpp"

namespace assay::reference {

template <class R>
R sigmoid_of_autograd(const R& a) {
  if constexpr (carries_derivatives<R>) {
    using N = typename R::underlying;
    const N y = sigmoid(a.number);
    return R::made(y, R::by(a, [&] { return y * (N(1.0) - y); }));
  } else {
    return sigmoid(a);
  }
}

}  // namespace assay::reference
