#include "reference/primitives/hyperbolic.hpp"

#include <cmath>

#include "reference/readings/all.hpp"

namespace assay::reference {
namespace {

template <class R>
R difference_of_weights(const R& x) {
  const weight_pair<R> weight = carry_weights(x + x);
  return weight.w - weight.v;
}

}  // namespace

value tanh(const value& x) { return difference_of_weights(x); }
enclosure tanh(const enclosure& x) { return difference_of_weights(x); }
template <class Number>
ball<Number> tanh(const ball<Number>& x) {
  return difference_of_weights(x);
}
tracked tanh(const tracked& x) {
  const double r = std::tanh(x.number), least = std::tanh(std::fmax(std::fabs(x.number) - tracked::u() * x.error, 0.0));
  return {r, propagate((1.0 - least) * (1.0 + least), x.error) + accuracy::tanh * std::fabs(r) +
                 (r != 0.0 ? tracked::tau() : 0.0)};
}
rounded tanh(const rounded& x) { return rounded(std::tanh(x.number)); }

template double_ball tanh(const double_ball&);
template two_double_ball tanh(const two_double_ball&);

}  // namespace assay::reference
