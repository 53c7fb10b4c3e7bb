// Transformer-XL: families, and wrong and right ways to shift and to score.
#include <algorithm>
#include <cmath>

#include "properties/faults/call_changes.hpp"
#include "properties/faults/declared_faults.hpp"
#include "properties/harness/usual_sizes.hpp"
#include "properties/kinds/attention.hpp"
#include "properties/kinds/relative_scores.hpp"
#include "reference/core/special_values.hpp"
#include "reference/encodings/transformer_xl.hpp"
#include "reference/oracle.hpp"

namespace assay::properties::encodings::transformer_xl {
namespace {

using encoding = reference::encodings::transformer_xl;
inline constexpr auto& changed = make_variant<encoding>;

// For shifts, numbers over the whole range of the format: copies are exact.
void wide(drawn_inputs& in, const core::operation&, core::dtype type, core::counter_random& random) {
  const auto f = core::format_of(type);
  const auto binades = static_cast<std::size_t>(f.max_exponent - f.min_exponent + f.precision);
  for (double& x : in.numbers.at("x"))
    x = random.sign() * std::ldexp(1.0, f.min_exponent - f.precision + 1 + static_cast<int>(random.below(binades)));
}
void masked(drawn_inputs& in, const core::operation&, core::dtype, core::counter_random& random) {
  for (double& x : in.numbers.at("x"))
    if (random.one_in(4)) x = -core::infinity;
}
// Copies are cheap: there are more queries and keys than for attention.
family longer(family f) {
  f.generate = [of_size = f.generate](const core::operation& op, core::dtype type, const core::attributes& settings,
                                      core::counter_random& random, extent size) {
    if (!size.is_given()) size = extent({{"n", 1 + random.below(24)}, {"m", 1 + random.below(24)}});
    return of_size(op, type, settings, random, std::move(size));
  };
  return f;
}
std::vector<usual_size> sizes() {
  std::vector<usual_size> all = sizes_of_scores("transformer_xl/scores");
  for (const char* operation : {"transformer_xl/shift", "transformer_xl/shift_both_sides"})
    for (usual_size& u : sizes_by_roles(*reference::find_operation(operation))) all.push_back(std::move(u));
  return all;
}

std::vector<variant> mutants() {
  return all_of(
      {reported_faults({
           {"mutant/txl_above_the_diagonal", "espnet/espnet#2684, kimiyoung/transformer-xl#8: numbers of other queries",
            "transformer_xl/shift/above/ignored"},
           {"mutant/txl_no_clamp", "a clamp forgotten in a port", "transformer_xl/scores/clamp/ignored"},
       }),
       faults_of_scores<encoding>("txl"),
       {
           changed("mutant/txl_padded_twice", "ZhengkunTian/OpenTransformer#25: the causal shift for both sides",
                   "distances are one too large",
                   {.formula =
                        [](auto& scheme) {
                          scheme.place = [](std::size_t i, std::size_t j, std::size_t n, std::size_t columns) {
                            return n + i * (columns - 1) + j - 1;
                          };
                        },
                    .representative = true}),
           changed("mutant/txl_transposed_shift",
                   "TensorSpeech/TensorFlowASR#161: the reshaping before the transposition",
                   "each query is shifted by as many columns as queries come before it",
                   {.formula =
                        [](auto& scheme) {
                          scheme.place = [](std::size_t i, std::size_t j, std::size_t n, std::size_t columns) {
                            return (n + i * (columns - 1) + j) / columns * columns + (i + j) % columns;
                          };
                        }}),
           changed("mutant/txl_no_memory", "NVIDIA-NeMo/NeMo: the first rows for a cached query",
                   "distances count from the first key, whatever the memory is",
                   {.formula =
                        [](auto& scheme) {
                          scheme.distance = [](std::size_t i, std::size_t j, std::size_t, std::size_t m) {
                            return std::min(static_cast<std::ptrdiff_t>(i), static_cast<std::ptrdiff_t>(m) - 1) -
                                   static_cast<std::ptrdiff_t>(j);
                          };
                        }}),
           changed("mutant/txl_biases_exchanged", "fastnlp/TENER: the names of the two vectors exchanged",
                   "u meets distances, and v keys",
                   {.inputs =
                        [](request& call) {
                          if (call.inputs.contains("u")) std::swap(call.inputs.at("u"), call.inputs.at("v"));
                        }}),
           changed("mutant/txl_biases_detached", "pytorch/pytorch#196705: a path dropped", "v has no gradient",
                   {.outputs = [](core::tensors& outputs) { set_to_zero(outputs, "grad_v"); }}),
       }});
}

}  // namespace

encoding_tests make_tests() {
  encoding_tests tests = tests_of_scores<encoding>(
      "txl",
      {parting_classes(attention_family("mild", "normal numbers", as_drawn)),
       of_input("x", longer(attention_family("wide", "numbers over the whole range of the format", wide))),
       of_input("x", longer(attention_family("masked", "every fourth number is -inf", masked))),
       of_input("p", attention_family("large_positions", "vectors of heads and distances 16 times as large, or 0",
                                      far_larger({"u", "v", "p"}))),
       holding_nan(attention_family("nan_inside", "one NaN", nan_in({"x", "q", "p"})))});
  tests.sizes = sizes();
  tests.mutants = mutants();
  return tests;
}

}  // namespace assay::properties::encodings::transformer_xl
