// What is wrong in the bias and in the gradient of its table, whatever the buckets are.
#include "properties/encodings/t5_bias/mutants/mutants.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <span>

#include "properties/faults/call_changes.hpp"
#include "reference/encodings/attention.hpp"

namespace assay::properties::encodings::t5_bias {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary
using namespace reference::encodings;
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

// Of the gradient of the table, buckets of one head after another.
struct row_of_gradient {
  std::span<double> buckets;
  core::dtype type;
  void set(std::size_t bucket, double x) const { buckets[bucket] = core::round_to(type, x); }
};
change_of<core::tensors, const request&> in_each_row(void (*change)(const row_of_gradient& row)) {
  return [change](core::tensors& outputs) {
    if (!outputs.contains("grad_table")) return;
    core::tensor& grad = outputs.at("grad_table");
    const std::size_t buckets = grad.shape()[1];
    for (std::size_t first = 0; first < grad.size(); first += buckets)
      change({{grad.values.data() + first, buckets}, grad.type});
  };
}

// Of the pairs of one bucket all but the last have no cotangent.
void keep_last_of_each_bucket(request& call) {
  if (!call.operation->is_vjp()) return;
  const bucket_map map = reference::encodings::t5_bias::map_of(core::completed(*call.operation, call.attributes));
  const auto &query = call.inputs.at("query_position").values.storage(),
             &key = call.inputs.at("key_position").values.storage();
  auto& cotangents = call.inputs.at("grad_bias").values.storage();
  std::set<std::pair<std::size_t, std::int64_t>> seen;  // head, bucket
  for (std::size_t k = cotangents.size(); k-- > 0;) {
    const double distance = key[k % key.size()] - query[k / key.size() % query.size()];
    if (!seen.emplace(k / (key.size() * query.size()), bucket_of(map, distance)).second) cotangents[k] = 0.0;
  }
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
      changed_t5(
          "mutant/t5_scatter_assigns", "GR26 nntile/nntile#229: overwritten, not added",
          "of the pairs of one bucket the last one alone counts",
          {.inputs = keep_last_of_each_bucket, .beside = {right<reference::encodings::attention>}, .telling = true}),
      // The backward pass numbers the buckets from 1.
      changed_t5("mutant/t5_scatter_to_next_bucket", "GR26 nntile/nntile#229: another index",
                 "cotangents are added to the bucket after theirs",
                 {.outputs = in_each_row([](const row_of_gradient& row) {
                    const std::size_t last = row.buckets.size() - 1;
                    row.set(last, row.buckets[last] + row.buckets[last - 1]);
                    for (std::size_t b = last; b-- > 1;) row.set(b, row.buckets[b - 1]);
                    row.set(0, 0.0);
                  }),
                  .telling = true}),
      changed_t5("mutant/t5_gradient_of_unused", "GR04 jax-ml/jax#23842: a masked branch in the gradient",
                 "the unused bucket gets the gradients of all others",
                 {.outputs = in_each_row([](const row_of_gradient& row) {
                    const std::size_t unused = row.buckets.size() / 2;
                    row.set(unused, std::accumulate(row.buckets.begin(), row.buckets.end(), row.buckets[unused]));
                  }),
                  .telling = true}),
  };
  for (variant& v : t5_bucket_mutants()) all.push_back(std::move(v));
  return all;
}

}  // namespace assay::properties::encodings::t5_bias
