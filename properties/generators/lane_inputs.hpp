// Functions with which the families of Heinsen's encoding fill one lane of a scan.
#pragma once

#include <vector>

#include "reference/core/counter_random.hpp"
#include "reference/core/dtype.hpp"
#include "reference/core/tensor.hpp"

namespace assay::properties {

/// One lane before rounding: gate logits or log decays, input logits, initial state.
struct lane_inputs {
  std::vector<double> gate, h;
  double s0 = 0.0;
};

/// A function of a family that fills a lane. If `gated` is true, gate holds logits g, else log p.
using lane_filler = void (*)(lane_inputs& lane, bool gated, core::dtype type, core::counter_random& random);

/// The inputs of a scan.
struct scan_tensors {
  core::tensor gate;  ///< [batch, n, d], as lane_inputs has it
  core::tensor h;     ///< [batch, n, d]
  core::tensor s0;    ///< [batch, d]
};

/// Fills the lanes one after the other, or on all cores with the same numbers.
scan_tensors fill_lanes(lane_filler fill, bool gated, core::dtype type, core::counter_random& random, std::size_t batch,
                        std::size_t n, std::size_t d);

void mild(lane_inputs& lane, bool gated, core::dtype type, core::counter_random& random);
void gates_near_one(lane_inputs& lane, bool gated, core::dtype type, core::counter_random& random);
void gates_near_zero(lane_inputs& lane, bool gated, core::dtype type, core::counter_random& random);
void constant_gate(lane_inputs& lane, bool gated, core::dtype type, core::counter_random& random);
void constant_stream(lane_inputs& lane, bool gated, core::dtype type, core::counter_random& random);
void block_half_life(lane_inputs& lane, bool gated, core::dtype type, core::counter_random& random);
void large_h(lane_inputs& lane, bool gated, core::dtype type, core::counter_random& random);
void late_spike(lane_inputs& lane, bool gated, core::dtype type, core::counter_random& random);
void infinite_prefix(lane_inputs& lane, bool gated, core::dtype type, core::counter_random& random);
void infinite_inside(lane_inputs& lane, bool gated, core::dtype type, core::counter_random& random);
void gap(lane_inputs& lane, bool gated, core::dtype type, core::counter_random& random);
void no_decay(lane_inputs& lane, bool gated, core::dtype type, core::counter_random& random);
void powers_of_two(lane_inputs& lane, bool gated, core::dtype type, core::counter_random& random);
void subnormal(lane_inputs& lane, bool gated, core::dtype type, core::counter_random& random);
void wide(lane_inputs& lane, bool gated, core::dtype type, core::counter_random& random);
void fading_state(lane_inputs& lane, bool gated, core::dtype type, core::counter_random& random);
void extreme_gates(lane_inputs& lane, bool gated, core::dtype type, core::counter_random& random);
void neutral_padding(lane_inputs& lane, bool gated, core::dtype type, core::counter_random& random);
void nan_inside(lane_inputs& lane, bool gated, core::dtype type, core::counter_random& random);
void special_values(lane_inputs& lane, bool gated, core::dtype type, core::counter_random& random);
void branch_points(lane_inputs& lane, bool gated, core::dtype type, core::counter_random& random);
void near_zero_states(lane_inputs& lane, bool gated, core::dtype type, core::counter_random& random);
void near_midpoints(lane_inputs& lane, bool gated, core::dtype type, core::counter_random& random);

}  // namespace assay::properties
