#include "reference/primitives/logarithm.hpp"

#include "reference/readings/all.hpp"

namespace assay::reference {

value log(const value& x) { return value(value::real(boost::multiprecision::log(x.number))); }
value log1p(const value& x) { return value(value::real(boost::multiprecision::log1p(x.number))); }

enclosure log(const enclosure& x) { return enclosure::increasing(x, mpfr_log); }
enclosure log1p(const enclosure& x) { return enclosure::increasing(x, mpfr_log1p); }

tracked log(const tracked& x) {
  const double r = std::log(x.number);
  return {r, propagate(1.0 / std::fabs(x.number), x.error) + accuracy::log * finite_magnitude(r)};
}
tracked log1p(const tracked& x) {
  const double r = std::log1p(x.number);
  return {r, propagate(1.0 / std::fabs(1.0 + x.number), x.error) + accuracy::log * finite_magnitude(r)};
}

rounded log(const rounded& x) { return rounded(std::log(x.number)); }
rounded log1p(const rounded& x) { return rounded(std::log1p(x.number)); }

tangent log(const tangent& x) { return tangent(log(x.number), x.derivative / x.number); }
tangent log1p(const tangent& x) { return tangent(log1p(x.number), x.derivative / (value(1.0) + x.number)); }

}  // namespace assay::reference
