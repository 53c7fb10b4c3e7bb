// Accuracy of the primitives, stated once: the relative error, in units of u, that an implementation's
// exp, log1p, ... is granted in every allowance. 1 ulp is at most 2u.
#pragma once

namespace assay::reference::accuracy {

inline constexpr double exp = 2;              ///< C_e: libraries are within 1 ulp
inline constexpr double log = 2;              ///< C_l: log and log1p, 1 ulp
inline constexpr double sin = 2;              ///< sin and cos with a full range reduction, 1 ulp
inline constexpr double cosine_integral = 4;  ///< Ci, of its terms where it is small: about 2 ulp
inline constexpr double sigmoid = 4;          ///< 1 / (1 + exp(-z)): exp, one addition, one division
inline constexpr double log_sigmoid = 4;      ///< -log1p(exp(-g)), or min(g, 0) - log1p(exp(-|g|))

}  // namespace assay::reference::accuracy
