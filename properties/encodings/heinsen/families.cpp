// Families of inputs for Heinsen's log-linear encoding. No single one suffices: each shows faults that all others hide
// (see the mutants).
#include <algorithm>
#include <cmath>

#include "properties/encodings/heinsen/hypotheses/hypotheses.hpp"
#include "properties/encodings/heinsen/laws/laws.hpp"
#include "properties/encodings/heinsen/mutants/mutants.hpp"
#include "properties/generators/lane_inputs.hpp"
#include "properties/harness/catalogue.hpp"

namespace assay::properties::encodings::heinsen {
namespace {

using core::counter_random;
using core::dtype;

// The numbers that a family sets in the module: centre and spread, over the tokens, of the gate logits and of h.
struct logit_ranges {
  double gate_centre = 0, gate_spread = 1, h_centre = 0, h_spread = 1;
};

std::size_t draw_length(counter_random& random, extent size) {
  if (size.range == lengths::exactly) return size.tokens;
  if (size.range == lengths::long_ones) return 1000 + random.below(1100);
  if (size.range == lengths::around_blocks) {
    if (random.one_in(4)) return 66 + random.below(260);
    const std::size_t power = std::size_t{1} << (3 + random.below(6));
    return power - 1 + random.below(3);
  }
  return random.one_in(2) ? random.below(9) : random.below(66);
}

struct extents {
  std::size_t batch, n, d;
};
extents draw_extents(counter_random& random, extent size) {
  if (size.is_given()) return {size.axis("B", 1), size.axis("n", 3), size.axis("d", 2)};
  extents s{1, draw_length(random, size), 1};
  if (size.range == lengths::exactly) s.d = 4;
  if (size.range >= lengths::long_ones) return s;
  // The certified truth costs microseconds for each element: wide or many rows have few tokens.
  constexpr std::size_t widths[] = {1, 2, 3, 5, 9, 17, 35};
  s.d = widths[random.below(s.n < 10 ? 7 : s.n < 34 ? 3 : 2)];
  if (s.n < 34 && random.one_in(3)) s.batch = 2 + random.below(2);
  if (random.one_in(60)) s.d = 0;
  return s;
}

core::tensors scan_inputs(lane_filler fill, bool gated, dtype type, counter_random& random, extent size) {
  const extents s = draw_extents(random, size);
  scan_tensors all = fill_lanes(fill, gated, type, random, s.batch, s.n, s.d);
  core::tensors inputs;  // an initializer list would copy tensors that may be large
  inputs.emplace(gated ? "g" : "log_p", std::move(all.gate));
  inputs.emplace("h", std::move(all.h));
  inputs.emplace("s0", std::move(all.s0));
  return inputs;
}

// Tokens and weights are mild; biases and scales put the logits into the family's range.
core::tensors module_inputs(const logit_ranges& r, dtype type, counter_random& random, extent size) {
  extents s = draw_extents(random, size);
  if (!size.is_given()) s.d = std::min<std::size_t>(s.d, 5);
  const std::size_t e = size.axis("e", 1 + random.below(6));
  const auto draw = [&](const core::shape& shape, double centre, double spread) {
    std::vector<double> x(core::element_count(shape));
    for (double& value : x) value = centre + spread * random.normal();
    return core::make_tensor(type, shape, x);
  };
  const auto halves = [&](core::tensor gate, const core::tensor& rest) {
    core::shape shape = gate.shape();
    std::vector<double> x(gate.values.storage().begin(), gate.values.storage().end());
    x.insert(x.end(), rest.values.storage().begin(), rest.values.storage().end());
    shape[0] *= 2;
    return core::make_tensor(type, shape, x);
  };
  const double width = std::sqrt(static_cast<double>(e));
  return {{"x", draw({s.batch, s.n, e}, 0, 1)},
          {"W_H", halves(draw({s.d, e}, 0, r.gate_spread / width), draw({s.d, e}, 0, r.h_spread / width))},
          {"b_H", halves(draw({s.d}, r.gate_centre, r.gate_spread / 4), draw({s.d}, r.h_centre, r.h_spread / 4))},
          {"W_R", draw({e, s.d}, 0, 0.5)},
          {"b_R", draw({e}, 0, 0.5)},
          {"s0", draw({s.batch, s.d}, 0, 1)}};
}

bool is_module(const core::operation& op) { return op.name == "heinsen/embed_position"; }

family scan_family(std::string name, std::string summary, lane_filler fill) {
  family f{std::move(name), std::move(summary)};
  f.generate = [fill](const core::operation& op, dtype type, const core::attributes&, counter_random& random,
                      extent size) { return scan_inputs(fill, op.name == "heinsen/gated_scan", type, random, size); };
  f.applies = [](const core::operation& op) { return !is_module(op); };
  return f;
}

family full_family(std::string name, std::string summary, lane_filler fill, logit_ranges ranges) {
  family f{std::move(name), std::move(summary)};
  f.generate = [fill, ranges](const core::operation& op, dtype type, const core::attributes&, counter_random& random,
                              extent size) {
    return is_module(op) ? module_inputs(ranges, type, random, size)
                         : scan_inputs(fill, op.name == "heinsen/gated_scan", type, random, size);
  };
  return f;
}

std::vector<usual_size> usual_sizes() {
  const std::vector<std::string> scans{"heinsen/scan", "heinsen/gated_scan"}, module{"heinsen/embed_position"};
  return {
      {scans, {{"B", 66}, {"n", 9}, {"d", 130}}, true},
      {scans, {{"B", 5}, {"n", 1025}, {"d", 3}}, true},
      {scans, {{"B", 2}, {"n", 258}, {"d", 160}}, true},
      {scans, {{"B", 2}, {"n", 4097}, {"d", 2}}, true},
      {scans, {{"B", 2}, {"n", 128}, {"d", 64}}, true},
      {scans, {{"B", 2}, {"n", 2048}, {"d", 4}}, true},
      {scans, {{"B", 130}, {"n", 5}, {"d", 5}}, true},
      {scans, {{"B", 2}, {"n", 5}, {"d", 1030}}, true},
      {scans, {{"B", 2}, {"n", 1023}, {"d", 3}}, true},
      {scans, {{"B", 5}, {"n", 17}, {"d", 66}}, true, every_family},
      {scans, {{"B", 2}, {"n", 130}, {"d", 9}}, true, every_family},
      {scans, {{"B", 1}, {"n", 16385}, {"d", 2}}},
      {scans, {{"B", 4}, {"n", 8193}, {"d", 33}}},
      {scans, {{"B", 10}, {"n", 513}, {"d", 257}}},
      {scans, {{"B", 2}, {"n", 129}, {"d", 1026}}},
      {scans, {{"B", 2}, {"n", 17}, {"d", 4097}}},
      {scans, {{"B", 65537}, {"n", 3}, {"d", 2}}},
      {scans, {{"B", 2}, {"n", 65537}, {"d", 3}}},
      {scans, {{"B", 1}, {"n", 1000003}, {"d", 1}}},
      {scans, {{"B", 10}, {"n", 1025}, {"d", 66}}, false, every_family},
      {module, {{"B", 5}, {"n", 33}, {"e", 66}, {"d", 65}}, true},
      {module, {{"B", 2}, {"n", 1025}, {"e", 3}, {"d", 3}}, true},
      {module, {{"B", 5}, {"n", 127}, {"e", 3}, {"d", 66}}, true},
      {module, {{"B", 1}, {"n", 66}, {"e", 66}, {"d", 2}}, true},
      {module, {{"B", 2}, {"n", 64}, {"e", 64}, {"d", 64}}, true},
      {module, {{"B", 5}, {"n", 9}, {"e", 66}, {"d", 66}}, true, every_family},
      {module, {{"B", 1}, {"n", 66}, {"e", 3}, {"d", 3}}, true, every_family},
      {module, {{"B", 66}, {"n", 9}, {"e", 33}, {"d", 33}}},
      {module, {{"B", 2}, {"n", 4097}, {"e", 5}, {"d", 3}}},
      {module, {{"B", 1}, {"n", 9}, {"e", 258}, {"d", 129}}},
  };
}

}  // namespace

encoding_tests make_tests() {
  encoding_tests tests;
  tests.name = "heinsen";
  // Long cases have gates near one: tokens are forgotten slowly, so that each has weight and no law is wider than
  // needed.
  tests.families = {
      parting_classes(full_family("mild", "gates and inputs of order 1", mild, {0, 1, 0, 1})),
      parting_classes(
          long_along("n", full_family("gates_near_one", "log p from -2^-4 to -2^-29", gates_near_one, {6, 2, 0, 1}))),
      parting_classes(full_family("gates_near_zero", "log p from -5 to -60", gates_near_zero, {-20, 8, 0, 1})),
      parting_classes(
          full_family("constant_gate", "one decay for the whole lane, 2^-17 to 1", constant_gate, {2, 0, 0, 1})),
      scan_family("constant_stream", "decay and input constant", constant_stream),
      full_family("block_half_life", "decay over a block is e^-0.3 to e^-3", block_half_life, {3.5, 0.5, 0, 1}),
      full_family("large_h", "|h| from 90 to 300", large_h, {0, 1, 200, 60}),
      scan_family("late_spike", "one h of 120 late in the lane", late_spike),
      scan_family("infinite_prefix", "s0 and the first h are -inf", infinite_prefix),
      scan_family("infinite_inside", "h and log p are -inf here and there", infinite_inside),
      scan_family("gap", "h below or above the state by 12 nats to log(1/u) + 4", gap),
      full_family("no_decay", "log p = 0 or above -1e-6", no_decay, {40, 10, 0, 1}),
      scan_family("powers_of_two", "all inputs are powers of two", powers_of_two),
      scan_family("subnormal", "all inputs are subnormal", subnormal),
      parting_classes(scan_family("wide", "log p from -69 to 0, h to 1e4", wide)),
      scan_family("fading_state", "a state of 60 to 80 decays within a few tokens by more than 90", fading_state),
      scan_family("extreme_gates", "decays beyond the exponent range, h often -inf", extreme_gates),
      scan_family("special_values", "zeros, infinities, and numbers at the ends of the formats", special_values),
      scan_family("branch_points", "gaps and logits where implementations change their formula", branch_points),
      scan_family("near_zero_states", "h chosen so that states nearly vanish", near_zero_states),
      scan_family("near_midpoints", "h chosen so that states lie next to a rounding midpoint", near_midpoints),
      scan_family("neutral_padding", "neutral elements (0, -inf) strewn in", neutral_padding),
      holding_nan(scan_family("nan_inside", "a NaN in some lanes", nan_inside)),
  };
  std::vector<hypothesis> hypotheses;
  for (auto&& part : {state_hypotheses(), block_hypotheses(), gradient_hypotheses()})
    hypotheses.insert(hypotheses.end(), part.begin(), part.end());
  tests.sizes = usual_sizes();
  tests.long_ones = {{{"heinsen/scan", "heinsen/gated_scan", "heinsen/embed_position"}, {{"n", 2}}}};
  tests.mutants = mutants();
  tests.controls = controls();
  tests.not_modelled = not_modelled();
  tests.laws = laws();
  tests.generated = generated_mutants;
  tests.hypotheses = std::move(hypotheses);
  tests.facts = family_facts();
  tests.uninformed = {maximum_for_sum()};
  return tests;
}

}  // namespace assay::properties::encodings::heinsen
