// Wrong and right ways to the sums D, and to what attends with them.
#include <algorithm>
#include <cmath>

#include "properties/faults/call_changes.hpp"
#include "properties/faults/declared_faults.hpp"
#include "properties/faults/segment_sums.hpp"
#include "properties/kinds/attention.hpp"
#include "reference/core/special_values.hpp"
#include "reference/encodings/fox.hpp"

namespace assay::properties::encodings::fox {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary
using namespace segments;
using core::dtype;
using encoding = reference::encodings::fox;
using recipe = encoding::recipe<R>;
inline constexpr auto& changed = make_variant<encoding>;

recipe_change<recipe> with_gate(R (*gate)(const R& g)) {
  return [gate](recipe& how) { how.gate = gate; };
}

// Cotangents of pairs above the diagonal count as those of their mirror images.
void count_masked_pairs(request& call) {
  const auto found = call.inputs.find("grad_D");
  if (found == call.inputs.end()) return;
  auto& g = found->second.values.storage();
  const std::size_t n = found->second.shape()[3];
  for (std::size_t p = 0; p < g.size(); ++p)
    if (const std::size_t i = p / n % n, j = p % n; j < i)
      g[p] = core::round_to(call.type, g[p] + g[p + (j - i) * n + i - j]);
}

// exp(-D_ij) is formed for all pairs and those of later keys masked afterwards: where it overflowed, the derivative of
// the exponential is infinite, and 0 times that is NaN, also of the pair that all gates but the first lie between.
void mask_after_exp_in_gradient(core::tensors& outputs, const request& call) {
  if (!outputs.contains("grad_q")) return;
  core::tensor& grad = outputs.at("grad_log_f");
  const auto& a = call.inputs.at("log_f").values.storage();
  const std::size_t n = grad.shape()[1], heads = grad.shape()[2];
  for (std::size_t k = 0; k < grad.shape()[0] * heads; ++k) {
    const std::size_t first = k / heads * n * heads + k % heads;
    double decay = 0;
    for (std::size_t i = 1; i < n; ++i) decay -= a[first + i * heads];
    for (std::size_t i = 1; i < n && decay > (call.type == dtype::f64 ? 709.8 : 88.7); ++i)
      grad.values.storage()[first + i * heads] = std::nan("");
  }
}

// Queries among the padding, masked by one finite number, see all keys alike, or those up to their own alike.
void average_padding(core::tensors& outputs, const request& call, bool of_all) {
  const auto first_key = call.inputs.find("first_key");
  const auto found = outputs.find("o");
  if (first_key == call.inputs.end() || found == outputs.end()) return;
  auto& o = found->second.values;
  const auto& v = call.inputs.at("v").values;
  const std::size_t n = o.shape(2), m = v.shape(2);
  for (std::size_t b = 0; b < o.shape(0); ++b)
    for (std::size_t i = 0; i < n; ++i) {
      const double own = static_cast<double>(i + m) - static_cast<double>(n);
      if (own >= first_key->second.values.storage()[b] || (!of_all && own < 0.0)) continue;
      const std::size_t last = of_all ? m : static_cast<std::size_t>(own) + 1;
      for (std::size_t h = 0; h < o.shape(1); ++h)
        for (std::size_t c = 0; c < o.shape(3); ++c) {
          double sum = 0;
          for (std::size_t j = 0; j < last; ++j) sum += v(b, h, j, c);
          o(b, h, i, c) = core::round_to(call.type, sum / static_cast<double>(last));
        }
    }
}

// Weights below e^-10 / m of the largest.
weights::row pruned_at_tolerance(const weights::row& logits) {
  weights::row kept = logits;
  const double least = weights::largest_of(logits).number - std::log(static_cast<double>(logits.size())) - 10.0;
  for (R& s : kept)
    if (s.number < least) s = R(-core::infinity);
  return softmax(kept);
}

}  // namespace

