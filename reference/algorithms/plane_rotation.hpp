// The rotation exp(m omega L) of vectors in the plane of a and b, with L = a b^T - b a^T (Zhang et al. 2025, "Group
// representational position encoding", arXiv 2512.07805), in closed form:
//
//   y = x + sin(m omega s) / s  L x + (1 - cos(m omega s)) / s^2  L^2 x,   s^2 = |a|^2 |b|^2 - (a . b)^2
//
// s is the area that a and b span. The error of s^2 is u |a|^2 |b|^2 also where a and b are nearly parallel: there s
// has few digits, and so has the angle.
#pragma once

#include <functional>

#include "reference/formula/recording.hpp"

namespace assay::reference {

/// Products of two vectors of each head [h].
struct spanned_plane {
  formula::traced aa, bb, ab;

  spanned_plane(const formula::traced& a, const formula::traced& b)
      : aa(contracted(a, a, "hd,hd->h")), bb(contracted(b, b, "hd,hd->h")), ab(contracted(a, b, "hd,hd->h")) {}
  [[nodiscard]] formula::traced squared_area() const { return aa * bb - ab * ab; }
};
/// The coefficients sin(angle) / s and (1 - cos(angle)) / s^2.
struct plane_turn {
  formula::traced first_coefficient, second_coefficient;
};

/// The steps that variants replace.
struct plane_scheme {
  std::function<formula::traced(const spanned_plane& plane)> squared_area = [](const spanned_plane& plane) {
    return plane.squared_area();
  };
  /// The angle for positions [B, n, 1].
  std::function<formula::traced(const formula::traced& position, const formula::traced& omega,
                                const formula::traced& area)>
      plane_angle = [](const formula::traced& position, const formula::traced& omega, const formula::traced& area) {
        return position * (omega * area);
      };
  std::function<plane_turn(const formula::traced& angle, const formula::traced& area,
                           const formula::traced& squared_area)>
      plane_turn_at = [](const formula::traced& angle, const formula::traced& area, const formula::traced& squared) {
        return plane_turn{sine_of(angle) / area, (formula::traced(1.0) - cosine_of(angle)) / squared};
      };
};

/// x [B, n, h, d], rotated in the plane.
inline formula::traced turned_in_plane(const formula::traced& x, const formula::traced& a, const formula::traced& b,
                                       const spanned_plane& plane, const plane_turn& by) {
  using formula::traced;
  const core::shape s = shape_of(x), one{s[0], s[1], s[2], 1};
  const traced u = contracted(x, a, "bnhd,hd->bnh"), v = contracted(x, b, "bnhd,hd->bnh");
  const traced along_a = by.first_coefficient * v + by.second_coefficient * (plane.ab * v - plane.bb * u),
               along_b = by.second_coefficient * (plane.ab * u - plane.aa * v) - by.first_coefficient * u;
  return x + (a * reshaped(along_a, one) + b * reshaped(along_b, one));
}

}  // namespace assay::reference
