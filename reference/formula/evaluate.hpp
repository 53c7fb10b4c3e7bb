// What a program is worth on given inputs: the truth with a proof, the allowance of plain arithmetic, and that
// arithmetic itself. Real inputs are exact doubles; integers and booleans are tensors of numbers.
//
// An error says that an input is missing or of another shape or kind, or which node divides an integer by 0, exceeds 64
// bits or points outside of an array.
#pragma once

#include "reference/formula/program.hpp"
#include "reference/oracle.hpp"

namespace assay::reference::formula {

/// The outputs, reals rounded to `storage`, by the ladder of precisions (oracle.hpp) from balls on. Where a rung cannot
/// tell an integer or boolean, that is undecided there. Integers beyond 2^53 are no numbers of a tensor: an error.
/// Precondition: storage is a floating-point dtype.
core::result<certified_outputs> certify(const program& p, const core::tensors& inputs, core::dtype storage,
                                        std::size_t precisions = precision_digits.size(), proof wanted = proof::value);

/// k of every element, in units of u of compute.unit(): see allowance. NaN where nothing is judged: arithmetic may give
/// another integer or boolean there, or no number. `stages`: the names that the formats are given for, in their order.
core::result<std::map<std::string, xt::xarray<double>>> allow(const program& p, const core::tensors& inputs,
                                                              const core::precisions& compute,
                                                              const std::vector<std::string>& stages = {});

/// The program as written, every operation rounded to the format of its stage, the outputs rounded to `storage` once.
core::result<core::tensors> evaluate_in(const program& p, const core::tensors& inputs, core::dtype storage,
                                        const core::precisions& formats, const std::vector<std::string>& stages = {});

}  // namespace assay::reference::formula
