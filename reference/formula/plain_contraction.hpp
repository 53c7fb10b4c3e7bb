// Contractions in plain arithmetic with the processor's own f32 or f64.
#pragma once

#include <optional>

#include "reference/formula/arrays.hpp"
#include "reference/readings/rounded.hpp"

namespace assay::reference::formula {

/// The terms of x that a mask lets in, or the sums of the result that it lets in; null where it lets in all.
struct contraction_masks {
  const truths *terms = nullptr, *sums = nullptr;
};

/// The sums of products sum_k x_k y_k, term by term in the order of `places`. They equal accumulator<rounded> to the
/// bit (a product of two numbers of f32 is exact in double, and rounding their sum twice does no harm; rounded.hpp).
/// Nothing where sums have another format or are rounded at random, where an operand is no number of that format, or
/// where a term that the mask keeps out might be multiplied by an infinity.
std::optional<reals<rounded>> contracted_natively(const reals<rounded>& x, const reals<rounded>& y,
                                                  const contracted_places& places, const contraction_masks& masks);

}  // namespace assay::reference::formula
