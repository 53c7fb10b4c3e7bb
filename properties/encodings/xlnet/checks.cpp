// XLNet: families, and wrong and right ways to score.
#include "properties/faults/call_changes.hpp"
#include "properties/faults/declared_faults.hpp"
#include "properties/kinds/attention.hpp"
#include "properties/kinds/relative_scores.hpp"
#include "reference/encodings/xlnet.hpp"

namespace assay::properties::encodings::xlnet {
namespace {

using encoding = reference::encodings::xlnet;
inline constexpr auto& changed = make_variant<encoding>;

std::vector<variant> mutants() {
  return all_of(
      {faults_of_scores<encoding>("xlnet"),
       {
           changed("mutant/xlnet_causal_shift", "zihangdai/xlnet#97: the shift of Transformer-XL in both directions",
                   "distances are one too large",
                   {.formula =
                        [](auto& scheme) {
                          scheme.row = [](std::size_t i, std::size_t j, std::size_t n) { return n + j - i - 1; };
                        },
                    .representative = true}),
           changed("mutant/xlnet_distances_reversed", "keys of distances in the other order",
                   "the distance of a key before the query is that of one behind it",
                   {.formula =
                        [](auto& scheme) {
                          scheme.row = [](std::size_t i, std::size_t j, std::size_t n) { return n + i - j; };
                        }}),
           changed(
               "mutant/xlnet_segments_exchanged", "0 and 1 exchanged in a port", "tokens of one segment are told apart",
               {.inputs =
                    [](request& call) { change_each(call.inputs, "other_segment", [](double x) { return 1 - x; }); }}),
           changed("mutant/xlnet_segments_without_query", "a term that a port leaves out", "w is 0",
                   {.inputs = [](request& call) { set_to_zero(call.inputs, "w"); }}),
       }});
}

}  // namespace

encoding_tests make_tests() {
  encoding_tests tests = tests_of_scores<encoding>(
      "xlnet", {parting_classes(attention_family("mild", "normal numbers", as_drawn)),
                attention_family("large_positions", "all but queries and keys 16 times as large, or 0",
                                 far_larger({"u", "v", "w", "p", "e"})),
                holding_nan(attention_family("nan_inside", "one NaN", nan_in({"q", "p"})))});
  tests.sizes = sizes_of_square_scores("xlnet/scores");
  tests.long_ones = {{{"xlnet/scores"}, {}, {{"n", 600}}}};
  tests.mutants = mutants();
  return tests;
}

}  // namespace assay::properties::encodings::xlnet
