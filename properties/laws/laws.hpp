// The properties, one file each, and what they share.
#pragma once

#include "properties/harness/property.hpp"

namespace assay::properties {

/// Forward outputs agree with the truth.
property value_property();
/// Gradients agree with the truth.
property vjp_property();
/// Directional derivatives agree with the truth.
property jvp_property();
/// A sequence in chunks is right: each chunk is, from the state that the chunk before it really returned.
property continuation_property();
/// The scan of n tokens is n steps of one token.
property recurrence_property();
/// Outputs before token i do not depend on tokens from i on: they have the same bits, or are right within the errors
/// allowed to the call.
property causality_property();
/// No position of an independent axis, such as a batch row, depends on another one; compared in the same way.
property lane_property();
/// The same call twice gives the same outputs.
property repeat_property();
/// A call that only looks like the previous one, by shape, first elements or inputs, is computed anew.
property recomputation_property();
/// A call is right after one in another dtype. The gate asks a program that is started anew for each first dtype.
property dtype_order_property();
/// Every declared setting of the implementation gives a right result.
property variants_property();
/// Inputs that are not contiguous arrays are read correctly.
property strides_property();
/// If rows and features are permuted, outputs are permuted alike.
property permutation_property();
/// Gradients of chunks, with the state's gradient passed back: attached and detached.
property attachment_property();
/// <cotangent, J tangent> = <J^T cotangent, tangent>.
property adjoint_property();

/// Calls with an empty axis are right or refused.
property empty_axes_property();

/// The case as a call in another dtype: the same sizes and settings, its numbers rounded.
test_case in_dtype(const test_case& c, core::dtype type);
/// The other offered dtype that the check `dtype_order` calls first: the seed decides. Nothing if no other dtype is
/// offered.
std::optional<core::dtype> dtype_before(const description& about, const test_case& c);
/// The case with a seed that selects this first dtype; nothing if its operation is not offered in that dtype.
std::optional<test_case> after_dtype(const description& about, test_case c, core::dtype first);

/// The outcome of a call that gave no outputs.
outcome no_outputs(const call_failure& failure);

/// The outputs of a call judged against the truth: passed, failed or uninformative.
outcome judged(const description& about, const request& call, const core::tensors& outputs);

/// Whether the operation has independent axes.
bool has_lanes(const core::operation& op);

}  // namespace assay::properties
