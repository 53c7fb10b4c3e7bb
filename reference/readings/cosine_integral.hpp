// The entire cosine integral Cin(x) = integral of (1 - cos t) / t from 0 to x = gamma + log|x| - Ci(|x|) (DLMF 6.2.12).
#pragma once

namespace assay::reference {

/// Rounded to nearest, but for about one in 2^27 of all arguments. Even; 0 at 0, infinite at infinity, NaN at NaN.
double entire_cosine_integral(double x);

}  // namespace assay::reference
