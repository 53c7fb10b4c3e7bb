// Relative keys: families, wrong and right ways to find their rows.
#include <algorithm>

#include "properties/faults/declared_faults.hpp"
#include "properties/kinds/attention.hpp"
#include "properties/kinds/relative_scores.hpp"
#include "reference/encodings/shaw.hpp"

namespace assay::properties::encodings::shaw {
namespace {

using encoding = reference::encodings::shaw;
inline constexpr auto& changed = make_variant<encoding>;

auto with_index(std::int64_t (*of)(std::int64_t rho, std::int64_t left, std::int64_t right)) {
  return [of](auto& how) { how.index = of; };
}

std::vector<variant> mutants() {
  return all_of({reported_faults({
                     {"mutant/shaw_opposite_sign", "huggingface/transformers, BertSelfAttention: i - j for j - i",
                      "shaw/scores/sign/key_minus_query_and_query_minus_key_exchanged"},
                     {"mutant/shaw_keys_forgotten", "huggingface/transformers: relative_key for relative_key_query",
                      "shaw/scores/meets/ignored"},
                 }),
                 faults_of_scores<encoding>("shaw"),
                 {
                     changed("mutant/shaw_no_clip", "huggingface/transformers#9164: no clip",
                             "distances beyond the table wrap around in it",
                             {.formula = with_index([](std::int64_t rho, std::int64_t left, std::int64_t right) {
                                const std::int64_t rows = left + right + 1;
                                return ((rho + left) % rows + rows) % rows;
                              })}),
                     changed("mutant/shaw_clip_of_the_other_side", "sides of unlike lengths exchanged",
                             "distances are clipped at the length of the other side",
                             {.formula = with_index([](std::int64_t rho, std::int64_t left, std::int64_t right) {
                                return std::min(std::clamp(rho, -right, left) + right, left + right);
                              })}),
                     changed("mutant/shaw_one_row_less", "spectraldoy/music-transformer#6: tables of one row too few",
                             "the last row is never read",
                             {.formula = with_index([](std::int64_t rho, std::int64_t left, std::int64_t right) {
                                return std::clamp(rho, -left, std::max<std::int64_t>(right - 1, -left)) + left;
                              }),
                              .telling = true}),
                 }});
}

}  // namespace

encoding_tests make_tests() {
  encoding_tests tests = tests_of_scores<encoding>(
      "shaw", {attention_family("mild", "normal numbers", as_drawn),
               attention_family("large_table", "a table 16 times as large, or 0", far_larger({"table"})),
               attention_family("nan_inside", "one NaN", nan_in({"q", "table"}))});
  tests.sizes = sizes_of_scores("shaw/scores");
  tests.mutants = mutants();
  return tests;
}

}  // namespace assay::properties::encodings::shaw
