// Wrong and right shifts, norms and gates.
#include <cmath>

#include "properties/faults/call_changes.hpp"
#include "properties/faults/declared_faults.hpp"
#include "reference/encodings/fox_pro.hpp"

namespace assay::properties::encodings::fox_pro {
namespace {

using core::dtype;
using encoding = reference::encodings::fox_pro;
using reference::formula::traced;
inline constexpr auto& changed = make_variant<encoding>;

// Multiplies each finite number of a normalized output by factor(x, place of the number, epsilon).
using row_change = double (*)(const core::tensor& x, std::size_t k, double epsilon);
void change_rows(core::tensors& outputs, const request& call, row_change factor) {
  const auto y = outputs.find("y");
  if (y == outputs.end() || call.operation->attribute("epsilon") == nullptr) return;
  const core::tensor& x = call.inputs.at(call.operation->inputs.front().name);
  const auto epsilon = setting_of<double>(call, "epsilon");
  for (std::size_t k = 0; k < x.size(); ++k)
    if (double& out = y->second.values.storage()[k]; std::isfinite(out))
      out = core::round_to(call.type, out * factor(x, k, epsilon));
}
double mean_of_squares(const core::tensor& x, std::size_t first, std::size_t count, double center = 0) {
  double sum = 0;
  for (std::size_t k = first; k < first + count; ++k) sum += std::pow(x.values.storage()[k] - center, 2);
  return sum / static_cast<double>(count);
}
double across_heads(const core::tensor& x, std::size_t k, double epsilon) {
  const std::size_t d = x.shape()[3], row = d * x.shape()[2];
  return std::sqrt((mean_of_squares(x, k / d * d, d) + epsilon) / (mean_of_squares(x, k / row * row, row) + epsilon));
}
double less_its_mean(const core::tensor& x, std::size_t k, double epsilon) {
  const std::size_t d = x.shape()[3], first = k / d * d;
  double mean = 0;
  for (std::size_t c = first; c < first + d; ++c) mean += x.values.storage()[c] / static_cast<double>(d);
  const double now = x.values.storage()[k];
  return (now == 0.0 ? 1.0 : (now - mean) / now) *
         std::sqrt((mean_of_squares(x, first, d) + epsilon) / (mean_of_squares(x, first, d, mean) + epsilon));
}
// x / root(mean of x^2, epsilon), step by step.
constexpr auto row_by = [](auto root) {
  return [root](const traced& x, const traced& epsilon, bool) {
    return x / root(reference::dot_of_rows(reference::square_norm::mean, x, x), epsilon);
  };
};
// Reverses the tokens.
void reverse_tokens(core::tensors& tensors, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const auto found = tensors.find(name); found != tensors.end()) {
      std::vector<std::size_t> back(found->second.shape()[1]);
      for (std::size_t t = 0; t < back.size(); ++t) back[t] = back.size() - 1 - t;
      found->second = core::take(found->second, 1, back);
    }
}

}  // namespace

