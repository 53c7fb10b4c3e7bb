// The laws of Heinsen's recurrence alone: inequalities and identities that need no other implementation and
// no truth, so that they check the reference too.
#pragma once

#include "properties/harness/property.hpp"

namespace assay::properties::encodings::heinsen {

/// max(a_i + s_{i-1}, h_i) <= s_i <= that + log 2, and M_i <= s_i <= M_i + log(i + 1), M_i the largest term.
property sandwich_property();
/// s_{i-1} = log(exp(s_i) - exp(h_i)) - a_i wherever s_i > h_i.
property inverse_step_property();
/// No state falls where an input rises.
property monotone_property();
/// Jointly convex in (log p, h, s0): the midpoint inequality.
property convex_property();
/// Two initial states: the distance of the states never grows.
property contraction_property();
/// s(h + c, s0 + c) = s + c.
property shift_property();
/// The same for directional derivatives: along dh = 1, ds0 = 1 every finite state moves by 1.
property shift_direction_property();
/// p = 1, p = 0, no input, constant p and h: against formulas without a recurrence.
property closed_forms_property();
/// p = 0 forgets what came before, in values and gradients.
property reset_property();
/// (log p, h) = (0, -inf) strewn in changes nothing, in values and gradients.
property neutral_padding_property();
/// s_n is the last state, in values and gradients.
property final_state_property();
/// A unit cotangent: gradients in h and s0 are a partition of one, those in log p its partial sums.
property partition_property();
/// sum of grad_h and grad_s0 = sum of cotangents, from every token on; of the whole module too.
property conservation_property();

/// The signs of d states count to 2^d, with a margin.
property counter_property();
/// Constant inputs move every state one way.
property constant_stream_property();

std::vector<property> laws();

}  // namespace assay::properties::encodings::heinsen
