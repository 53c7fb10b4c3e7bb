#include "reference/primitives/exponential.hpp"

#include "reference/readings/all.hpp"

namespace assay::reference {

value exp(const value& x) { return value(value::real(boost::multiprecision::exp(x.number))); }

enclosure exp(const enclosure& x) { return enclosure::increasing(x, mpfr_exp); }

tracked exp(const tracked& x) {
  const double r = std::exp(x.number);
  return {r, tracked::change(r, x.number, x.error) + accuracy::exp * r + tracked::tau()};
}

rounded exp(const rounded& x) { return rounded(std::exp(x.number)); }

tangent exp(const tangent& x) {
  const value r = exp(x.number);
  return tangent(r, r * x.derivative);
}

}  // namespace assay::reference
