// Describes in which way wrong elements are wrong.
#pragma once

#include <string>
#include <vector>

#include "properties/diagnosis/probes.hpp"

namespace assay::properties {

enum class symptom {
  not_a_number,  ///< NaN in place of anything else
  infinite,      ///< an infinity in place of a number
  finite_mask,   ///< a number in place of -inf
  lost_nan,      ///< anything in place of NaN
  zero,          ///< 0 in place of another number
  few_digits,    ///< a number that is nearly right
  left_of_one,   ///< a small number in steps of numbers below 1, as 1 less a sum gives
  wrong          ///< anything else, or several of these
};

/// The symptom that all wrong elements of the probes share; `wrong` if they share none. Precondition: there is a wrong
/// element.
symptom common_symptom(const std::vector<const probe*>& wrong);

/// Whether some wrong element shows the symptom: in some probe, or in each.
bool is_in_some(symptom s, const std::vector<const probe*>& wrong);
bool is_in_each(symptom s, const std::vector<const probe*>& wrong);

/// "NaN", "-1e+09 where it should be -inf", "off by up to 64 ulp, where rounding explains 2": what follows "y is".
std::string words_of(symptom s, const std::vector<const probe*>& wrong);

}  // namespace assay::properties
