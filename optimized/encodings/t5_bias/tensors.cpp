// The operations of T5's relative bias on tensors.
#include "optimized/encodings/t5_bias.hpp"

#include <string>

#include "optimized/tensor_arrays.hpp"

namespace assay::optimized {
namespace t5_bias {
namespace {

t5_bias::bucket_rule rule_of(const core::attributes& settings) {
  return {core::setting<bool>(settings, "bidirectional"), core::setting<std::string>(settings, "form") == "clipped",
          core::setting<std::int64_t>(settings, "buckets"), core::setting<std::int64_t>(settings, "max_distance")};
}

core::tensors evaluate_bucket(const arguments& call) {
  return with_arrays(call, [&]<class Real>(tensor_arrays<Real>& arrays) {
    const auto distance = arrays.template positions<1>("distance");
    t5_bias::buckets(rule_of(call.settings), distance,
                     arrays.template output<1, std::int64_t>("bucket", distance.shape));
  });
}

core::tensors evaluate_bias(const arguments& call) {
  return with_arrays(call, [&]<class Real>(tensor_arrays<Real>& arrays) {
    const auto table = arrays.template input<2>("table");
    const auto query = arrays.template positions<1>("query_position");
    const auto key = arrays.template positions<1>("key_position");
    t5_bias::bias(call.on, rule_of(call.settings), table, query, key,
                  arrays.template output<3>("bias", {table.shape[0], query.shape[0], key.shape[0]}));
  });
}

core::tensors evaluate_bias_vjp(const arguments& call) {
  return with_arrays(call, [&]<class Real>(tensor_arrays<Real>& arrays) {
    const t5_bias::bucket_rule rule = rule_of(call.settings);
    const auto grad_bias = arrays.template input<3>("grad_bias");
    t5_bias::bias_vjp(
        call.on, rule, arrays.template positions<1>("query_position"), arrays.template positions<1>("key_position"),
        grad_bias,
        arrays.template output<2>("grad_table", {grad_bias.shape[0], static_cast<std::size_t>(rule.buckets)}));
  });
}

}  // namespace
}  // namespace t5_bias

std::vector<routine> t5_bias_routines() {
  using namespace t5_bias;
  return {
      {"t5_bias/bucket", evaluate_bucket}, {"t5_bias/bias", evaluate_bias}, {"t5_bias/bias:vjp", evaluate_bias_vjp}};
}

}  // namespace assay::optimized
