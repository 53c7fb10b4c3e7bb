// Contractions in plain arithmetic by the processor's own f32 or f64.
#pragma once

#include <optional>

#include "reference/formula/arrays.hpp"
#include "reference/readings/rounded.hpp"

namespace assay::reference::formula {

/// Which terms of x a mask lets in, or which sums of the result; null where all.
struct contraction_masks {
  const truths *terms = nullptr, *sums = nullptr;
};

/// The sums of products sum_k x_k y_k, term by term in the order of `places`: to the bit what accumulator<rounded>
/// gives (a product of two numbers of f32 is exact in double, and their sum is rounded twice without harm;
/// rounded.hpp). Nothing where sums have another format, are rounded at random, an operand is no number of that format,
/// or a term that is kept out might meet an infinity.
std::optional<reals<rounded>> contracted_natively(const reals<rounded>& x, const reals<rounded>& y,
                                                  const contracted_places& places, const contraction_masks& masks);

}  // namespace assay::reference::formula
