// Frequencies and angles of sinusoidal and rotary encodings: theta_t = base^(-t / steps), angle m theta_t.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "reference/readings/differentiated.hpp"
#include "reference/readings/stages.hpp"

namespace assay::reference {

/// base^(-t / steps), t counted from 0; 1 for t = 0. With steps = d / 2 these are the frequencies of Vaswani et al.
/// (2017, section 3.5) and of RoPE (Su et al. 2021, eq. 15). With steps = d / 2 - 1 they are those of tensor2tensor,
/// whose slowest is 1 / base. Precondition: base > 0, steps > 0 or t = 0.
template <class R>
R geometric_frequency(const R& base, std::size_t t, std::size_t steps) {
  if (t == 0) return R(1.0);
  return power(base, ratio(-static_cast<long>(t), static_cast<long>(steps)));
}

/// A sine or cosine of an angle. The allowance also covers code that splits the angle into two parts, coarse and fine.
/// By the addition theorem the result is then a sum of two products of a sine and a cosine, whose magnitudes add up to
/// `size`, a double or an R. The first pair has exact angles: there no other error hides that of the products.
template <class R, class Size>
R or_sum_of_products(const R& wave, const Size& size) {
  return covering(wave, [&] {
    const R factor = cos(R(0.0)), products = R(size) * factor * factor;
    return wave + (products - R(size));
  });
}
/// The magnitudes add up to at most 1, and to at most 3 |angle|. The fine part is at most half a step, so the least
/// angle with two parts is half a step: a step less its half.
template <class R>
R sine_of(const R& angle) {
  return or_sum_of_products(sin(angle), std::min(1.0, 3.0 * std::fabs(to_double(angle))));
}
/// The angle 0 has no parts.
template <class R>
R cosine_of(const R& angle) {
  return or_sum_of_products(cos(angle), to_double(angle) == 0.0 ? 0.0 : 1.0);
}
template <carries_derivatives D>
D sine_of(const D& angle) {
  return D::made(sine_of(angle.number), D::by(angle, [&] { return cosine_of(angle.number); }));
}
template <carries_derivatives D>
D cosine_of(const D& angle) {
  return D::made(cosine_of(angle.number), D::by(angle, [&] { return -sine_of(angle.number); }));
}

}  // namespace assay::reference
