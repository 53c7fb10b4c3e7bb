// TENER: families, and wrong and right ways to compute distances.
#include "properties/faults/call_changes.hpp"
#include "properties/faults/declared_faults.hpp"
#include "properties/kinds/attention.hpp"
#include "properties/kinds/relative_scores.hpp"
#include "reference/encodings/tener.hpp"

namespace assay::properties::encodings::tener {
namespace {

using encoding = reference::encodings::tener;
inline constexpr auto& changed = make_variant<encoding>;

std::vector<variant> mutants() {
  return all_of(
      {reported_faults({
           {"mutant/tener_direction", "fastnlp/TENER, relative_transformer.py: R_{j - i} where the paper has R_{i - j}",
            "tener/scores/terms/code_and_paper_exchanged"},
           {"mutant/tener_frequencies", "fastnlp/TENER: the exponents of tensor2tensor for those of the paper",
            "tener/scores/rule/tensor2tensor_and_paper_exchanged"},
           {"mutant/tener_scaled", "a factor that Transformer-XL has, and TENER has not",
            "tener/scores/scale/one_and_inverse_sqrt_exchanged"},
       }),
       faults_of_scores<encoding>("tener"),
       {
           changed("mutant/tener_no_direction", "a table of |i - j|", "keys before and behind the query look the same",
                   {.formula =
                        [](auto& scheme) {
                          scheme.distance = [](std::int64_t i, std::int64_t j) { return i < j ? j - i : i - j; };
                        }}),
           changed("mutant/tener_biases_exchanged", "fastnlp/TENER: the names of the two vectors exchanged",
                   "u meets distances, and v keys",
                   {.inputs = [](request& call) { std::swap(call.inputs.at("u"), call.inputs.at("v")); }}),
           changed("mutant/tener_biases_detached", "pytorch/pytorch#196705: a path dropped", "v has no gradient",
                   {.outputs = [](core::tensors& outputs) { set_to_zero(outputs, "grad_v"); }}),
       }});
}

}  // namespace

encoding_tests make_tests() {
  encoding_tests tests = tests_of_scores<encoding>(
      "tener", {parting_classes(attention_family("mild", "normal numbers", as_drawn)),
                attention_family("large_vectors", "vectors of heads 16 times as large, or 0", far_larger({"u", "v"})),
                holding_nan(attention_family("nan_inside", "one NaN", nan_in({"q", "k", "v"})))});
  tests.sizes = sizes_of_square_scores("tener/scores");
  tests.long_ones = {{{"tener/scores"}, {}, {{"n", 400}}}};
  tests.mutants = mutants();
  return tests;
}

}  // namespace assay::properties::encodings::tener
