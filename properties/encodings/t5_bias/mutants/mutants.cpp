// What is wrong in the bias and in the gradient of its table, whatever the buckets are.
#include "properties/encodings/t5_bias/mutants/mutants.hpp"

#include <algorithm>

#include "properties/faults/call_changes.hpp"
#include "reference/encodings/attention.hpp"

namespace assay::properties::encodings::t5_bias {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary
using namespace reference::encodings;
using bucket_list = std::vector<std::size_t>;  // by pair
using core::dtype;

// As [b, h], which is [h, b].
void read_table_transposed(request& call) {
  const auto table = call.inputs.find("table");
  if (table == call.inputs.end()) return;
  core::tensor& t = table->second;
  const core::tensor right = t;
  const std::size_t heads = t.shape()[0], buckets = t.shape()[1];
  for (std::size_t i = 0; i < t.size(); ++i)
    t.values.storage()[i] = right.values.storage()[i % buckets * heads + i / buckets];
}

void zero_after_the_query(core::tensors& outputs, const request& call) {
  if (!outputs.contains("bias") || setting_of<bool>(call, "bidirectional")) return;
  const auto& query = call.inputs.at("query_position").values.storage();
  const auto& key = call.inputs.at("key_position").values.storage();
  auto& bias = outputs.at("bias").values.storage();
  for (std::size_t k = 0; k < bias.size(); ++k)
    if (key[k % key.size()] > query[k / key.size() % query.size()]) bias[k] = 0.0;
}

recipe_change<recipe> with_entry(R (*entry)(const R& x)) {
  return [entry](recipe& how) { how.entry = entry; };
}
recipe_change<recipe> with_scatter(void (*scatter)(const bucket_list& bucket, const R* grad, lane<R> grad_table)) {
  return [scatter](recipe& how) { how.scatter = scatter; };
}

}  // namespace

std::vector<variant> mutants() {
  std::vector<variant> all{
      changed_t5("mutant/t5_table_transposed", "SC04 triton-lang/triton#8412: axes",
                 "the table is read as buckets by heads", {.inputs = read_table_transposed}),
      changed_t5("mutant/t5_positions_in_bf16", "mindspore-lab/mindone#670: positions in the model's dtype",
                 "positions are rounded to bf16 before they are subtracted",
                 {.inputs = [](request& call) { round_positions(call, dtype::bf16); }, .telling = true}),
      changed_t5("mutant/t5_bias_scaled", "lucidrains/x-transformers: the bias times sqrt(d)",
                 "the bias is multiplied by 8",
                 {.formula = with_entry([](const R& x) { return x * R(8.0); }), .telling = true}),
      changed_t5("mutant/t5_table_in_bf16", "a table kept in bf16", "the table is rounded to bf16",
                 {.formula = with_entry([](const R& x) { return R(core::round_to(dtype::bf16, x.number)); })}),
      changed_t5("mutant/t5_after_the_query_is_0", "a bias masked with the scores",
                 "in one direction keys after the query have no bias", {.outputs = zero_after_the_query}),
      changed_t5("mutant/t5_scatter_assigns", "GR26 nntile/nntile#229: overwritten, not added",
                 "of the pairs of one bucket the last one alone counts",
                 {.formula = with_scatter([](const bucket_list& bucket, const R* grad, lane<R> out) {
                    for (std::size_t pair = 0; pair < bucket.size(); ++pair) out[bucket[pair]] = grad[pair];
                  }),
                  .beside = {right<reference::encodings::attention>},
                  .telling = true}),
      // The backward pass numbers the buckets from 1.
      changed_t5("mutant/t5_scatter_to_next_bucket", "GR26 nntile/nntile#229: another index",
                 "cotangents are added to the bucket after theirs",
                 {.formula = with_scatter([](const bucket_list& bucket, const R* grad, lane<R> out) {
                    bucket_list next;
                    for (const std::size_t b : bucket) next.push_back(std::min(b + 1, out.size() - 1));
                    scatter_to_buckets<R>(next, grad, out);
                  }),
                  .telling = true}),
      changed_t5("mutant/t5_gradient_of_unused", "GR04 jax-ml/jax#23842: a masked branch in the gradient",
                 "the unused bucket gets the gradients of all others",
                 {.formula = with_scatter([](const bucket_list& bucket, const R* grad, lane<R> out) {
                    scatter_to_buckets<R>(bucket, grad, out);
                    R& unused = out[out.size() / 2];
                    for (std::size_t pair = 0; pair < bucket.size(); ++pair) unused = unused + grad[pair];
                  }),
                  .telling = true}),
  };
  for (variant& v : t5_bucket_mutants()) all.push_back(std::move(v));
  return all;
}

}  // namespace assay::properties::encodings::t5_bias