std::vector<variant> mutants() {
  return all_of(
      {reported_faults({
           {"mutant/fox_wrong_sign", "meta-pytorch/attention-gym#86", "fox/decay/log_f/negated"},
           {"mutant/fox_other_head", "SC04 triton-lang/triton#8412: axes", "fox/decay/log_f/reversed_along_h_2"},
           {"mutant/fox_transposed", "SC04 triton-lang/triton#8412: axes", "fox/decay/D/transposed_2_3"},
           {"mutant/fox_decay_in_bf16", "DT17 HabanaAI/vllm-fork#503: biases in bf16", "fox/decay/D/in_bf16"},
           {"mutant/fox_first_key_ignored", "zhixuan-lin/forgetting-transformer: seq_start left out",
            "fox/cached_attention/first_key/zeroed"},
           {"mutant/fox_first_key_hidden", "SC04 triton-lang/triton#8412: off by one",
            "fox/cached_decay/first_key/one_off"},
           {"mutant/fox_first_key_of_another_row", "SC04 triton-lang/triton#8412: axes",
            "fox/cached_attention/first_key/reversed_along_B_0"},
           {"mutant/fox_gate_detached", "GR07 pytorch/pytorch#196705: a path dropped",
            "fox/attention:vjp/grad_log_f/zeroed"},
       }),
       faults_of_attention<encoding>("fox", "D"),
       {
           changed("mutant/fox_own_token", "SC04 triton-lang/triton#8412: off by one",
                   "D_ij decays by the key's own gate too",
                   {.formula =
                        [](auto& how) {
                          with_entry([](const_lane<R> a, std::size_t i, std::size_t j) { return sum_of(a, j, i + 1); })(
                              how);
                          how.row = []<class N>(const std::vector<N>& gates) {
                            std::vector<N> from = suffix_sums(gates);
                            from.insert(from.begin(), from.empty() ? N(0.0) : from.front());
                            from.pop_back();
                            return from;
                          };
                        },
                    .telling = true}),
           // It does not say that log f = -inf has no answer: -inf - (-inf).
           changed("mutant/fox_reset_gives_nan", "a difference of prefix sums, as published code has it",
                   "log f = -inf makes every later pair NaN",
                   {.formula = with_sums{segment_sums_by_prefix<R>}, .telling = true}),
           changed("mutant/fox_gate_floored", "a floor on log f, as published code has it", "log f below -100 is -100",
                   {.formula = with_entry([](const_lane<R> a, std::size_t i, std::size_t j) {
                      return sum_of(a, j + 1, i + 1, [](const R& x) { return larger(x, R(-100.0)); });
                    })}),
           changed("mutant/fox_carry_dropped", "SC03 triton-lang/triton#2361",
                   "decays within blocks of 16 tokens are lost behind the block's end",
                   {.formula = with_entry(carry_dropped)}),
           changed("mutant/fox_mask_is_zero", "SC13 pytorch/pytorch#139641: masked places enter with 0 instead of -inf",
                   "0 above the diagonal", {.formula = with_mask(0), .telling = true}),
           changed("mutant/fox_mask_is_finite", "a mask of -10000 instead of -inf", "-10000 above the diagonal",
                   {.formula = with_mask(-10000)}),
           changed("mutant/fox_factored_by_blocks", "FW27 pytorch/executorch#21417",
                   "exp(C_i) exp(-C_j) from the start of a block of 32 keys overflows",
                   {.formula = with_entry(factored<0>)}),
           changed("mutant/fox_factored_about_middle", "FW28 NVIDIA/cudnn-frontend#1017",
                   "exp(C_i - C_k) exp(C_k - C_j) about the middle of 32 keys overflows",
                   {.formula = with_entry(factored<16>)}),
           changed("mutant/fox_log_of_sigmoid", "FW14 pytorch/pytorch#1835", "the gate overflows",
                   {.formula = with_gate([](const R& g) { return log(exp(g)) - log(R(1.0) + exp(g)); })}),
           // The exponential is lost beside 1.
           changed("mutant/fox_gate_without_log1p", "FW18 meta-pytorch/attention-gym#351",
                   "log f is -log(1 + exp(-g)), 0 for large g",
                   {.formula =
                        with_gate([](const R& g) { return g.number > 0.0 ? -log(R(1.0) + exp(-g)) : log_sigmoid(g); }),
                    .telling = true}),
           // softplus in f16, whose exponential overflows: what is no number becomes 0, no decay at all.
           changed("mutant/fox_gate_saturates", "FW13 sbryngelson/ANEForge#113",
                   "a gate that forgets by more than f16 can say forgets nothing",
                   {.formula =
                        with_gate([](const R& g) { return std::exp(-g.number) > 65504.0 ? R(0.0) : log_sigmoid(g); }),
                    .telling = true}),
           // A guard against positive exponents that lets no log f = 0 pass: its exponential is 0.
           changed("mutant/fox_open_gate_forgets", "FW24 fla-org/flash-linear-attention#461",
                   "log f = 0 forgets everything",
                   {.formula = with_entry([](const_lane<R> a, std::size_t i, std::size_t j) {
                      return sum_of(a, j + 1, i + 1,
                                    [](const R& x) { return x.number >= 0.0 ? R(-core::infinity) : x; });
                    }),
                    .telling = true}),
           changed("mutant/fox_prefix_in_storage", "half-precision prefix sums",
                   "prefix sums are kept in the storage dtype",
                   {.formula = with_sums{segment_sums_by_prefix<R>},
                    .arithmetic = in_storage,
                    .declared =
                        [](description& about) {
                          for (const dtype t : {dtype::f16, dtype::bf16}) about.compute[t] = dtype::f32;
                        },
                    .shown_in = dtype::bf16}),
           changed("mutant/fox_masked_pairs_in_gradient", "GR04 jax-ml/jax#23842", "cotangents of masked pairs count",
                   {.inputs = count_masked_pairs}),
           // Whatever q . k is.
           changed("mutant/fox_pruned_by_decay_alone", "the threshold of arXiv 2504.06949 without the bound of q . k",
                   "keys with D below -6 are left out",
                   {.formula = with_logit([](const R& product, const R& bias, const R& scale) {
                      return bias.number < -6.0 ? R(-core::infinity) : scale * product + bias;
                    }),
                    .telling = true}),
           changed("mutant/fox_pruned_at_tolerance",
                   "zhixuan-lin/forgetting-transformer, adaptive_threshold: a tolerance of e^-10, whatever the dtype",
                   "keys with less than e^-10 / m of the largest weight are left out",
                   {.formula = weights::steps(pruned_at_tolerance)}),
           changed("mutant/fox_queries_first", "NVIDIA/NeMo, kerple_relative_position_embedding.py",
                   "queries behind a cache stand at the first keys",
                   {.formula =
                        [](auto& how) {
                          how.seen = [](std::size_t i, std::size_t, std::size_t m) { return std::min(i + 1, m); };
                        },
                    .telling = true}),
           changed("mutant/fox_padding_averaged", "zhixuan-lin/forgetting-transformer: is_empty_line, left out",
                   "a query among the padding has the mean of the values up to its own",
                   {.outputs = [](core::tensors& o, const request& call) { average_padding(o, call, false); },
                    .telling = true}),
           changed("mutant/fox_masked_after_exp", "GR20 huggingface/transformers#48455",
                   "the gradient of a gate is NaN where exp(-D) overflows", {.outputs = mask_after_exp_in_gradient}),
       }});
}

