// Arithmetic with computed numbers and the errors allowed to them, for identities between such numbers.
#pragma once

#include <cmath>

#include "properties/laws/measured.hpp"
#include "reference/readings/tracked.hpp"

namespace assay::properties {

/// A computed number and the error allowed to it.
struct approximate {
  double value = 0, error = 0;
};
/// A number without error.
inline approximate exactly(double x) { return {x, 0.0}; }
/// A number computed in double arithmetic, within a few roundings.
inline approximate computed(double x) { return {x, 0x1p-48 * std::fabs(x)}; }
inline approximate operator+(approximate x, approximate y) {
  const double sum = x.value + y.value;
  return {sum, x.error + y.error + 0x1p-52 * std::fabs(sum)};
}
inline approximate operator-(approximate x) { return {-x.value, x.error}; }
inline approximate operator-(approximate x, approximate y) { return x + -y; }
/// An exact 0 silences even an unbounded error of the other factor.
inline approximate operator*(approximate x, approximate y) {
  using reference::propagate;
  const double product = x.value * y.value;
  return {product, propagate(std::fabs(x.value), y.error) + propagate(std::fabs(y.value), x.error) +
                       propagate(x.error, y.error) + 0x1p-52 * std::fabs(product)};
}
inline approximate& operator+=(approximate& x, approximate y) { return x = x + y; }
/// The length of a pair of coordinates.
inline approximate length_of(approximate x, approximate y) {
  // The squares neither overflow nor vanish. hypot would need glibc 2.35: see tools/wheel.
  const long double first = x.value, second = y.value;
  const double length = static_cast<double>(std::sqrt(first * first + second * second));
  return {length, x.error + y.error + 0x1p-48 * length};
}
inline bool agree(approximate x, approximate y) { return agree(x.value, y.value, x.error + y.error); }
inline bool agree(comparisons& all, approximate x, approximate y, double scale = 0.0) {
  return all.agree(x.value, y.value, x.error + y.error, scale);
}

/// The numbers of one output and their allowed errors, by flat index or by the index of each axis.
struct numbers {
  numbers(const measured_call& call, const std::string& output)
      : x(call.outputs.at(output).values.storage()),
        allowed(call.allowed.at(output)),
        shape(call.outputs.at(output).shape()) {}
  [[nodiscard]] std::size_t size() const { return x.size(); }
  [[nodiscard]] approximate operator[](std::size_t i) const { return {x[i], allowed[i]}; }
  template <class... Index>
  [[nodiscard]] approximate operator()(Index... index) const {
    std::size_t flat = 0, axis = 0;
    ((flat = flat * shape[axis++] + static_cast<std::size_t>(index)), ...);
    return (*this)[flat];
  }
  const xt::xarray<double>::storage_type& x;
  const std::vector<double>& allowed;
  core::shape shape;
};

}  // namespace assay::properties
