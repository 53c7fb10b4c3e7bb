// The format that the arithmetic of this thread computes in. It is a value and no template parameter: each formula is
// compiled once for all formats, and a formula may change its format from stage to stage (an angle in f32, its product
// in bf16).
#pragma once

#include "reference/core/dtype.hpp"
#include "reference/core/result.hpp"

namespace assay::reference {

/// A floating-point format as error analysis sees it.
struct working_format {
  core::dtype type;
  int precision;  ///< p
  double u;       ///< unit roundoff 2^-p
  double tau;     ///< smallest normal / u: what gradual underflow, or flushing it, can lose, in units of u
};

constexpr double power_of_two(int exponent) {
  double x = 1.0;
  for (; exponent > 0; --exponent) x *= 2.0;
  for (; exponent < 0; ++exponent) x /= 2.0;
  return x;
}

/// Precondition: t is a floating-point dtype.
constexpr working_format working_format_of(core::dtype t) {
  const core::float_format f = core::format_of(t);
  return {t, f.precision, power_of_two(-f.precision), power_of_two(f.min_exponent + f.precision)};
}

namespace detail {
inline constinit thread_local working_format current_format = working_format_of(core::dtype::f64);
}

/// The format of this thread; f64 where none was set.
inline const working_format& arithmetic() { return detail::current_format; }

/// Sets the format of this thread until the end of the scope. Scopes nest.
class computing_in {
 public:
  explicit computing_in(core::dtype format) : before_(detail::current_format) {
    constexpr working_format formats[] = {working_format_of(core::dtype::f64), working_format_of(core::dtype::f32),
                                          working_format_of(core::dtype::f16), working_format_of(core::dtype::bf16)};
    ASSAY_EXPECTS(core::is_floating(format));
    detail::current_format = formats[static_cast<int>(format)];
  }
  ~computing_in() { detail::current_format = before_; }
  computing_in(const computing_in&) = delete;
  computing_in& operator=(const computing_in&) = delete;

 private:
  working_format before_;
};

}  // namespace assay::reference