std::vector<variant> controls() {
  return all_of(
      {controls_of_attention<encoding>("fox"),
       {
           changed("control/fox_lowest_number_for_mask", "huggingface/transformers, masking_utils.py: finfo.min",
                   "a query among the padding has the mean of all values",
                   {.outputs = [](core::tensors& o, const request& call) { average_padding(o, call, true); }}),
           changed("control/fox_summed_in_pairs", "pairwise summation", "the same sums as a tree",
                   {.formula = with_sums{with_entry([](const_lane<R> a, std::size_t i, std::size_t j) {
                                           return halved(a, j + 1, i + 1);
                                         }).sums,
                                         segment_sums_adjoint_by_suffix<R>}}),
           // With their adjoint by suffix sums.
           changed("control/fox_declared_prefix_sums", "prefix sums, where all gates are finite",
                   "differences of prefix sums",
                   {.formula =
                        [](auto& how) {
                          using number = typename std::decay_t<decltype(how)>::number;
                          how = encoding::algorithm<number>(accuracy_class::cumsum);
                        },
                    .declared =
                        [](description& about) {
                          for (const auto& [operation, types] : about.operations)
                            about.domain[operation] = {{operation.starts_with("fox/gated") ? "g" : "log_f", {}}};
                        }}),
           changed("control/fox_masked_later", "CT04 state-spaces/mamba#520: masked later",
                   "D of later keys is formed, and then masked", {.formula = with_sums{[](const_lane<R> a, R* out) {
                                                                    const std::size_t n = a.size();
                                                                    for (std::size_t p = 0; p < n * n; ++p)
                                                                      out[p] = -sum_of(a, p / n + 1, p % n + 1);
                                                                    with_mask(-core::infinity).sums(a, out);
                                                                  }}}),
           changed("control/fox_total_less_prefix", "suffix sums as the total less prefix sums",
                   "of class cumsum: gradients cancel, also that of the first gate",
                   {.formula = with_sums{segment_sums<R>, total_less_prefix}}),
       }});
}

}  // namespace assay::properties::encodings::fox
