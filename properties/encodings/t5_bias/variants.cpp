// Wrong and right ways to compute T5's buckets and their biases.
#include <algorithm>
#include <cmath>

#include "properties/faults/declared_faults.hpp"
#include "properties/kinds/attention.hpp"
#include "properties/kinds/pair_bias.hpp"
#include "reference/encodings/t5_bias.hpp"

namespace assay::properties::encodings::t5_bias {
namespace {

using core::dtype;
using encoding = reference::encodings::t5_bias;
using reference::bucket_map;
using reference::bucket_of;
inline constexpr auto& changed = make_variant<encoding>;

// The terms of the offset (N - E) log(n / E) / log(D / E) after the E exact buckets, as programs for T5 hold them.
struct offset_terms {
  offset_terms(const bucket_map& map, double distance)
      : n(map.magnitude(distance)),
        exact(static_cast<double>(map.exact())),
        logarithmic(static_cast<double>(map.buckets_of_direction() - map.exact())),
        largest(static_cast<double>(map.max_distance) / exact) {}
  double n, exact, logarithmic, largest, ratio = n / exact;
};
bool has_logarithm(const bucket_map& map, double distance) {
  return map.form != "clipped" && map.magnitude(distance) >= static_cast<double>(map.exact());
}
// The offset in any arithmetic, before its integer part is taken.
using offset_function = double (*)(const offset_terms& x);
std::int64_t unclamped(const bucket_map& map, double distance, offset_function offset) {
  return map.exact() + static_cast<std::int64_t>(std::floor(offset(offset_terms(map, distance))));
}
scheme_change<encoding::scheme> with_offset(offset_function offset) {
  return [offset](auto& scheme) {
    scheme.bucket = [offset](const bucket_map& map, double distance) {
      if (!has_logarithm(map, distance)) return bucket_of(map, distance);
      return map.base(distance) + std::min(map.buckets_of_direction() - 1, unclamped(map, distance, offset));
    };
  };
}

double offset_in_f64(const offset_terms& x) { return x.logarithmic * std::log(x.ratio) / std::log(x.largest); }
double f32(double x) { return static_cast<float>(x); }
double bf16(double x) { return core::round_to(dtype::bf16, x); }
double log_f32(double x) { return f32(std::log(f32(x))); }

// A control that declares to be right for 32 buckets up to 128 alone.
variant right_by_default(const char* id, const char* models, offset_function offset) {
  return changed(
      id, models, "right for the settings that it declares",
      {.formula = with_offset(offset), .declared = [](description& about) {
         for (const auto& [operation, types] : about.operations)
           about.settings[operation] = {{"buckets", {std::int64_t{32}}}, {"max_distance", {std::int64_t{128}}}};
       }});
}

// Only in the operation that gives buckets: a table has no such element.
void leave_unclamped(core::tensors& outputs, const request& call) {
  if (!outputs.contains("bucket")) return;
  const bucket_map map = encoding::map_of(core::completed(*call.operation, call.attributes));
  const auto& distance = call.inputs.at("distance").values.storage();
  for (std::size_t i = 0; i < distance.size(); ++i)
    if (has_logarithm(map, distance[i]))
      outputs.at("bucket").values.storage()[i] =
          static_cast<double>(map.base(distance[i]) + unclamped(map, distance[i], offset_in_f64));
}

}  // namespace

std::vector<variant> mutants() {
  std::vector<variant> all = reported_faults({
      {"mutant/t5_table_transposed", "triton-lang/triton#8412: axes", "t5_bias/bias/table/transposed_0_1"},
      {"mutant/t5_table_in_bf16", "a table kept in bf16", "t5_bias/bias/table/in_bf16"},
      {"mutant/t5_bias_scaled", "lucidrains/x-transformers: the bias times sqrt(d)", "t5_bias/bias/bias/doubled"},
      {"mutant/t5_scatter_to_next_bucket", "nntile/nntile#229: another index",
       "t5_bias/bias:vjp/grad_table/one_late_along_b_1"},
      {"mutant/t5_no_logarithm", "huggingface/candle#727", "t5_bias/bucket/form/always_clipped"},
      {"mutant/t5_opposite_sign", "dmlc/gluon-nlp#1470", "t5_bias/bucket/distance/negated"},
      {"mutant/t5_other_directions", "a fork that inverts its causal flag",
       "t5_bias/bucket/bidirectional/true_and_false_exchanged"},
      {"mutant/t5_maximum_is_128", "ggml-org/llama.cpp, llama-graph.cpp", "t5_bias/bucket/max_distance/ignored"},
      {"mutant/t5_attention_bias_attenuated", "tenstorrent/tt-metal#56406: a bias scaled as q . k",
       "t5_bias/attention/bias_factor/always_inverse_sqrt"},
      {"mutant/t5_attention_scaled_queries", "T5 has no factor of q . k; a fused kernel's usual one",
       "t5_bias/attention/scale/always_inverse_sqrt"},
      {"mutant/t5_attention_other_head", "triton-lang/triton#8412: axes", "t5_bias/attention/table/reversed_along_h_0"},
      {"mutant/t5_contextual_other_head", "triton-lang/triton#8412: axes", "t5_bias/contextual/w/reversed_along_h_0"},
      {"mutant/t5_contextual_opposite_sign", "a fork that inverts its causal flag",
       "t5_bias/contextual/bidirectional/true_and_false_exchanged"},
  });
  for (variant& v : faults_of_distance<encoding>("t5")) all.push_back(std::move(v));
  for (variant& v : faults_of_attention<encoding>("t5_attention", "the bias")) all.push_back(std::move(v));
  all.push_back(changed(
      "mutant/t5_attention_queries_first", "lucidrains/x-transformers#153",
      "queries behind cached keys are counted from the first key",
      {.inputs = [](request& call) { set_setting<std::string>(call, "alignment", "first"); }, .representative = true}));
  for (variant& v : std::vector<variant>{
           changed("mutant/t5_no_clamp", "huggingface/candle#1312",
                   "distances beyond the largest go beyond the last bucket", {.outputs = leave_unclamped}),
           // The distance back from the query is unsigned.
           changed("mutant/t5_unsigned_distance", "ggml-org/llama.cpp, llama-graph.cpp: an unsigned number of buckets",
                   "in one direction the distance of keys after the query wraps around",
                   {.formula =
                        [](auto& scheme) {
                          scheme.bucket = [](const bucket_map& map, double distance) {
                            const bool wraps = !map.bidirectional && distance > 0;
                            return bucket_of(map, wraps ? distance - 0x1p32 : distance);
                          };
                        }}),
           changed("mutant/t5_log_one_ulp_low", "a logarithm in f32 that is 1 ulp low, as on accelerators",
                   "distances on a boundary fall below it",
                   {.formula = with_offset([](const offset_terms& x) {
                      const double low = core::next_below(dtype::f32, log_f32(x.ratio));
                      return f32(f32(low / f32(std::log(x.largest))) * x.logarithmic);
                    })}),
           changed("mutant/t5_by_reciprocal", "a constant folded to its reciprocal",
                   "the logarithm is multiplied by a reciprocal rounded to f32",
                   {.formula = with_offset([](const offset_terms& x) {
                      return f32(f32(log_f32(x.ratio) * f32(1.0 / log_f32(x.largest))) * x.logarithmic);
                    })}),
           changed("mutant/t5_f32_log_in_f64", "numpy/numpy, NEP 50: a scalar of f64 widens an f32 expression",
                   "a logarithm in f32 is divided and multiplied in f64",
                   {.formula = with_offset(
                        [](const offset_terms& x) { return log_f32(x.ratio) / std::log(x.largest) * x.logarithmic; }),
                   .representative = true}),
           changed("mutant/t5_buckets_in_bf16", "mindspore-lab/mindone#670", "the formula is evaluated in bf16",
                   {.formula = with_offset([](const offset_terms& x) {
                      const double ratio = bf16(bf16(x.n) / x.exact);
                      return bf16(bf16(bf16(std::log(ratio)) / bf16(std::log(x.largest))) * x.logarithmic);
                    })}),
           changed("mutant/t5_to_nearest", "lucidrains/x-transformers#10",
                   "the logarithm is rounded instead of cut off",
                   {.formula = with_offset([](const offset_terms& x) { return 0.5 + offset_in_f64(x); })}),
       })
    all.push_back(std::move(v));
  return all;
}

std::vector<variant> controls() {
  return all_of(
      {controls_of_attention<encoding>("t5_attention"),
       {
           changed("control/t5_with_epsilon", "google-research/t5x: log(n / E + eps)",
                   "a logarithm that never falls below a boundary",
                   {.formula = with_offset([](const offset_terms& x) {
                      const double logarithm = log_f32(f32(x.ratio) + 0x1p-23);
                      return f32(f32(logarithm / f32(std::log(x.largest))) * x.logarithmic);
                    })}),
           // Right for the settings that the operation declares.
           changed("control/t5_in_f64", "the formula in f64", "no boundary comes out low",
                   {.formula = with_offset(offset_in_f64)}),
           // The exact buckets are added before the floor.
           right_by_default("control/t5_mixed_order", "ggml-org/llama.cpp: f32 logarithm, f64 quotient",
                            [](const offset_terms& x) {
                              return f32(x.exact + log_f32(x.ratio) * x.logarithmic / std::log(x.largest)) - x.exact;
                            }),
           right_by_default(
               "control/t5_in_f32", "the formula in f32, as tensorflow/mesh has it",
               [](const offset_terms& x) { return f32(f32(log_f32(x.ratio) / log_f32(x.largest)) * x.logarithmic); }),
           right_by_default(
               "control/t5_product_first", "the formula in f32, multiplied before divided",
               [](const offset_terms& x) { return f32(f32(log_f32(x.ratio) * x.logarithmic) / log_f32(x.largest)); }),
           right_by_default(
               "control/t5_folded_constant", "the formula in f32, its constants folded",
               [](const offset_terms& x) { return f32(log_f32(x.ratio) * f32(x.logarithmic / std::log(x.largest))); }),
       }});
}

}  // namespace assay::properties::encodings::t5_bias
