// What roundings move the outputs of a program by at most, by random experiments (readings/sketched.hpp).
#pragma once

#include <map>
#include <optional>

#include "reference/formula/rungs.hpp"

namespace assay::reference::formula {

/// An estimate of sum |slope| roundoff for every element of every output, in units of u of compute.unit(), from so many
/// experiments: a multiple of 16. Of 256 it is within 0.93 and 1.14 of the sum for nineteen elements in twenty.
/// Infinite or NaN where an element has none. Nothing where a program is too large for it.
std::optional<std::map<std::string, xt::xarray<double>>> sketch_of(const program& p, const core::tensors& inputs,
                                                                   const core::precisions& compute,
                                                                   const std::vector<std::string>& stages,
                                                                   std::size_t experiments);

}  // namespace assay::reference::formula