std::vector<variant> mutants() {
  return all_of(
      {reported_faults({
           {"mutant/fox_pro_state_dropped", "a token shift that pads each chunk with zeros", "fox_pro/shift/x0/zeroed"},
           {"mutant/fox_pro_gate_of_another_head", "triton-lang/triton#8412: axes",
            "fox_pro/shift/a/reversed_along_h_2"},
           {"mutant/fox_pro_weights_shared", "zhixuan-lin/forgetting-transformer, CHANGELOG: qk-norm across heads",
            "fox_pro/norm/shared/false_and_true_exchanged"},
           {"mutant/fox_pro_gate_detached", "pytorch/pytorch#196705: a path dropped",
            "fox_pro/output:vjp/grad_g/zeroed"},
       }),
       {
           changed("mutant/fox_pro_taps_exchanged", "alpha for 1 - alpha: a port",
                   "the token before has the weight of the token",
                   {.formula =
                        [](auto& scheme) {
                          scheme.taps_of = [](const traced& a) { return encoding::taps{sigmoid(-a), sigmoid(a)}; };
                        },
                    .representative = true}),
           changed("mutant/fox_pro_next_token", "torch.roll by -1", "the token after stands for the one before",
                   {.inputs =
                        [](request& call) {
                          reverse_tokens(call.inputs, {"x", "a", "visible", "grad_y"});
                        },
                    .outputs =
                        [](core::tensors& outputs) {
                          reverse_tokens(outputs, {"y", "grad_x", "grad_a"});
                        }}),
           changed("mutant/fox_pro_padding_seen", "zhixuan-lin/forgetting-transformer, before attention_mask",
                   "padding is shifted into the first token",
                   {.inputs = [](request& call) { change_each(call.inputs, "visible", [](double) { return 1.0; }); }}),
           changed("mutant/fox_pro_state_is_shifted", "a cache of what is attended to",
                   "the state is the shifted token",
                   {.outputs =
                        [](core::tensors& outputs) {
                          const auto y = outputs.find("y");
                          if (y == outputs.end() || y->second.shape()[1] == 0 || !outputs.contains("x_n")) return;
                          const core::shape s = y->second.shape();
                          core::tensor last = core::slice(y->second, 1, s[1] - 1, s[1]);
                          outputs.at("x_n").values.storage() = last.values.storage();
                        },
                    .representative = true}),
           changed("mutant/fox_pro_taps_in_bf16", "HabanaAI/vllm-fork#503: in bf16", "gates are rounded to bf16",
                   {.formula =
                        [](auto& scheme) {
                          scheme.taps_of = [](const traced& a) {
                            return encoding::taps{held_in(dtype::bf16, sigmoid(a)), held_in(dtype::bf16, sigmoid(-a))};
                          };
                        }}),
           changed("mutant/fox_pro_epsilon_outside", "huggingface/transformers: x / (sqrt(mean) + eps)",
                   "epsilon is added to the root",
                   {.formula =
                        [](auto& scheme) {
                          scheme.norm = row_by([](const auto& mean, const auto& epsilon) {
                            return power(mean, reference::ratio(1, 2)) + epsilon;
                          });
                        }}),
           changed("mutant/fox_pro_sum_for_mean", "an L2 norm for a root mean square", "a row has the length 1",
                   {.outputs =
                        [](core::tensors& outputs, const request& call) {
                          change_rows(outputs, call, [](const core::tensor& x, std::size_t k, double epsilon) {
                            const std::size_t d = x.shape()[3];
                            const double mean = mean_of_squares(x, k / d * d, d);
                            return std::sqrt((mean + epsilon) / (mean * static_cast<double>(d) + epsilon));
                          });
                        }}),
           changed("mutant/fox_pro_norm_across_heads", "fla-org/flash-linear-attention: RMSNorm for GroupNorm",
                   "the mean is that of all heads",
                   {.outputs = [](core::tensors& outputs,
                                  const request& call) { change_rows(outputs, call, across_heads); }}),
           changed("mutant/fox_pro_mean_subtracted", "LayerNorm for RMSNorm", "a row loses its mean",
                   {.outputs = [](core::tensors& outputs,
                                  const request& call) { change_rows(outputs, call, less_its_mean); },
                    .representative = true}),
           changed("mutant/fox_pro_silu", "zhixuan-lin/forgetting-transformer, ogate_act: silu",
                   "the gate is g sigmoid(g)",
                   {.formula = [](auto& scheme) { scheme.gate = [](const auto& g) { return g * sigmoid(g); }; },
                    .representative = true}),
           changed("mutant/fox_pro_gate_before_norm", "fla-org/flash-linear-attention: norm_before_gate",
                   "the gated output is normalised",
                   {.inputs =
                        [](request& call) {
                          if (!call.inputs.contains("g")) return;
                          auto &o = call.inputs.at("o").values.storage(), &g = call.inputs.at("g").values.storage();
                          for (std::size_t k = 0; k < o.size(); ++k) {
                            o[k] = core::round_to(call.type, o[k] / (1.0 + std::exp(-g[k])));
                            g[k] = 1000.0;
                          }
                        }}),
       }});
}

std::vector<variant> controls() {
  return {
      changed("control/fox_pro_one_less_sigmoid",
              "zhixuan-lin/forgetting-transformer: token_shift(x, alpha, 1 - alpha)", "of class linear: 1 - sigmoid(a)",
              {.formula = [](auto& scheme) { scheme = encoding::algorithm(reference::accuracy_class::linear); }}),
      changed("control/fox_pro_step_by_step",
              "x / torch.sqrt(mean + eps), with the gradient of automatic differentiation",
              "a square root and a division",
              {.formula =
                   [](auto& scheme) {
                     scheme.norm = row_by([](const auto& mean, const auto& epsilon) {
                       return power(mean + epsilon, reference::ratio(1, 2));
                     });
                   }}),
      changed("control/fox_pro_in_f64", "all in f64, rounded once", "another precision", {.arithmetic = in_f64}),
      changed("control/fox_pro_usual_stages", "LlamaRMSNorm of huggingface/transformers",
              "f16 and bf16: the norm in f32, its product with weights and gate in the dtype",
              {.arithmetic = in_usual_stages, .declared = nothing_declared})};
}

}  // namespace assay::properties::encodings::fox_pro
