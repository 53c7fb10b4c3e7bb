// Angles m theta of sinusoidal and rotary encodings, exact enough at every position.
//
// One rounding of m theta costs m theta 2^-53, which at position 2^31 is more than a unit of f32's last place. So a
// frequency has two parts, their product with m is kept whole (two-product, Dekker 1971), and the parts are turned one
// after another, each reduced by the C library's full range reduction.
#pragma once

namespace assay::optimized {

/// high + low, to about 106 bits.
struct frequency {
  double high = 0, low = 0;
};

/// base^(-p / q), base > 0, q > 0; exactly rounded at 120 bits first.
frequency geometric_frequency(double base, long p, long q);

struct rotation {
  double cosine, sine;
};

/// cos and sin of position * theta, each within 2^-52, for every finite position and theta with a finite product. NaN
/// otherwise.
rotation rotation_by(double position, frequency theta);

}  // namespace assay::optimized
