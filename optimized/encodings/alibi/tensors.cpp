// The operations of attention with linear biases on tensors.
#include <cstdint>
#include <string>
#include <vector>

#include "optimized/encodings/alibi.hpp"
#include "optimized/tensor_arrays.hpp"

namespace assay::optimized {
namespace alibi {
namespace {

core::tensors evaluate_slopes(const arguments& call) {
  const auto heads = static_cast<std::size_t>(core::setting<std::int64_t>(call.settings, "heads"));
  const auto& name = core::setting<std::string>(call.settings, "rule");
  const auto rule = name == "official" ? alibi::slope_rule::official
                    : name == "mpt"    ? alibi::slope_rule::mpt
                                       : alibi::slope_rule::naive;
  return with_arrays(call, [&]<class Real>(tensor_arrays<Real>& arrays) {
    alibi::slopes(rule, core::setting<double>(call.settings, "alpha_max"),
                  arrays.template output<1>("slopes", {heads}));
  });
}

alibi::bias_rule rule_of(const core::attributes& settings) {
  const auto& name = core::setting<std::string>(settings, "form");
  return {name == "key"             ? alibi::bias_form::key
          : name == "key_from_last" ? alibi::bias_form::key_from_last
          : name == "absolute"      ? alibi::bias_form::absolute
                                    : alibi::bias_form::distance,
          core::setting<bool>(settings, "causal"),
          static_cast<double>(core::setting<std::int64_t>(settings, "last_position"))};
}

core::tensors evaluate_bias(const arguments& call) {
  return with_arrays(call, [&]<class Real>(tensor_arrays<Real>& arrays) {
    const auto slopes = arrays.template input<1>("slopes");
    const auto query = arrays.template positions<1>("query_position");
    const auto key = arrays.template positions<1>("key_position");
    alibi::bias(call.on, rule_of(call.settings), slopes, query, key,
                arrays.template output<3>("bias", {slopes.shape[0], query.shape[0], key.shape[0]}));
  });
}

core::tensors evaluate_bias_vjp(const arguments& call) {
  return with_arrays(call, [&]<class Real>(tensor_arrays<Real>& arrays) {
    const auto grad_bias = arrays.template input<3>("grad_bias");
    alibi::bias_vjp(call.on, rule_of(call.settings), arrays.template positions<1>("query_position"),
                    arrays.template positions<1>("key_position"), grad_bias,
                    arrays.template output<1>("grad_slopes", {grad_bias.shape[0]}));
  });
}

}  // namespace
}  // namespace alibi

std::vector<routine> alibi_routines() {
  using namespace alibi;
  return {{"alibi/slopes", evaluate_slopes}, {"alibi/bias", evaluate_bias}, {"alibi/bias:vjp", evaluate_bias_vjp}};
}

}  // namespace assay::optimized
