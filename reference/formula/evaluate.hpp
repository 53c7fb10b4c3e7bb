// The results of a program on given inputs: the truth with a proof, the allowance of plain arithmetic, and plain
// arithmetic itself. Real inputs are exact doubles; integers and booleans are tensors of numbers.
//
// An error says that an input is missing or has another shape or kind, or it names the node that divides an integer by
// 0, exceeds 64 bits or points outside an array.
#pragma once

#include "reference/formula/program.hpp"
#include "reference/oracle.hpp"

namespace assay::reference::formula {

/// The outputs, with reals rounded to `storage`, by the ladder of precisions (oracle.hpp) from balls on. Where a rung
/// cannot decide an integer or boolean, it is undecided there. Integers beyond 2^53 are no numbers of a tensor: an
/// error. Precondition: storage is a floating-point dtype.
///
///     const auto truth = formula::certify(p, inputs, core::dtype::f32);
///     if (!truth) throw std::runtime_error(truth.error().message);
///     const double error = truth->at("logits").error_of(found, 0);  // of element 0
core::result<certified_outputs> certify(const program& p, const core::tensors& inputs, core::dtype storage,
                                        std::size_t precisions = precision_digits.size(), proof wanted = proof::value);

/// k of every element, in units of u of compute.unit(): see allowance. NaN where nothing is judged: there arithmetic
/// may give another integer or boolean, or no number. `stages` are the names of the stages that `compute` has formats
/// for, in their order.
///
///     const auto k = formula::allow(p, inputs, core::dtype::f32);
///     const double allowed = bug_bound(core::dtype::f32, core::dtype::f32, k->at("logits").data()[0], truth);
core::result<std::map<std::string, xt::xarray<double>>> allow(const program& p, const core::tensors& inputs,
                                                              const core::precisions& compute,
                                                              const std::vector<std::string>& stages = {});

/// The program as written: every operation is rounded to the format of its stage, and the outputs to `storage` once.
///
///     const auto in_bf16 = formula::evaluate_in(p, inputs, core::dtype::bf16, core::dtype::bf16);
core::result<core::tensors> evaluate_in(const program& p, const core::tensors& inputs, core::dtype storage,
                                        const core::precisions& formats, const std::vector<std::string>& stages = {});

}  // namespace assay::reference::formula
