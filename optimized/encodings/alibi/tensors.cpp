// The operations of attention with linear biases on tensors.
#include <cstdint>
#include <string>
#include <vector>

#include "optimized/encodings/alibi.hpp"
#include "optimized/tensor_arrays.hpp"

namespace assay::optimized {
namespace alibi {
namespace {

slope_rule slopes_of(const arguments& call) {
  return core::chosen<slope_rule>(
      call.settings, "rule",
      {{"official", slope_rule::official}, {"mpt", slope_rule::mpt}, {"naive", slope_rule::naive}});
}
bias_rule rule_of(const arguments& call) {
  return {core::chosen<bias_form>(call.settings, "form",
                                  {{"distance", bias_form::distance},
                                   {"absolute", bias_form::absolute},
                                   {"key", bias_form::key},
                                   {"key_from_last", bias_form::key_from_last}}),
          call.setting<bool>("causal"), static_cast<double>(call.setting<std::int64_t>("last_position"))};
}

}  // namespace
}  // namespace alibi

std::vector<routine> alibi_routines() {
  using namespace alibi;
  return {
      {"alibi/slopes", on_arrays<[](const arguments& call, auto& arrays) {
         const auto count = [&](const char* name) {
           return static_cast<std::size_t>(call.setting<std::int64_t>(name));
         };
         const bool as_in_paper =
             call.setting<std::string>("rule") == "official" && !call.setting<bool>("alpha_of_official");
         const double alpha_max = as_in_paper ? 8.0 : call.setting<double>("alpha_max");
         slopes(slopes_of(call), alpha_max, {count("first_head"), count("all_heads")},
                arrays.output("slopes", {count("heads")}));
       }>},
      {"alibi/bias", on_arrays<[](const arguments& call, auto& arrays) {
         const auto m = arrays.vector("slopes");
         const auto query = arrays.positions("query_position"), key = arrays.positions("key_position");
         bias(call.on, rule_of(call), m, query, key, arrays.output("bias", {m.shape[0], query.shape[0], key.shape[0]}));
       }>},
      {"alibi/bias:vjp", on_arrays<[](const arguments& call, auto& arrays) {
         const auto grad_bias = arrays.template input<3>("grad_bias");
         bias_vjp(call.on, rule_of(call), arrays.positions("query_position"), arrays.positions("key_position"),
                  grad_bias, arrays.output("grad_slopes", {grad_bias.shape[0]}));
       }>}};
}

}  // namespace assay::optimized
