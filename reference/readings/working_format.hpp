// The format in which the arithmetic of this thread computes. It is a value and no template parameter: a formula is the
// same for all formats, and it may change its format from stage to stage (an angle in f32, its product in bf16;
// stages.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "reference/core/precisions.hpp"
#include "reference/core/result.hpp"

namespace assay::reference {

/// A floating-point format as error analysis sees it.
struct working_format {
  core::dtype type;
  int precision;  ///< p
  double u;       ///< unit roundoff 2^-p
  double tau;     ///< smallest normal / u: the loss by gradual underflow, or by flushing to 0, in units of u
  double smallest_normal, largest;
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
  return {t,
          f.precision,
          power_of_two(-f.precision),
          power_of_two(f.min_exponent + f.precision),
          power_of_two(f.min_exponent),
          (2.0 - power_of_two(1 - f.precision)) * power_of_two(f.max_exponent)};
}

namespace detail {
inline constinit thread_local working_format current_format = working_format_of(core::dtype::f64);
inline constinit thread_local const core::precisions* formats_of_stages = nullptr;  // where stages differ
inline constinit thread_local std::optional<std::uint64_t> seed_of_roundings{};     // where roundings are at random

constexpr working_format formats_of_dtypes[] = {
    working_format_of(core::dtype::f64), working_format_of(core::dtype::f32), working_format_of(core::dtype::f16),
    working_format_of(core::dtype::bf16)};
inline const working_format& format_of(core::dtype t) {
  ASSAY_EXPECTS(core::is_floating(t));
  return formats_of_dtypes[static_cast<int>(t)];
}
}  // namespace detail

/// The format of this thread; f64 where none was set.
inline const working_format& arithmetic() { return detail::current_format; }

/// Whether the stages of the operation that this thread computes have different formats.
inline bool stages_differ() { return detail::formats_of_stages != nullptr; }
/// Precondition: stages_differ().
inline const working_format& format_of_stage(std::size_t stage) {
  return detail::format_of(detail::formats_of_stages->format(stage));
}
/// The format in which sums of products are added up.
inline const working_format& arithmetic_of_sums() {
  if (!stages_differ() || !detail::formats_of_stages->sums()) return arithmetic();
  return detail::format_of(*detail::formats_of_stages->sums());
}

/// Sets the format of this thread until the end of the scope: the format of all stages, or else the least precise one,
/// in whose u errors are counted outside stages. Scopes nest.
class computing_in {
 public:
  explicit computing_in(core::precisions formats)
      : before_(detail::current_format),
        stages_before_(detail::formats_of_stages),
        seed_before_(detail::seed_of_roundings),
        formats_(std::move(formats)) {
    detail::current_format = detail::format_of(formats_.unit());
    detail::formats_of_stages = formats_.differ() ? &formats_ : nullptr;
    detail::seed_of_roundings = formats_.seed();
  }
  ~computing_in() {
    detail::current_format = before_;
    detail::formats_of_stages = stages_before_;
    detail::seed_of_roundings = seed_before_;
  }
  computing_in(const computing_in&) = delete;
  computing_in& operator=(const computing_in&) = delete;

 private:
  working_format before_;
  const core::precisions* stages_before_;
  std::optional<std::uint64_t> seed_before_;
  core::precisions formats_;
};

/// Another format for a scope, inside the scope of the stages.
class switched_to {
 public:
  explicit switched_to(const working_format& format) : before_(detail::current_format) {
    detail::current_format = format;
  }
  ~switched_to() { detail::current_format = before_; }
  switched_to(const switched_to&) = delete;
  switched_to& operator=(const switched_to&) = delete;

 private:
  working_format before_;
};

}  // namespace assay::reference
