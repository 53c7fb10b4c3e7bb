// Wrong and right ways of attention as decoders use it.
#include <cmath>

#include "properties/faults/call_changes.hpp"
#include "properties/faults/declared_faults.hpp"
#include "properties/kinds/attention.hpp"
#include "reference/encodings/decoder.hpp"

namespace assay::properties::encodings::decoder {
namespace {

using encoding = reference::encodings::decoder;
using reference::formula::traced, reference::formula::traced_truth, reference::formula::traced_integer;
inline constexpr auto& changed = make_variant<encoding>;

// The scale is that of the features without positions alone.
void scale_by_unturned_width(request& call) {
  if (call.operation->attribute("logit_factor") == nullptr) return;
  const auto d = static_cast<double>(call.inputs.at("q").shape()[3]),
             turned = static_cast<double>(call.inputs.at("q_turned").shape()[3]);
  if (d == 0.0 || setting_of<std::string>(call, "scale") != "inverse_sqrt") return;
  change_setting<double>(call, "logit_factor", [&](double by) { return by * std::sqrt((d + turned) / d); });
}
void root_of_logit_factor(request& call) {
  if (call.operation->attribute("logit_factor") != nullptr)
    change_setting<double>(call, "logit_factor", [](double by) { return std::sqrt(by); });
}
// The last page of each row counts as full.
void read_last_page_whole(request& call) {
  if (!call.inputs.contains("length")) return;
  const auto page = static_cast<double>(call.inputs.at("key_pages").shape()[1]);
  if (page == 0.0) return;
  change_each(call.inputs, "length", [page](double length) { return std::ceil(length / page) * page; });
}
// A row that ends where a page ends reads the next page of its table, too.
void read_page_ahead(request& call) {
  if (!call.inputs.contains("length")) return;
  const auto page = static_cast<double>(call.inputs.at("key_pages").shape()[1]),
             most = page * static_cast<double>(call.inputs.at("table").shape()[1]);
  if (page == 0.0) return;
  change_each(call.inputs, "length", [page, most](double length) {
    return std::fmod(length, page) == 0.0 && length + page <= most ? length + page : length;
  });
}

traced temperature_from_zero(const traced_integer& places, const std::string& rule, std::int64_t trained) {
  return encoding::temperature_of(places - traced_integer::constant(1), rule, trained);
}
traced temperature_in_base_e(const traced_integer& places, const std::string& rule, std::int64_t trained) {
  const traced by = encoding::temperature_of(places, rule, trained);
  return rule == "log_n" ? either(equal(by, traced(1.0)), by, by * log(traced(static_cast<double>(trained)))) : by;
}

}  // namespace

std::vector<variant> mutants() {
  return all_of(
      {reported_faults({
           {"mutant/decoder_norm_after_rotation", "meta-pytorch/torchtune#2809: norms of Qwen3 behind the rotation",
            "decoder/attention/norm/always_after"},
           {"mutant/decoder_weight_less_one", "llmmanorg/llmman#151: w for 1 + w",
            "decoder/attention/norm_weight/ignored"},
           {"mutant/decoder_documents_ignored", "huggingface/nanoVLM#204: documents see one another",
            "decoder/attention/document/zeroed"},
           {"mutant/decoder_positions_counted_on",
            "huggingface/nanoVLM#204: positions of the batch: temperatures of other places",
            "decoder/attention/position/counted"},
           {"mutant/decoder_no_temperature", "vllm-project/vllm#36880: Qwen without log n",
            "decoder/attention/temperature/ignored"},
           {"mutant/decoder_epsilon_ignored", "an epsilon of the library for that of the model",
            "decoder/attention/epsilon/ignored"},
           {"mutant/decoder_latent_layout_ignored", "a port of the rotation of Llama: halves for neighbours",
            "decoder/latent/layout/always_half_split"},
           {"mutant/decoder_no_logit_factor", "onnxruntime/mobius#548: logits without mscale^2",
            "decoder/latent/logit_factor/ignored"},
           {"mutant/decoder_pages_of_first_row", "an index of rows lost",
            "decoder/paged/table/first_for_all_along_B_0"},
           {"mutant/decoder_pages_in_order", "hw-native-sys/pypto#470: pages side by side",
            "decoder/paged/table/counted"},
       }),
       {
           changed("mutant/decoder_scaled_by_part", "MLA whose scale is that of the part without positions",
                   "logits are divided by sqrt(d)", {.inputs = scale_by_unturned_width}),
           changed("mutant/decoder_factor_not_squared", "mscale for its square",
                   "logits are multiplied by the root of their factor", {.inputs = root_of_logit_factor}),
           changed("mutant/decoder_last_page_whole",
                   "pytorch/pytorch#159247: no bound where the length is no multiple of a block",
                   "all places of the last page count, and queries stand behind them",
                   {.inputs = read_last_page_whole}),
           changed("mutant/decoder_page_ahead",
                   "pegainfer-project/pegainfer#291: the page of the next token is in the table",
                   "rows that end where a page ends have the tokens of one more page", {.inputs = read_page_ahead}),
           changed("mutant/decoder_one_token_more", "a bound <= for <", "the place behind the last token counts",
                   {.formula =
                        [](auto& scheme) {
                          scheme.is_there = [](const traced_integer& places, const traced_integer& length) {
                            return !less(length, places);
                          };
                        },
                    .representative = true}),
           changed("mutant/decoder_temperature_from_zero", "places counted from 0 for 1",
                   "the temperature is that of the place before",
                   {.formula = [](auto& scheme) { scheme.temperature = temperature_from_zero; }}),
           changed("mutant/decoder_temperature_in_base_e", "log n without log L0", "log_n is log p",
                   {.formula = [](auto& scheme) { scheme.temperature = temperature_in_base_e; }}),
           changed("mutant/decoder_documents_in_f32", "ids compared as floats", "ids are rounded to f32",
                   {.inputs =
                        [](request& call) {
                          change_each(call.inputs, "document",
                                      [](double id) { return static_cast<double>(static_cast<float>(id)); });
                        }}),
           changed("mutant/decoder_signed_distance", "ALiBi beyond its causal half",
                   "keys behind the query gain what those before it lose",
                   {.formula =
                        [](auto& scheme) {
                          scheme.bias = [](const traced& slope, const traced_integer& distance) {
                            return slope * index_number(distance);
                          };
                        }}),
           changed("mutant/decoder_sum_for_mean", "an L2 norm for a root mean square", "rows have the length 1",
                   {.formula =
                        [](auto& scheme) {
                          scheme.root = [](const traced& x, const traced& epsilon, bool is_of_gradient) {
                            return reference::over_root(reference::square_norm::sum, x, epsilon, is_of_gradient);
                          };
                        }}),
       }});
}

std::vector<variant> controls() {
  return all_of({controls_of_attention<encoding>("decoder"),
                 {changed("control/decoder_absorbed", "deepseek-ai/DeepSeek-V3, inference/model.py: absorb",
                          "queries are taken to the latents; f16 and bf16 stage by stage",
                          {.formula = [](auto& scheme) { scheme.absorbed = true; },
                           .arithmetic = in_usual_stages,
                           .declared = nothing_declared}),
                  changed("control/decoder_keys_repeated", "repeat_kv of huggingface/transformers",
                          "gradients of k and v are stored for each head of q, and added up; f16 and bf16 stage by "
                          "stage",
                          {.formula = [](auto& scheme) { scheme.by_heads = true; },
                           .arithmetic = in_usual_stages,
                           .declared = nothing_declared})}});
}

}  // namespace assay::properties::encodings::decoder
