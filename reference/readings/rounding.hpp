// A truth in a storage format, and the facts proved about it.
#pragma once

namespace assay::reference {

struct rounding {
  double value = 0.0;        ///< the truth rounded to nearest, ties to even
  double low = 0.0;          ///< truth - value, to double; the truth itself where value overflowed
  double radius = 0.0;       ///< bound on the distance of value + low from the truth; a bound that underflows becomes
                             ///< 2^-1074
  bool decided = false;      ///< proved: every number of the enclosure rounds to `value`
  bool low_decided = false;  ///< also proved: `low` is the remainder rounded to nearest, ties to even
};

}  // namespace assay::reference
