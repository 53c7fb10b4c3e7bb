// Wrong ways of kernels: grouped heads, windows, caps, sinks, and the logarithm of the sum.
#include <algorithm>
#include <cmath>

#include "properties/encodings/attention/kernels.hpp"
#include "properties/faults/call_changes.hpp"
#include "properties/faults/declared_faults.hpp"
#include "reference/core/special_values.hpp"

namespace assay::properties::encodings::attention {
namespace {

inline constexpr auto& kernel = make_variant<kernel_encoding>;

const auto with_hidden_logit = [](double logit) { return [logit](auto& scheme) { scheme.hidden = logit; }; };

using weights::largest_of_rows, weights::masked, weights::seen_alone, weights::sum_of_rows;

// A running maximum that starts at a number instead of -inf.
traced maximum_from_number(const traced& logits, const traced_truth& seen) {
  return larger(traced(-50000.0), largest_of_rows(masked(logits, seen)));
}
traced weights_from_number(const traced& logits, const traced_truth& seen) {
  return weights::over_sum(exp(logits - maximum_from_number(logits, seen)), seen);
}
traced lse_of(const traced& shift, const traced& logits, const traced_truth& seen) {
  return shift + log(sum_of_rows(seen_alone(exp(logits - shift), seen)));
}
traced lse_from_number(const traced& logits, const traced_truth& seen) {
  return lse_of(maximum_from_number(logits, seen), logits, seen);
}
traced without_last_in_maximum(const traced& logits, const traced_truth& seen) {
  const std::size_t keys = shape_of(logits).back(), axis = shape_of(logits).size() - 1;
  if (keys < 2) return reference::softmax_of_seen(logits, seen);
  const traced shift = largest_of_rows(between(masked(logits, seen), axis, 0, keys - 1));
  return weights::over_sum(exp(logits - shift), seen);
}
traced lse_without_maximum(const traced& logits, const traced_truth& seen) { return lse_of(traced(0.0), logits, seen); }
traced lse_is_maximum(const traced& logits, const traced_truth& seen) {
  const std::int64_t axis = static_cast<std::int64_t>(shape_of(logits).size()) - 1;
  const traced all = masked(logits, seen);
  return reshaped(largest_along(all, axis), shape_of(sum_of_rows(all)));
}

// Head a of queries uses head a mod h of keys.
std::vector<std::size_t> tiled_heads(const request& call, bool back) {
  const std::size_t heads = call.inputs.at("q").shape()[1], key_heads = call.inputs.at("k").shape()[1];
  std::vector<std::size_t> order(heads);
  for (std::size_t a = 0; a < heads; ++a) {
    const std::size_t in_group = a % key_heads * (heads / key_heads) + a / key_heads;
    order[back ? a : in_group] = back ? in_group : a;
  }
  return order;
}
void reorder_heads(core::tensors& all, std::initializer_list<const char*> names, std::size_t axis,
                   const std::vector<std::size_t>& order) {
  for (const char* name : names)
    if (const auto t = all.find(name); t != all.end()) t->second = core::take(t->second, axis, order);
}
bool has_groups(const request& call) { return call.operation->attribute("group") != nullptr; }
void tile_heads(request& call) {
  if (!has_groups(call)) return;
  const std::vector<std::size_t> order = tiled_heads(call, false);
  reorder_heads(call.inputs, {"q", "grad_o", "grad_lse"}, 1, order);
  reorder_heads(call.inputs, {"sink"}, 0, order);
}
void untile_heads(core::tensors& outputs, const request& call) {
  if (!has_groups(call)) return;
  const std::vector<std::size_t> order = tiled_heads(call, true);
  reorder_heads(outputs, {"o", "lse", "grad_q"}, 1, order);
  reorder_heads(outputs, {"grad_sink"}, 0, order);
}
void average_over_group(core::tensors& outputs, const request& call) {
  if (!has_groups(call)) return;
  const auto group = static_cast<double>(setting_of<std::int64_t>(call, "group"));
  for (const char* name : {"grad_k", "grad_v"}) change_each(outputs, name, [group](double x) { return x / group; });
}

bool has_window(const request& call) {
  return call.operation->attribute("window_left") != nullptr &&
         (setting_of<std::int64_t>(call, "window_left") >= 0 || setting_of<std::int64_t>(call, "window_right") >= 0);
}
void exchange_sides(request& call) {
  if (!has_window(call)) return;
  const auto left = setting_of<std::int64_t>(call, "window_left");
  set_setting(call, "window_left", setting_of<std::int64_t>(call, "window_right"));
  set_setting(call, "window_right", left);
}
// A sliding window with as many keys as a chunk has.
void slide_chunks(request& call) {
  if (call.operation->attribute("chunk") == nullptr) return;
  const auto chunk = setting_of<std::int64_t>(call, "chunk");
  if (chunk == 0) return;
  set_setting(call, "chunk", std::int64_t{0});
  set_setting(call, "window_left", chunk - 1);
}
void count_windows_from_first(request& call) {
  if (has_window(call) && !setting_of<bool>(call, "causal")) set_setting(call, "alignment", std::string("first"));
}
void cap_before_scale(request& call) {
  if (call.operation->attribute("softcap") == nullptr) return;
  const auto width = static_cast<double>(std::max<std::size_t>(call.inputs.at("q").shape()[3], 1));
  if (setting_of<std::string>(call, "scale") == "inverse_sqrt")
    change_setting<double>(call, "softcap", [width](double c) { return c / std::sqrt(width); });
}
void hide_nothing_where_a_query_sees_none(request& call) {
  if (!has_groups(call)) return;
  const std::size_t queries = call.inputs.at("q").shape()[2], keys = call.inputs.at("k").shape()[2];
  if (!has_query_without_keys(*call.operation, call.attributes, queries, keys)) return;
  set_setting(call, "causal", false);
  for (const char* side : {"window_left", "window_right"}) set_setting(call, side, std::int64_t{-1});
  set_setting(call, "chunk", std::int64_t{0});
}
template <class F>
auto of_sink(F f) {
  return [f](request& call) { change_each(call.inputs, "sink", f); };
}
void cap_sinks(request& call) {
  if (call.operation->attribute("softcap") == nullptr) return;
  if (const auto c = setting_of<double>(call, "softcap"); c != 0.0)
    change_each(call.inputs, "sink", [c](double s) { return c * std::tanh(s / c); });
}

}  // namespace

std::vector<variant> kernel_mutants() {
  return all_of(
      {reported_faults({
           {"mutant/attention_causal_from_first", "pytorch/pytorch#108108: top left for bottom right",
            "attention/grouped_query/alignment/always_first"},
           {"mutant/attention_causal_from_last", "ml-explore/mlx#2835: bottom right for top left",
            "attention/grouped_query/alignment/ignored"},
           {"mutant/attention_not_causal", "a mask forgotten", "attention/grouped_query/causal/ignored"},
           {"mutant/attention_window_one_too_wide", "huggingface/transformers#39408, zml/zml#763: a window of w keys",
            "attention/grouped_query/window_left/one_off"},
           {"mutant/attention_window_one_too_narrow", "vllm-project/vllm#3385",
            "attention/grouped_query/window_left/one_less"},
           {"mutant/attention_window_ignored", "huggingface/transformers#35924: eager attention without the window",
            "attention/grouped_query/window_left/ignored"},
           {"mutant/attention_chunks_ignored", "NVIDIA/TensorRT-LLM#3775, quic/efficient-transformers#448: no chunks",
            "attention/grouped_query/chunk/ignored"},
           {"mutant/attention_cap_ignored", "sgl-project/sgl-kernel-xpu#491: softcap never reaches the kernel",
            "attention/grouped_query/softcap/ignored"},
           {"mutant/attention_sink_zeroed", "a sink that is never loaded", "attention/sinks/sink/zeroed"},
           {"mutant/attention_first_sink_for_all", "triton-lang/triton#8412: an index of heads lost",
            "attention/sinks/sink/first_for_all_along_h*u_0"},
           {"mutant/attention_lse_in_base_two", "flashinfer's base 2 where e is asked for",
            "attention/lse/base/always_2"},
           {"mutant/attention_lse_in_base_e", "FlashAttention's base e where 2 is asked for",
            "attention/lse/base/ignored"},
           {"mutant/attention_lse_unscaled", "a factor forgotten in a port", "attention/lse/scale/always_one"},
           {"mutant/attention_lse_of_none_is_plus_infinity", "Dao-AILab/flash-attention#978",
            "attention/lse/empty/always_plus_infinity"},
       }),
       {
           kernel("mutant/attention_heads_tiled", "ggml-org/llama.cpp#15625: groups tiled",
                  "head a of q meets head a mod h of k", {.inputs = tile_heads, .outputs = untile_heads}),
           kernel("mutant/attention_group_averaged", "jax-ml/jax#23842: a mean for a sum",
                  "the gradients of k and v are means over the heads of a group", {.outputs = average_over_group}),
           kernel("mutant/attention_window_sides_exchanged", "an argument in the other's place",
                  "window_left and window_right are exchanged", {.inputs = exchange_sides}),
           kernel("mutant/attention_window_for_chunks", "Llama 4 by a kernel with sliding windows alone",
                  "a query sees as many keys before it as a chunk has", {.inputs = slide_chunks}),
           kernel("mutant/attention_window_from_first", "pytorch/pytorch#108108: top left for bottom right",
                  "windows are counted from the first key where nothing is causal",
                  {.inputs = count_windows_from_first}),
           kernel("mutant/attention_cap_after_mask", "Dao-AILab/flash-attention#1025, its first draft",
                  "hidden keys have the logit -softcap, and without a cap -1e30",
                  {.formula = with_hidden_logit(-1e30)}),
           kernel("mutant/attention_hidden_keys_count", "flashinfer-ai/flashinfer#4452: a finite number for -inf",
                  "hidden keys have the logit -1e30, also where no other key is seen",
                  {.formula =
                       [](auto& scheme) {
                         scheme.hidden = -1e30;
                         scheme.capped = [](const traced& s, const traced& cap) {
                           return either(less(s, traced(-1e29)), s, cap * tanh(s / cap));
                         };
                       }}),
           kernel("mutant/attention_nothing_hidden_where_a_query_sees_none", "ml-explore/mlx#2395: a row fully masked",
                  "where some query sees no key all queries see all keys",
                  {.inputs = hide_nothing_where_a_query_sees_none, .representative = true}),
           kernel("mutant/attention_cap_before_scale", "Dao-AILab/flash-attention#1181: what the cap divides",
                  "q . k is capped before it is scaled", {.inputs = cap_before_scale}),
           kernel("mutant/attention_cap_not_multiplied", "Dao-AILab/flash-attention#1181",
                  "logits are tanh(s / softcap)",
                  {.formula =
                       [](auto& scheme) {
                         scheme.capped = [](const traced& s, const traced& cap) { return tanh(s / cap); };
                       }}),
           kernel("mutant/attention_cap_without_slope", "pytorch/pytorch#196705: a factor dropped",
                  "the gradient of the logits lacks 1 - tanh^2",
                  {.gradient =
                       [](auto& scheme) {
                         scheme.capped = [](const traced& s, const traced& cap) {
                           return with_slope(cap * tanh(s / cap), s, traced(1.0));
                         };
                       }}),
           kernel("mutant/attention_maximum_from_50000", "flashinfer-ai/flashinfer#4267",
                  "the running maximum begins at -50000",
                  {.formula = as_weights_and_lse(weights_from_number, lse_from_number)}),
           kernel("mutant/attention_sink_counted_twice", "ROCm/rocm-libraries#12229", "a sink counts twice",
                  {.inputs = of_sink([](double s) { return s + 0.6931471805599453; })}),
           kernel("mutant/attention_no_sink", "ROCm/rocm-libraries#12229", "there is no sink",
                  {.inputs = of_sink([](double) { return -core::infinity; })}),
           kernel("mutant/attention_sink_in_other_base", "ROCm/rocm-libraries#12229: a sink in units of log 2",
                  "a sink is divided by log 2", {.inputs = of_sink([](double s) { return s * 1.4426950408889634; })}),
           kernel("mutant/attention_sink_capped", "ROCm/rocm-libraries#12229: under a cap", "a sink is capped, too",
                  {.inputs = cap_sinks}),
           kernel("mutant/attention_sink_not_in_maximum", "pytorch/pytorch#1835: overflow",
                  "the maximum that is subtracted leaves the last logit out: the sink",
                  {.formula = [](auto& scheme) { scheme.weights = without_last_in_maximum; }}),
           kernel("mutant/attention_sink_without_gradient", "pytorch/pytorch#196705: a path dropped",
                  "the gradient of a sink is 0",
                  {.outputs = [](core::tensors& outputs) { set_to_zero(outputs, "grad_sink"); }}),
           kernel("mutant/attention_sink_forgotten_in_gradient", "a backward that normalises by keys alone",
                  "gradients are those of attention without a sink",
                  {.inputs =
                       [](request& call) {
                         if (call.operation->is_vjp())
                           change_each(call.inputs, "sink", [](double) { return -core::infinity; });
                       }}),
           kernel("mutant/attention_lse_without_maximum", "pytorch/pytorch#1835: overflow", "exp without a shift",
                  {.formula = as_lse(lse_without_maximum)}),
           kernel("mutant/attention_lse_is_maximum", "microsoft/onnxruntime#28461: a sum without its terms",
                  "lse is the largest logit", {.formula = as_lse(lse_is_maximum)}),
       }});
}

}  // namespace assay::properties::encodings::attention
