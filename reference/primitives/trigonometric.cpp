#include "reference/primitives/trigonometric.hpp"

#include "reference/readings/all.hpp"

namespace assay::reference {

value sin(const value& x) { return value(value::real(boost::multiprecision::sin(x.number))); }
value cos(const value& x) { return value(value::real(boost::multiprecision::cos(x.number))); }

enclosure sin(const enclosure& x) {
  enclosure r;
  return r.with_inexact_ends(mpfi_sin(r.data(), x.data()));
}
enclosure cos(const enclosure& x) {
  enclosure r;
  return r.with_inexact_ends(mpfi_cos(r.data(), x.data()));
}

namespace {

// r = sin or cos of an angle that is off by `error` u; `slope` is the other one. No error exceeds 2.
tracked turned(double r, double slope, double error) {
  const double angle = tracked::u() * error;
  const double moved = std::isfinite(angle) ? std::min(std::fabs(slope) * angle + angle * angle / 2.0, 2.0) : 2.0;
  return {r, moved / tracked::u() + accuracy::sin * finite_magnitude(r) + tracked::tau()};
}

}  // namespace

tracked sin(const tracked& x) { return turned(std::sin(x.number), std::cos(x.number), x.error); }
tracked cos(const tracked& x) { return turned(std::cos(x.number), std::sin(x.number), x.error); }

rounded sin(const rounded& x) { return rounded(std::sin(x.number)); }
rounded cos(const rounded& x) { return rounded(std::cos(x.number)); }

tangent sin(const tangent& x) { return tangent(sin(x.number), cos(x.number) * x.derivative); }
tangent cos(const tangent& x) { return tangent(cos(x.number), -sin(x.number) * x.derivative); }

}  // namespace assay::reference
