// The properties, one file each, and what they share.
#pragma once

#include "properties/property.hpp"

namespace assay::properties {

/// Forward outputs against the truth.
property value_property();
/// Gradients against the truth.
property vjp_property();
/// A sequence in two chunks, the state handed on, at every split: [0, m) and [m, n).
property continuation_property();
/// The scan of n tokens is n steps of one token.
property recurrence_property();
/// Outputs before token i do not depend on tokens from i on, bit by bit.
property causality_property();
/// No batch row, and no feature of a scan, depends on another, bit by bit.
property lane_property();
/// The same call twice gives the same outputs.
property repeat_property();
/// s(h + c, s0 + c) = s + c.
property shift_property();
/// The signs of d states count to 2^d, with a margin.
property counter_property();
/// Constant inputs move every state one way.
property constant_stream_property();

/// The outcome of a call that gave no outputs.
outcome no_outputs(const call_failure& failure);

/// Calls the implementation and judges its outputs against the truth.
outcome compare_with_truth(implementation& under_test, const request& call);

/// `call` with another value for some inputs.
request with_inputs(const request& call, core::tensors inputs);

/// Fails, naming the first difference, where the outputs differ in any bit (NaNs and zeros aside).
outcome compare_bits(const core::tensors& expected, const core::tensors& actual, const std::string& what);

}  // namespace assay::properties
