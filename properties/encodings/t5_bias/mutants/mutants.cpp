#include "properties/encodings/t5_bias/mutants/mutants.hpp"

#include <algorithm>

#include "properties/encodings/t5_bias/mutants/formula.hpp"
#include "properties/faults/position_faults.hpp"
#include "properties/faults/several_encodings.hpp"
#include "reference/encodings/attention.hpp"

namespace assay::properties::encodings::t5_bias {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary
using namespace reference::encodings;

// The table is read as [b, h].
struct table_transposed : unchanged_t5 {
  static void edit(request& call) {
    const auto table = call.inputs.find("table");
    if (table == call.inputs.end()) return;
    core::tensor& t = table->second;
    const core::tensor right = t;
    const std::size_t heads = t.shape()[0], buckets = t.shape()[1];
    for (std::size_t i = 0; i < t.size(); ++i)
      t.values.storage()[i] = right.values.storage()[i % buckets * heads + i / buckets];
  }
};
struct positions_in_bf16 : unchanged_t5 {
  static void edit(request& call) { round_positions(call, core::dtype::bf16); }
};
struct bias_scaled : unchanged_t5 {
  template <class R>
  static reference::encodings::t5_bias::recipe<R> recipe() {
    reference::encodings::t5_bias::recipe<R> how;
    how.entry = [](const R& x) { return x * R(8.0); };
    return how;
  }
};
struct table_in_bf16 : unchanged_t5 {
  template <class R>
  static reference::encodings::t5_bias::recipe<R> recipe() {
    reference::encodings::t5_bias::recipe<R> how;
    how.entry = [](const R& x) { return R(core::round_to(core::dtype::bf16, x.number)); };
    return how;
  }
};
struct after_the_query_is_0 : unchanged_t5 {
  static void finish(const request& call, core::tensors& outputs) {
    if (call.operation->name != "t5_bias/bias") return;
    if (core::setting<bool>(core::completed(*call.operation, call.attributes), "bidirectional")) return;
    const auto& query = call.inputs.at("query_position").values.storage();
    const auto& key = call.inputs.at("key_position").values.storage();
    auto& bias = outputs.at("bias").values.storage();
    for (std::size_t k = 0; k < bias.size(); ++k)
      if (key[k % key.size()] > query[k / key.size() % query.size()]) bias[k] = 0.0;
  }
};

template <class R>
using scatter_function = void (*)(const std::vector<std::size_t>& bucket_of_pair, const R* grad, lane<R> grad_table);
template <class R>
reference::encodings::t5_bias::recipe<R> with_scatter(scatter_function<R> scatter) {
  reference::encodings::t5_bias::recipe<R> how;
  how.scatter = scatter;
  return how;
}
struct scatter_assigns : unchanged_t5 {
  template <class R>
  static reference::encodings::t5_bias::recipe<R> recipe() {
    return with_scatter<R>([](const std::vector<std::size_t>& bucket, const R* grad, lane<R> out) {
      for (std::size_t pair = 0; pair < bucket.size(); ++pair) out[bucket[pair]] = grad[pair];
    });
  }
};
// The backward pass numbers the buckets from 1.
struct scatter_to_next_bucket : unchanged_t5 {
  template <class R>
  static reference::encodings::t5_bias::recipe<R> recipe() {
    return with_scatter<R>([](const std::vector<std::size_t>& bucket, const R* grad, lane<R> out) {
      std::vector<std::size_t> next;
      for (const std::size_t b : bucket) next.push_back(std::min(b + 1, out.size() - 1));
      scatter_to_buckets<R>(next, grad, out);
    });
  }
};
struct unused_gets_all : unchanged_t5 {
  template <class R>
  static reference::encodings::t5_bias::recipe<R> recipe() {
    return with_scatter<R>([](const std::vector<std::size_t>& bucket, const R* grad, lane<R> out) {
      scatter_to_buckets<R>(bucket, grad, out);
      for (std::size_t pair = 0; pair < bucket.size(); ++pair) out[out.size() / 2] = out[out.size() / 2] + grad[pair];
    });
  }
};

}  // namespace

std::vector<variant> mutants() {
  std::vector<variant> all{
      make_variant<table_transposed>("mutant/t5_table_transposed", "SC04 triton-lang/triton#8412: axes",
                                     "the table is read as buckets by heads"),
      make_variant<positions_in_bf16>("mutant/t5_positions_in_bf16",
                                      "mindspore-lab/mindone#670: positions in the model's dtype",
                                      "positions are rounded to bf16 before they are subtracted"),
      make_variant<bias_scaled>("mutant/t5_bias_scaled", "lucidrains/x-transformers: the bias times sqrt(d)",
                                "the bias is multiplied by 8"),
      make_variant<table_in_bf16>("mutant/t5_table_in_bf16", "a table kept in bf16", "the table is rounded to bf16"),
      make_variant<after_the_query_is_0>("mutant/t5_after_the_query_is_0", "a bias masked with the scores",
                                         "in one direction keys after the query have no bias"),
      make_variant_beside<scatter_assigns, reference::encodings::attention>(
          "mutant/t5_scatter_assigns", "GR26 nntile/nntile#229: overwritten, not added",
          "of the pairs of one bucket the last one alone counts"),
      make_variant<scatter_to_next_bucket>("mutant/t5_scatter_to_next_bucket", "GR26 nntile/nntile#229: another index",
                                           "cotangents are added to the bucket after theirs"),
      make_variant<unused_gets_all>("mutant/t5_gradient_of_unused",
                                    "GR04 jax-ml/jax#23842: a masked branch in the gradient",
                                    "the unused bucket gets the gradients of all others"),
  };
  for (variant& v : t5_bucket_mutants()) all.push_back(std::move(v));
  return all;
}

}  // namespace assay::properties::encodings::t5_bias
