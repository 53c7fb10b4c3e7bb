// The entire cosine integral with proved bounds.
#pragma once

#include <mpfr.h>

namespace assay::reference::directed {

/// `result` <= Cin(x) for MPFR_RNDD, >= for MPFR_RNDU, and within a few units of its last place.
void entire_cosine_integral(mpfr_ptr result, mpfr_srcptr x, mpfr_rnd_t mode);

}  // namespace assay::reference::directed
