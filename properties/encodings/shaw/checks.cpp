// Relative keys and values: families, and wrong and right ways to find their rows and to weigh them.
#include <algorithm>

#include "properties/faults/call_changes.hpp"
#include "properties/faults/declared_faults.hpp"
#include "properties/harness/usual_sizes.hpp"
#include "properties/kinds/attention.hpp"
#include "properties/kinds/relative_scores.hpp"
#include "reference/encodings/shaw.hpp"
#include "reference/oracle.hpp"

namespace assay::properties::encodings::shaw {
namespace {

using encoding = reference::encodings::shaw;
inline constexpr auto& changed = make_variant<encoding>;

auto with_index(std::int64_t (*index)(std::int64_t rho, std::int64_t left, std::int64_t right)) {
  return [index](auto& scheme) { scheme.index = index; };
}

std::vector<variant> mutants() {
  return all_of(
      {reported_faults({
           {"mutant/shaw_opposite_sign", "huggingface/transformers, BertSelfAttention: i - j for j - i",
            "shaw/scores/sign/key_minus_query_and_query_minus_key_exchanged"},
           {"mutant/shaw_keys_forgotten", "huggingface/transformers: relative_key for relative_key_query",
            "shaw/scores/meets/ignored"},
           {"mutant/shaw_values_forgotten", "Music Transformer (arXiv 1809.04281) has keys alone",
            "shaw/attention/where/always_keys"},
           {"mutant/shaw_mask_forgotten", "magenta/magenta#1486: what lies behind the query counts",
            "shaw/attention/causal/ignored"},
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
                    .representative = true}),
           changed("mutant/shaw_table_unscaled", "a term that is added behind the factor",
                   "products with the table are not divided by sqrt(d)",
                   {.formula =
                        [](auto& scheme) {
                          scheme.score = [](const auto& factor, const auto& products) {
                            auto sum = factor * products.front();
                            for (std::size_t k = 1; k < products.size(); ++k) sum = sum + products[k];
                            return sum;
                          };
                        }}),
           changed("mutant/shaw_values_of_the_other_side", "a port: signs of keys and of values apart",
                   "values are those of the opposite distance",
                   {.inputs =
                        [](request& call) {
                          if (const auto w = call.inputs.find("table_v"); w != call.inputs.end()) {
                            const auto rows = rows_of(w->second);
                            for (std::size_t r = 0; 2 * r + 1 < rows.size(); ++r)
                              std::swap_ranges(rows[r].begin(), rows[r].end(), rows[rows.size() - 1 - r].begin());
                          }
                        }}),
           changed("mutant/shaw_values_detached", "pytorch/pytorch#196705: a path dropped", "table_v has no gradient",
                   {.outputs = [](core::tensors& outputs) { set_to_zero(outputs, "grad_table_v"); }}),
           changed("mutant/shaw_no_shift", "pytorch/pytorch#1835: overflow", "exp without a shift",
                   {.formula = weights::steps(weights::without_shift)}),
       }});
}

// With tables of order 1, a weight that is rounded to bf16 would hide the terms of its gradient.
void milder_tables(drawn_inputs& in, const core::operation&, core::dtype, core::counter_random&) {
  for (const char* table : {"table_k", "table_v"})
    if (in.numbers.contains(table))
      for (double& x : in.numbers.at(table)) x /= 4;
}

std::vector<usual_size> sizes() {
  const std::string attention = "shaw/attention";
  std::vector<usual_size> all = sizes_of_scores("shaw/scores");
  const std::string axes = "B h n m d e b";
  add_sizes(all, {attention}, axes,
            "5 9 3 130 1 2 3, 66 2 2 5 3 3 3, 66 1 2 3 1 1 67, 1 9 2 3 1 1 67, 2 2 129 130 1 1 67, 1 1 63 127 1 1 9,"
            "5 1 65 66 1 2 3, 1 9 65 66 1 2 3, 1 1 65 66 66 1 3, 1 1 65 66 1 66 3, 1 1 2 3 66 66 67, 1 1 3 130 64 64 9,"
            "1 1 3 130 128 128 9");
  add_sizes(all, {attention}, axes, "2 2 64 64 64 64 4");
  add_sizes(all, {attention}, axes, "5 9 3 5 66 66 3, 1 2 65 66 2 2 5, 1 2 3 258 3 2 5", true, every_family);
  add_sizes(all, {attention}, axes, "1 2 9 17 256 256 9, 2 2 258 513 2 3 129, 65537 1 1 2 2 1 3", false);
  return all;
}

}  // namespace

encoding_tests make_tests() {
  encoding_tests tests = tests_of_scores<encoding>(
      "shaw",
      {parting_classes(attention_family("mild", "normal numbers; tables of attention are of order 1/4", milder_tables)),
       attention_family("large_table", "tables 16 times as large, or 0", far_larger({"table", "table_k", "table_v"})),
       of_input("v", attention_family("large_logits", "scores of 256", large_logits)),
       holding_nan(attention_family("nan_inside", "one NaN", nan_in({"q", "table", "v"})))});
  tests.sizes = sizes();
  tests.long_ones = {
      {{"shaw/attention"}, {{"m", 0}, {"b", 3}}, {{"B", 16390}, {"h", 16390}, {"n", 130}, {"m", 33000}}}};
  tests.mutants = mutants();
  // The usual stages of attention are those of scores, which are there already.
  for (variant& v : controls_of_kernels<encoding>("shaw")) tests.controls.push_back(std::move(v));
  tests.rests_on_convention = has_query_without_any_key;
  return tests;
}

}  // namespace assay::properties::encodings::shaw
