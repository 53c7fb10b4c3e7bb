// No positions: families, wrong and right temperatures.
#include <cmath>

#include "properties/faults/call_changes.hpp"
#include "properties/faults/declared_faults.hpp"
#include "properties/harness/usual_sizes.hpp"
#include "properties/kinds/attention.hpp"
#include "properties/kinds/relative_scores.hpp"
#include "properties/kinds/table.hpp"
#include "reference/encodings/nope.hpp"
#include "reference/oracle.hpp"

namespace assay::properties::encodings::nope {
namespace {

using encoding = reference::encodings::nope;
inline constexpr auto& changed = make_variant<encoding>;

// Positions at the ends of steps, or anywhere up to `last`.
double beside_ends(const drawing& from, double last) {
  const auto step = static_cast<double>(core::setting<std::int64_t>(from.settings, "floor_scale"));
  if (from.random.one_in(3)) return std::floor(from.random.uniform(0, last));
  const double ends = std::floor(last / step);
  return std::max(0.0,
                  step * std::floor(from.random.uniform(1, ends + 1)) - 2 + static_cast<double>(from.random.below(3)));
}
double usual(const drawing& from) { return beside_ends(from, 0x1p20); }
double far(const drawing& from) { return std::min(beside_ends(from, 0x1p31), 0x1p31); }

family of_both(const std::string& name, const std::string& summary, double (*position)(const drawing&),
               input_filler vectors) {
  return by_input("position", table_family(name, summary, {{"position", each(position)}}),
                  attention_family(name, summary, std::move(vectors)));
}
// Factors of heads near 1, where training starts.
void beside_one(drawn_inputs& in, const core::operation&, core::dtype, core::counter_random&) {
  for (double& x : in.numbers.at("head_scale")) x = std::exp2(x / 4);
}
void large(drawn_inputs& in, const core::operation&, core::dtype, core::counter_random& random) {
  for (double& x : in.numbers.at("head_scale")) x *= random.one_in(2) ? 64 : 0x1p-6;
}
void with_nan(drawn_inputs& in, const core::operation& op, core::dtype type, core::counter_random& random) {
  beside_one(in, op, type, random);
  nan_in({"q", "v", "head_scale"})(in, op, type, random);
}

using reference::formula::traced;
using index = reference::formula::traced_integer;
auto with_steps(index (*steps)(const index& position, const index& floor_scale)) {
  return [steps](auto& scheme) { scheme.step_of = steps; };
}
std::vector<variant> mutants() {
  return all_of(
      {reported_faults({
           {"mutant/nope_mask_forgotten", "Kazemnejad et al. 2023: an encoder without positions knows no order",
            "nope/attention/causal/ignored"},
           {"mutant/nope_floor_scale_ignored", "a port of Llama 4: settings of a checkpoint not read",
            "nope/temperature/floor_scale/ignored"},
       }),
       {
           changed("mutant/nope_position_from_0", "a port of Llama 4: i for i + 1",
                   "each step begins one position late",
                   {.formula = with_steps([](const index& i, const index& s) { return floor_divide(i, s); })}),
           changed("mutant/nope_ceiling", "a port with ceil", "the first step begins at position 0",
                   {.formula = with_steps([](const index& i, const index& s) { return floor_divide(i + s, s); })}),
           changed("mutant/nope_base_2", "log2 for log", "the logarithm has base 2",
                   {.formula =
                        [](auto& scheme) {
                          scheme.temperature = [](const index& steps, const traced& attn_scale) {
                            const traced one(1.0), two(2.0);
                            return one + attn_scale * (log(index_number(steps + index::constant(1))) / log(two));
                          };
                        }}),
           changed("mutant/nope_scales_in_bf16", "AntNLP/nope_head_scale, llama_nope.py: a parameter of bf16",
                   "the factors of heads have the digits of bf16",
                   {.inputs = [](request& call) { round_each(call.inputs, "head_scale", core::dtype::bf16); }}),
           changed("mutant/nope_scale_squared", "queries and keys are both multiplied", "the factor counts twice",
                   {.inputs =
                        [](request& call) { change_each(call.inputs, "head_scale", [](double x) { return x * x; }); }}),
           changed("mutant/nope_scales_detached", "pytorch/pytorch#196705: a path dropped",
                   "head_scale has no gradient",
                   {.outputs = [](core::tensors& outputs) { set_to_zero(outputs, "grad_head_scale"); }}),
           changed("mutant/nope_no_shift", "pytorch/pytorch#1835: overflow", "exp without a shift",
                   {.formula = weights::steps(weights::without_shift)}),
       }});
}

std::vector<variant> controls() {
  std::vector<variant> all = controls_of_attention<encoding>("nope");
  all.push_back(
      changed("control/nope_log1p", "log1p of the floor", "log(1 + x) as one function", {.formula = [](auto& scheme) {
                scheme.temperature = [](const index& steps, const traced& attn_scale) {
                  return traced(1.0) + attn_scale * log1p(index_number(steps));
                };
              }}));
  return all;
}

}  // namespace

encoding_tests make_tests() {
  encoding_tests tests;
  tests.name = "nope";
  tests.families = {
      parting_classes(
          of_both("mild", "positions up to 2^20, beside the ends of steps; factors beside 1", usual, beside_one)),
      of_input("position", of_both("far", "positions up to 2^31", far, as_drawn)),
      of_input("q", attention_family("large_scales", "factors of 64 and of 1/64, of either sign", large)),
      holding_nan(of_input("q", attention_family("nan_inside", "one NaN", with_nan))),
  };
  tests.sizes = sizes_by_roles(*reference::find_operation("nope/temperature"));
  add_sizes_of_places(tests.sizes, {"nope/attention"});
  tests.long_ones = {{{"nope/attention"}, {{"m", 0}}, {{"B", 33000}, {"h", 33000}, {"n", 130}}}};
  tests.mutants = mutants();
  tests.controls = controls();
  tests.rests_on_convention = has_query_without_any_key;
  return tests;
}

}  // namespace assay::properties::encodings::nope
