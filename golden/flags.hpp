// Flags that say what is special about the numbers of a golden file; the numbers show them.
#pragma once

#include <array>
#include <string_view>

#include "reference/core/operation.hpp"

namespace assay::golden {

struct flag {
  std::string_view name, meaning;
};

/// The only flag that the numbers alone do not show: wrong answers are needed to find it.
inline constexpr std::string_view wide_flag = "wide";

inline constexpr std::array flag_meanings{
    flag{"dead_state", "a state of the recurrence is -inf, or that of the function whose derivative it is"},
    flag{"empty", "an axis has no position"},
    flag{"hard_to_round", "a truth that is no tie lies within 2^-24 ulp of a midpoint of two numbers of the dtype"},
    flag{"has_minus_inf", "an input or an output is -inf"},
    flag{"has_plus_inf", "an input is +inf"},
    flag{"infinite_allowance", "somewhere any number is right: y:bug is infinite"},
    flag{"long", "an axis has more than 256 positions"},
    flag{"nan", "an input or an output is NaN"},
    flag{"overflow", "an output lies beyond the largest number: y is infinite and the truth is not"},
    flag{"subnormal", "an input or an output is subnormal in the dtype"},
    flag{"tie", "the truth lies within 2^-20 of half an ulp of a midpoint of two numbers of the dtype"},
    flag{wide_flag, "an answer that knows nothing lies within y:bug: take y:bug.f32 alone"},
};

/// The flags of a call and of its proved_outputs, except wide_flag; in alphabetical order.
std::vector<std::string> flags_of(const core::request& call, const core::axis_sizes& axes, const core::tensors& proved);

}  // namespace assay::golden
