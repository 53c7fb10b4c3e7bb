// An upper estimate of the effect of roundings on the outputs of a program, by random experiments
// (readings/sketched.hpp).
#pragma once

#include <map>
#include <optional>

#include "reference/formula/rungs.hpp"

namespace assay::reference::formula {

/// An estimate of sum |slope| roundoff for every element of every output, in units of u of compute.unit(). The number
/// of experiments is a multiple of 16. With 256 it is 0.82 to 1.22 of the sum for nineteen elements in twenty.
/// Infinite or NaN where an element has no such sum. Nothing where a program is too large for this.
///
///     const auto estimate = formula::sketch_of(p, inputs, core::dtype::f32, {}, 256);
std::optional<std::map<std::string, xt::xarray<double>>> sketch_of(const program& p, const core::tensors& inputs,
                                                                   const core::precisions& compute,
                                                                   const std::vector<std::string>& stages,
                                                                   std::size_t experiments);

}  // namespace assay::reference::formula
