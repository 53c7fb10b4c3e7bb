// TAPE: states that begin as cosines and sines, and wrong and right ways to change them.
#include <cmath>

#include "properties/faults/call_changes.hpp"
#include "properties/faults/declared_faults.hpp"
#include "properties/kinds/attention.hpp"
#include "reference/encodings/tape.hpp"

namespace assay::properties::encodings::tape {
namespace {

using core::dtype;
using encoding = reference::encodings::tape;
inline constexpr auto& changed = make_variant<encoding>;

// Families.

// Cosines and sines of angles, times `magnitude`.
void turn_states(drawn_inputs& in, core::counter_random& random, double magnitude) {
  const std::vector<double>::size_type count = in.numbers.at("e_cos").size();
  for (std::size_t k = 0; k < count; ++k) {
    const double angle = random.uniform(0.0, 6.28);
    in.numbers.at("e_cos")[k] = magnitude * std::cos(angle);
    in.numbers.at("e_sin")[k] = magnitude * std::sin(angle);
  }
  if (const auto weights = in.numbers.find("weights"); weights != in.numbers.end())
    for (double& p : weights->second) p = std::fabs(p) / static_cast<double>(in.sizes.at("n"));
}
void on_the_circle(drawn_inputs& in, const core::operation&, dtype, core::counter_random& random) {
  turn_states(in, random, 1.0);
}
void grown(drawn_inputs& in, const core::operation&, dtype, core::counter_random& random) {
  turn_states(in, random, std::exp2(random.uniform(1, 4)));
}
// Layers at initialisation: states do not change.
void at_first(drawn_inputs& in, const core::operation&, dtype, core::counter_random& random) {
  turn_states(in, random, 1.0);
  for (const char* weight : {"mix", "up"})
    if (const auto found = in.numbers.find(weight); found != in.numbers.end())
      std::fill(found->second.begin(), found->second.end(), 0.0);
}
void with_nan(drawn_inputs& in, const core::operation&, dtype, core::counter_random& random) {
  turn_states(in, random, 1.0);
  std::vector<double>& e = in.numbers.at(random.one_in(2) ? "e_cos" : "e_sin");
  if (!e.empty()) e[random.below(e.size())] = std::nan("");
}

// Laws.

// If all states of a channel are turned by one phase, the result is turned by it: e u for e = e_cos + i e_sin.
void check_phase(experiment& e) {
  // A quarter turn is exact: (cos, sin) becomes (-sin, cos).
  test_case quarter = e.c;
  auto& inputs = quarter.call.inputs;
  std::swap(inputs.at("e_cos"), inputs.at("e_sin"));
  negate(inputs, "e_cos");
  const measured_call &before = e.call(), &after = e.call(quarter);
  const numbers f_cos(before, "f_cos"), f_sin(before, "f_sin"), g_cos(after, "f_cos"), g_sin(after, "f_sin");
  for (std::size_t k = 0; k < f_cos.size(); ++k) {
    e.equal(-f_sin[k], g_cos[k], "number {} of f_cos where states are a quarter further", k);
    e.equal(f_cos[k], g_sin[k], "number {} of f_sin where states are a quarter further", k);
  }
}

// Faults.

void transpose_weights(request& call) {
  const auto found = call.inputs.find("weights");
  if (found == call.inputs.end()) return;
  const core::tensor old = found->second;
  const std::size_t n = old.shape()[3];
  for (std::size_t k = 0; k < old.size(); ++k)
    found->second.values.storage()[k] = old.values.storage()[k / (n * n) * n * n + k % n * n + k / n % n];
}
// Scales states to length 1, as those of a rotation are.
void normalise(request& call) {
  core::tensor &cosines = call.inputs.at("e_cos"), &sines = call.inputs.at("e_sin");
  for (std::size_t k = 0; k < cosines.size(); ++k) {
    double &c = cosines.values.storage()[k], &s = sines.values.storage()[k];
    const double length = std::sqrt(c * c + s * s);
    if (length == 0.0 || !std::isfinite(length)) continue;
    c = core::round_to(call.type, c / length), s = core::round_to(call.type, s / length);
  }
}
// For `apply`: reorders coordinates whose partners are neighbours into halves, or back.
std::vector<std::size_t> order_of_neighbours(std::size_t width, bool back) {
  std::vector<std::size_t> order(width);
  for (std::size_t c = 0; c < width; ++c) {
    const std::size_t from = c < width / 2 ? 2 * c : 2 * (c - width / 2) + 1;
    order[back ? from : c] = back ? c : from;
  }
  return order;
}
void reorder_channels(core::tensors& all, std::initializer_list<const char*> names, bool back) {
  for (const char* name : names)
    if (const auto t = all.find(name); t != all.end())
      t->second = core::take(t->second, 3, order_of_neighbours(t->second.shape()[3], back));
}
void pair_neighbours(request& call) {
  if (call.operation->forward_name() == "tape/apply")
    reorder_channels(call.inputs, {"x", "e_cos", "e_sin", "grad_y"}, false);
}
void part_neighbours(core::tensors& outputs, const request& call) {
  if (call.operation->forward_name() == "tape/apply")
    reorder_channels(outputs, {"y", "grad_x", "grad_e_cos", "grad_e_sin"}, true);
}
// Leaves out the old state.
void lose_residual(core::tensors& outputs, const request& call) {
  for (const auto& [from, to] : {std::pair{"e_cos", "f_cos"}, {"e_sin", "f_sin"}})
    if (const auto f = outputs.find(to); f != outputs.end())
      for (std::size_t k = 0; k < f->second.size(); ++k) {
        double& y = f->second.values.storage()[k];
        y = core::round_to(call.type, y - call.inputs.at(from).values.storage()[k]);
      }
}

std::vector<variant> mutants() {
  return all_of(
      {reported_faults({
           {"mutant/tape_heads_mixed", "VITA-Group/TAPE: an einsum whose second index is none of its output",
            "tape/mix/across_heads/false_and_true_exchanged"},
           {"mutant/tape_sines_negated", "a reflection for a rotation: no symmetry of the released form",
            "tape/apply/e_sin/negated"},
           {"mutant/tape_gate_detached", "pytorch/pytorch#196705: a path dropped", "tape/update:vjp/grad_gate/zeroed"},
       }),
       {
           changed("mutant/tape_weights_transposed", "a matrix product from the other side", "keys weigh queries",
                   {.inputs = transpose_weights}),
           changed("mutant/tape_states_normalised", "states kept on the circle", "states have length 1",
                   {.inputs = normalise, .representative = true}),
           changed("mutant/tape_residual_forgotten", "VITA-Group/TAPE, add_tuples left out",
                   "only the change is returned", {.outputs = lose_residual, .representative = true}),
           changed("mutant/tape_gates_linear", "an activation left out", "gates are G x",
                   {.formula = [](auto& scheme) { scheme.activation = [](const auto& z) { return z; }; },
                    .representative = true}),
           changed("mutant/tape_sigmoid_gates", "sigmoid for silu", "gates are sigmoid(G x)",
                   {.formula = [](auto& scheme) { scheme.activation = [](const auto& z) { return sigmoid(z); }; }}),
           changed("mutant/tape_sines_stay", "a loop over (cos, sin) that ends early", "sines are not changed",
                   {.outputs =
                        [](core::tensors& outputs, const request& call) {
                          if (const auto f = outputs.find("f_sin"); f != outputs.end())
                            f->second = call.inputs.at("e_sin");
                        },
                    .representative = true}),
           changed("mutant/tape_neighbours", "rotate_half of interleaved pairs", "neighbours are partners",
                   {.inputs = pair_neighbours, .outputs = part_neighbours}),
       }});
}

std::vector<variant> controls() {
  return {
      changed("control/tape_in_f64", "all in f64, rounded once", "another precision", {.arithmetic = in_f64}),
      changed("control/tape_usual_stages", "VITA-Group/TAPE, models/llama/adape.py",
              "f16 and bf16: products of matrices added up in f32 and cast, all else in the dtype",
              {.arithmetic = in_usual_stages, .declared = nothing_declared}),
      changed("control/tape_silu_by_division", "z / (1 + exp(-z))", "silu as a quotient", {.formula = [](auto& scheme) {
                scheme.activation = [](const auto& z) {
                  using N = std::decay_t<decltype(z)>;
                  return z / (N(1.0) + exp(-z));
                };
              }})};
}

}  // namespace

encoding_tests make_tests() {
  encoding_tests tests;
  tests.name = "tape";
  tests.families = {
      attention_family("mild", "states on the circle, weights of order 1 / n", on_the_circle),
      attention_family("grown_states", "states of 2 to 16, as layers leave them", grown),
      attention_family("at_first", "weights of zeros, as layers are initialised", at_first),
      holding_nan(attention_family("nan_inside", "one NaN in a state", with_nan)),
  };
  // Each token of `mix` is a sum over all tokens.
  add_sizes(tests.sizes, {"tape/mix"}, "B h n d",
            "5 9 3 3, 5 2 66 2, 5 1 3 66, 1 9 66 2, 1 9 3 66, 1 1 66 64, 2 2 130 2, 1 1 127 1, 2 2 64 64, 1 1 66 128");
  add_sizes(tests.sizes, {"tape/mix"}, "B h n d", "5 9 3 66, 1 1 66 2", true, every_family);
  add_sizes(tests.sizes, {"tape/mix"}, "B h n d", "2 2 258 5, 65537 1 1 2", false);
  tests.mutants = mutants();
  tests.controls = controls();
  tests.laws = {law("state_phase", "states that are turned give turned states",
                    {{"tape/mix", "tape/update"}, {"mild", "grown_states"}}, {2, check_phase})};
  return tests;
}

}  // namespace assay::properties::encodings::tape
