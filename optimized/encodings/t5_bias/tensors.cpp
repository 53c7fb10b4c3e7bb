// The operations of T5's relative bias on tensors.
#include <string>

#include "optimized/encodings/t5_bias.hpp"
#include "optimized/tensor_arrays.hpp"

namespace assay::optimized {
namespace t5_bias {
namespace {

bucket_rule rule_of(const arguments& call) {
  return {call.setting<bool>("bidirectional"), call.setting<std::string>("form") == "clipped",
          call.setting<std::int64_t>("buckets"), call.setting<std::int64_t>("max_distance")};
}

}  // namespace
}  // namespace t5_bias

std::vector<routine> t5_bias_routines() {
  using namespace t5_bias;
  return {{"t5_bias/bucket", on_arrays<[](const arguments& call, auto& arrays) {
             const auto distance = arrays.positions("distance");
             buckets(rule_of(call), distance, arrays.template output<1, std::int64_t>("bucket", distance.shape));
           }>},
          {"t5_bias/bias", on_arrays<[](const arguments& call, auto& arrays) {
             const auto table = arrays.matrix("table");
             const auto query = arrays.positions("query_position"), key = arrays.positions("key_position");
             bias(call.on, rule_of(call), table, query, key,
                  arrays.output("bias", {table.shape[0], query.shape[0], key.shape[0]}));
           }>},
          {"t5_bias/bias:vjp", on_arrays<[](const arguments& call, auto& arrays) {
             const auto grad_bias = arrays.template input<3>("grad_bias");
             const bucket_rule rule = rule_of(call);
             bias_vjp(call.on, rule, arrays.positions("query_position"), arrays.positions("key_position"), grad_bias,
                      arrays.output("grad_table", {grad_bias.shape[0], static_cast<std::size_t>(rule.buckets)}));
           }>}};
}

}  // namespace assay::optimized
