// Attention with a bias: families, and faults of public reports.
#include <algorithm>
#include <cmath>

#include "properties/encodings/attention/kernels.hpp"
#include "properties/encodings/attention/merge.hpp"
#include "properties/encodings/attention/tile_faults.hpp"
#include "properties/faults/call_changes.hpp"
#include "properties/faults/declared_faults.hpp"
#include "reference/core/special_values.hpp"
#include "reference/encodings/attention.hpp"

namespace assay::properties::encodings::attention {
namespace {

using core::infinity;
using encoding = reference::encodings::attention;
inline constexpr auto& changed = make_variant<encoding>;

// Replaces a bias of zeros by that of a relative encoding: -1/2 for each token of distance.
void bias_where_none_is(request& call) {
  if (!call.inputs.contains("bias")) return;
  core::tensor& bias = call.inputs.at("bias");
  if (std::any_of(bias.values.begin(), bias.values.end(), [](double b) { return b != 0.0; })) return;
  const auto rows = rows_of(bias);
  for (std::size_t row = 0; row < rows.size(); ++row)
    for (std::size_t j = 0; j < rows[row].size(); ++j) {
      const auto distance = static_cast<double>(row % bias.shape()[1]) - static_cast<double>(j);
      rows[row][j] = core::round_to(call.type, -0.5 * std::fabs(distance));
    }
}

// The effect of a lowest finite number in place of -inf: no key weighs more than another.
void see_all_keys_where_none_is(request& call) {
  if (!call.inputs.contains("bias")) return;
  for (const std::span<double> row : rows_of(call.inputs.at("bias")))
    if (std::all_of(row.begin(), row.end(), [](double b) { return b == -infinity; }))
      std::fill(row.begin(), row.end(), 0.0);
}

// Weights whose sum passes no gradient on.
traced with_constant_sum(const traced& logits, const traced_truth& seen) {
  const traced all = weights::seen_alone(exp(weights::less_largest(logits, seen)), seen);
  return weights::seen_alone(all / detach(weights::sum_of_rows(all)), seen);
}

void average_gradient_of_bias(core::tensors& outputs, const request& call) {
  if (!call.inputs.contains("bias")) return;
  const auto batch = static_cast<double>(std::max<std::size_t>(1, call.inputs.at("q").shape()[0]));
  change_each(outputs, "grad_bias", [batch](double x) { return x / batch; });
}

void shift_bias(request& call) {
  if (!call.inputs.contains("bias")) return;
  for (const std::span<double> row : rows_of(call.inputs.at("bias"))) {
    const double largest = *std::max_element(row.begin(), row.end());
    if (largest == -infinity) continue;
    const auto exact = [&](double x) {
      const double less = x - largest;
      return less + largest == x && core::round_to(call.type, less) == less;
    };
    if (!std::all_of(row.begin(), row.end(), exact)) continue;
    for (double& x : row) x -= largest;
  }
}

std::vector<variant> mutants() {
  return all_of(
      {reported_faults({
           {"mutant/attention_no_scale", "a factor forgotten in a port", "attention/output/scale/always_one"},
           {"mutant/attention_bias_forgotten", "huggingface/transformers#29067: a fused path without the bias",
            "attention/output/bias/zeroed"},
           {"mutant/attention_bias_twice", "a bias that the caller and the kernel add",
            "attention/output/bias/doubled"},
           {"mutant/attention_bias_in_bf16", "HabanaAI/vllm-fork#503", "attention/output/bias/in_bf16"},
           {"mutant/attention_other_head", "triton-lang/triton#8412: axes", "attention/output/bias/reversed_along_h_0"},
           {"mutant/attention_first_row_of_bias", "unslothai/unsloth#3699: one row for all",
            "attention/output/bias/first_for_all_along_n_1"},
       }),
       faults_of_attention<encoding>("attention", "the bias"),
       faults_of_weights<encoding>("attention"),
       {
           changed("mutant/attention_scaled_by_width", "sgl-project/sglang#33558: a factor squared",
                   "q . k is divided by d",
                   {.formula = with_logit([](const auto& product, const auto& bias, const auto& scale) {
                      return scale * scale * product + bias;
                    })}),
           changed("mutant/attention_bias_where_none_is", "huggingface/transformers#8518: a bias in cross-attention",
                   "where the bias is 0 everywhere it is -|i - j| / 2", {.inputs = bias_where_none_is}),
           changed("mutant/attention_mask_is_finite", "a mask of -10000 instead of -inf",
                   "masked keys have the bias -10000",
                   {.inputs =
                        [](request& call) {
                          change_each(call.inputs, "bias", [](double b) { return b == -infinity ? -10000.0 : b; });
                        },
                    .representative = true}),
           changed("mutant/attention_all_keys_where_none_is",
                   "ml-explore/mlx#2395: neither 0 nor NaN in a row fully masked",
                   "a query whose keys are all masked sees all of them",
                   {.inputs = see_all_keys_where_none_is, .representative = true}),
           changed("mutant/attention_no_mean_in_gradient", "pytorch/pytorch#196705: a term dropped",
                   "the gradient of the logits lacks the mean",
                   {.gradient = [](auto& scheme) { scheme.weights = with_constant_sum; }}),
           changed("mutant/attention_bias_gradient_averaged", "jax-ml/jax#23842: a reduction over the batch",
                   "the gradient of the bias is averaged over the batch, not added up",
                   {.outputs = average_gradient_of_bias}),
       }});
}

std::vector<variant> controls() {
  return all_of({controls_of_weights<encoding>("attention"),
                 controls_of_attention<encoding>("attention"),
                 {changed("control/attention_bias_shifted", "vllm-project/vllm#945",
                          "the largest bias of each row is subtracted where that is exact", {.inputs = shift_bias})}});
}

// Every output element is a sum over all keys: a product of two large axes costs as much as a third.
std::vector<usual_size> sizes() {
  const std::vector<std::string> output{"attention/output"};
  const std::string axes = "B h n m d e";
  std::vector<usual_size> all;
  add_sizes(all, output, axes,
            "5 9 3 130 80 3, 5 9 66 3 66 130, 1 2 66 130 3 66, 2 2 64 64 64 64, 1 1 9 130 64 64, 66 2 2 9 3 65,"
            "1 2 5 258 3 2, 1 1 66 66 2 2, 1 2 9 130 128 128, 1 34 2 5 3 2, 1 2 3 1300 3 2, 1 2 255 63 3 2,"
            // Whole blocks, and one element more or less.
            "1 2 3 33 2 3, 1 2 3 65 3 2, 1 2 3 127 2 3, 1 2 3 129 3 2, 1 1 3 257 2 2, 1 1 3 513 2 2, 1 2 129 3 3 2,"
            "1 2 257 3 2 3");
  add_sizes(all, output, axes, "2 2 130 130 2 3", true, "causal");
  add_sizes(all, output, axes, "1 2 66 130 3 2", true, "masked_inside");
  add_sizes(all, output, axes, "5 9 2 5 66 66, 1 2 5 258 3 2, 2 2 66 17 3 2", true, every_family);
  add_sizes(all, output, axes,
            "1 2 9 17 96 96, 1 2 9 17 256 256, 1 2 66 513 65 65, 2 2 2 4097 3 2, 2 65 3 17 4 3, 2 2 130 130 128 128,"
            "65537 1 1 2 2 1, 2 2 4097 2 2 2",
            false);
  add_sizes(all, output, axes, "1 2 258 258 64 64", false, "causal");
  add_sizes(all, output, axes, "5 9 66 258 66 66", false, every_family);
  return all;
}

void mild(drawn_inputs&, const core::operation&, core::dtype, core::counter_random&) {}

}  // namespace

encoding_tests make_tests() {
  encoding_tests tests;
  tests.name = "attention";
  // Along keys, `few_keys` tells by outputs, where few keys have weight, and `mild` by gradients, which all keys have.
  // If logits are sums of 2^16 terms, their law allows any weights, unless the terms are 0.
  tests.families = {
      long_along("m", attention_family("mild", "numbers of order 1", mild)),
      bias_or_keys("no_bias", "a bias of 0 everywhere", no_bias, nullptr),
      bias_or_keys("causal", "no key behind the query", causal, nullptr),
      bias_or_keys("masked_inside", "every other key is masked", masked_inside, nullptr),
      long_along("m",
                 bias_or_keys("few_keys", "all keys but three are masked, or weigh nothing", few_keys, few_keys_weigh)),
      bias_or_keys("large_logits", "logits of order 1000", large_logits, large_logits),
      long_along("d", bias_or_keys("equal_logits", "all keys weigh the same", equal_logits, equal_keys)),
      bias_or_keys("linear_bias", "a bias of -1/2 a token of distance", linear_bias, nullptr),
      bias_or_keys("far_keys", "all logits far below 0: near -200, near -30000, or farther", far_keys, keys_far_below),
      bias_or_keys("rows_apart", "rows of +1500 and rows of -1500", rows_apart, nullptr),
      bias_or_keys("one_key_wins", "one key weighs e^50 times the others", one_key_wins, one_key_above),
      of_input("v",
               attention_family("equal_values", "all values but the last key's are the same number", equal_values)),
      of_input("v", attention_family("small_values", "values near the smallest normal number", small_values)),
      of_input("v", attention_family("large_values", "values near the largest number", large_values)),
      of_input("v", attention_family("shared_keys", "keys and values that all rows and heads share", shared_keys)),
      holding_nan(bias_or_keys("nan_inside", "a NaN in q or v", nan_in_queries_or_values, nan_in_a_query)),
  };
  for (family& f : merge_families()) tests.families.push_back(std::move(f));
  tests.sizes = sizes();
  for (usual_size& u : merge_sizes()) tests.sizes.push_back(std::move(u));
  tests.long_ones = {{{"attention/output"}, {{"m", 2}}}, {{"attention/merge"}, {{"p", 2}}}};
  tests.mutants = all_of({mutants(), tile_mutants(), merge_mutants()});
  tests.controls = all_of({controls(), merge_controls()});
  tests.laws = laws_of_bias(
      "attention", "attention/output",
      {"mild", "causal", "masked_inside", "linear_bias", "one_key_wins", "far_keys", "equal_values", "no_bias"});
  tests.laws.push_back(law_of_weights());
  for (property& p : merge_laws()) tests.laws.push_back(std::move(p));
  add_kernels(tests);
  tests.rests_on_convention = [of_kernels = std::move(tests.rests_on_convention)](const request& call) {
    return call.inputs.contains("lses") ? has_lse_out_of_place(call) : of_kernels(call);
  };
  return tests;
}

}  // namespace assay::properties::encodings::attention
