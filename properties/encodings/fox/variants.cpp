// Wrong and right ways to compute the sums D, and attention with them.
#include <algorithm>
#include <cmath>

#include "properties/faults/call_changes.hpp"
#include "properties/faults/declared_faults.hpp"
#include "properties/kinds/attention.hpp"
#include "reference/core/special_values.hpp"
#include "reference/encodings/fox.hpp"

namespace assay::properties::encodings::fox {
namespace {

using namespace reference;  // the ways below are written in its vocabulary
using core::dtype;
using formula::counted, formula::known_integers, formula::traced, formula::traced_integer, formula::traced_truth;
using encoding = reference::encodings::fox;
inline constexpr auto& changed = make_variant<encoding>;
constexpr std::size_t keys = encoding::keys;

// Ways from the gates, and from the keys at which queries stand, to the sums between the two.
using sums_of_gates = traced (*)(const traced& gates, const traced_integer& own);
auto with_sums(sums_of_gates sums) {
  return [sums](auto& scheme) { scheme.sums = sums; };
}
// The right sums of changed gates.
using gate = traced (*)(const traced& g);
auto with_gates(gate function) {
  return [function](auto& scheme) {
    scheme.sums = [function, right = scheme.sums](const traced& gates, const traced_integer& own) {
      return right(function(gates), own);
    };
  };
}
auto with_gate(gate function) {
  return [function](auto& scheme) { scheme.gate = function; };
}
auto with_hidden(double d) {
  return [d](auto& scheme) { scheme.hidden = d; };
}
traced none() { return traced(-core::infinity); }

traced with_own_gate(const traced& gates, const traced_integer& own) {
  return sums_from_each_on(encoding::gates_up_to(gates, own), keys);
}
// Only the gates of the query's own block of 16 tokens count: decays in earlier blocks are lost.
traced carry_dropped(const traced& gates, const traced_integer& own) {
  const traced_integer block = traced_integer::constant(16), first = floor_divide(own, block) * block;
  const traced block_gates =
      either(less(counted(shape_of(gates)[keys]), first), traced(0.0), encoding::gates_up_to(gates, own));
  return encoding::behind(sums_from_each_on(block_gates, keys));
}
traced gathered_at_keys(const traced& x, const std::vector<std::int64_t>& places) {
  return gathered(x, known_integers({places.size()}, places), keys);
}
// exp(C_i - C_k) exp(C_k - C_j) with an anchor k in the block of 32 keys: right while both factors are finite.
template <std::size_t anchor>
traced factored(const traced& gates, const traced_integer& own) {
  const traced right = encoding::scheme().sums(gates, own);
  const auto m = static_cast<std::int64_t>(shape_of(gates)[keys]);
  if (shape_of(own)[0] == 0) return right;
  constexpr std::int64_t block = 32;
  std::vector<std::int64_t> starts, ends, anchors;
  for (std::int64_t j = 0; j < m; ++j) {
    starts.push_back(j / block * block);
    ends.push_back(std::min(starts.back() + block, m) - 1);
    anchors.push_back(std::min(starts.back() + static_cast<std::int64_t>(anchor), m - 1));
  }
  const traced_truth is_open = less(none(), gates);
  const traced c = cumulative_sum(either(is_open, gates, traced(0.0)), keys),
               is_reset = either(is_open, traced(0.0), traced(1.0)), resets = cumulative_sum(is_reset, keys);
  const traced product =
      exp(encoding::at_own_keys(c, own) - gathered_at_keys(c, anchors)) * exp(gathered_at_keys(c, anchors) - c);
  const traced_integer width = traced_integer::constant(block);
  const traced_truth is_other_block =
      !equal(floor_divide(own, width), floor_divide(counted(static_cast<std::size_t>(m)), width));
  const traced_truth has_reset =
      less(gathered_at_keys(resets, starts) - gathered_at_keys(is_reset, starts), gathered_at_keys(resets, ends));
  const traced_truth is_number = less(traced(0.0), product) && less(product, traced(core::infinity));
  return either(is_other_block || has_reset || is_number, right, log(product));
}

constexpr auto by_prefixes = [](auto& scheme) { scheme.sums = encoding::algorithm(accuracy_class::cumsum).sums; };
// The sums by a tree.
traced summed_in_pairs(const traced& gates, const traced_integer& own) {
  traced sums = encoding::gates_up_to(gates, own);
  const core::shape all = shape_of(sums);
  for (std::size_t width = 1; width < all[keys]; width *= 2) {
    const traced rest = broadcast(traced(0.0), {all[0], all[1], all[2], width});
    sums = sums + formula::joined({between(sums, keys, width, all[keys]), rest}, keys);
  }
  return encoding::behind(sums);
}
traced masked_later(const traced& gates, const traced_integer& own) {
  const traced_truth seen = encoding::up_to(own, shape_of(gates)[keys]);
  return encoding::scheme().sums(gates, own) - cumulative_sum(either(seen, traced(0.0), gates), keys);
}
// The right sums, with their gradient as the total minus the sum on the other side: rounding of the common part
// remains, also for the first gate, whose gradient is 0.
traced with_gradient_by_total(const traced& gates, const traced_integer& own) {
  const traced right = encoding::scheme().sums(gates, own);
  if (shape_of(own)[0] == 0) return right;
  const traced behind = encoding::behind(sums_from_each_on_by_total(gates, keys));
  return recorded(formula::op::with_gradient_of, right, behind - encoding::at_own_keys(behind, own));
}

// Cotangents of pairs above the diagonal count for their mirror images.
void count_masked_pairs(request& call) {
  const auto found = call.inputs.find("grad_D");
  if (found == call.inputs.end()) return;
  auto& g = found->second.values.storage();
  const std::size_t n = found->second.shape()[3];
  for (std::size_t p = 0; p < g.size(); ++p)
    if (const std::size_t i = p / n % n, j = p % n; j < i)
      g[p] = core::round_to(call.type, g[p] + g[p + (j - i) * n + i - j]);
}

// exp(-D_ij) is formed for all pairs, and pairs of later keys are masked afterwards. Where it overflowed, the
// derivative of the exponential is infinite, and 0 times that is NaN. This reaches the pair with all gates but the
// first between its tokens.
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

// Queries among the padding are masked by one finite number, so they see all keys equally, or all up to their own.
void average_padding(core::tensors& outputs, const request& call, bool over_all_keys) {
  const auto first_key = call.inputs.find("first_key");
  const auto found = outputs.find("o");
  if (first_key == call.inputs.end() || found == outputs.end()) return;
  auto& o = found->second.values;
  const auto& v = call.inputs.at("v").values;
  const std::size_t n = o.shape(2), m = v.shape(2);
  for (std::size_t b = 0; b < o.shape(0); ++b)
    for (std::size_t i = 0; i < n; ++i) {
      const double own = static_cast<double>(i + m) - static_cast<double>(n);
      if (own >= first_key->second.values.storage()[b] || (!over_all_keys && own < 0.0)) continue;
      const std::size_t last = over_all_keys ? m : static_cast<std::size_t>(own) + 1;
      for (std::size_t h = 0; h < o.shape(1); ++h)
        for (std::size_t c = 0; c < o.shape(3); ++c) {
          double sum = 0;
          for (std::size_t j = 0; j < last; ++j) sum += v(b, h, j, c);
          o(b, h, i, c) = core::round_to(call.type, sum / static_cast<double>(last));
        }
    }
}

// Leaves out weights below e^-10 / m of the largest.
traced pruned_at_tolerance(const traced& logits, const traced_truth& seen) {
  const traced least = weights::largest_of_rows(weights::masked(logits, seen)) -
                       traced(std::log(static_cast<double>(shape_of(logits).back())) + 10.0);
  return softmax_of_seen(either(less(logits, least), none(), logits), seen);
}

}  // namespace

std::vector<variant> mutants() {
  return all_of(
      {reported_faults({
           {"mutant/fox_wrong_sign", "meta-pytorch/attention-gym#86", "fox/decay/log_f/negated"},
           {"mutant/fox_other_head", "triton-lang/triton#8412: axes", "fox/decay/log_f/reversed_along_h_2"},
           {"mutant/fox_transposed", "triton-lang/triton#8412: axes", "fox/decay/D/transposed_2_3"},
           {"mutant/fox_decay_in_bf16", "HabanaAI/vllm-fork#503: biases in bf16", "fox/decay/D/in_bf16"},
           {"mutant/fox_first_key_ignored", "zhixuan-lin/forgetting-transformer: seq_start left out",
            "fox/cached_attention/first_key/zeroed"},
           {"mutant/fox_first_key_hidden", "triton-lang/triton#8412: off by one", "fox/cached_decay/first_key/one_off"},
           {"mutant/fox_first_key_of_another_row", "triton-lang/triton#8412: axes",
            "fox/cached_attention/first_key/reversed_along_B_0"},
           {"mutant/fox_gate_detached", "pytorch/pytorch#196705: a path dropped",
            "fox/attention:vjp/grad_log_f/zeroed"},
       }),
       faults_of_attention<encoding>("fox", "D"),
       {
           changed("mutant/fox_own_token", "triton-lang/triton#8412: off by one",
                   "D_ij decays by the key's own gate too",
                   {.formula = with_sums(with_own_gate), .representative = true}),
           // The variant does not declare that log f = -inf has no answer (-inf - (-inf)).
           changed("mutant/fox_reset_gives_nan", "a difference of prefix sums, as published code has it",
                   "log f = -inf makes every later pair NaN", {.formula = by_prefixes, .representative = true}),
           changed("mutant/fox_gate_floored", "a floor on log f, as published code has it", "log f below -100 is -100",
                   {.formula = with_gates([](const traced& x) { return larger(x, traced(-100.0)); })}),
           changed("mutant/fox_carry_dropped", "triton-lang/triton#2361",
                   "decays within blocks of 16 tokens are lost behind the block's end",
                   {.formula = with_sums(carry_dropped)}),
           changed("mutant/fox_mask_is_zero", "pytorch/pytorch#139641: masked places enter with 0 instead of -inf",
                   "0 above the diagonal", {.formula = with_hidden(0.0), .representative = true}),
           changed("mutant/fox_mask_is_finite", "a mask of -10000 instead of -inf", "-10000 above the diagonal",
                   {.formula = with_hidden(-10000.0)}),
           changed("mutant/fox_factored_by_blocks", "pytorch/executorch#21417",
                   "exp(C_i) exp(-C_j) from the start of a block of 32 keys overflows",
                   {.formula = with_sums(factored<0>)}),
           changed("mutant/fox_factored_about_middle", "NVIDIA/cudnn-frontend#1017",
                   "exp(C_i - C_k) exp(C_k - C_j) about the middle of 32 keys overflows",
                   {.formula = with_sums(factored<16>)}),
           changed("mutant/fox_log_of_sigmoid", "pytorch/pytorch#1835", "the gate overflows",
                   {.formula = with_gate([](const traced& g) { return log(exp(g)) - log(traced(1.0) + exp(g)); })}),
           // The exponential is lost when 1 is added.
           changed("mutant/fox_gate_without_log1p", "meta-pytorch/attention-gym#351",
                   "log f is -log(1 + exp(-g)), 0 for large g",
                   {.formula = with_gate([](const traced& g) {
                      return either(less(traced(0.0), g), -log(traced(1.0) + exp(-g)), log_sigmoid(g));
                    }),
                    .representative = true}),
           // softplus in f16, whose exponential overflows: the result, which is no number, becomes 0, no decay at all.
           changed("mutant/fox_gate_saturates", "sbryngelson/ANEForge#113",
                   "a gate that forgets by more than f16 can say forgets nothing",
                   {.formula = with_gate([](const traced& g) {
                      return either(less(traced(65504.0), exp(-g)), traced(0.0), log_sigmoid(g));
                    }),
                    .representative = true}),
           // A guard against positive exponents that also stops log f = 0: its exponential becomes 0.
           changed("mutant/fox_open_gate_forgets", "fla-org/flash-linear-attention#461", "log f = 0 forgets everything",
                   {.formula = with_gates([](const traced& x) { return either(less(x, traced(0.0)), x, none()); }),
                    .representative = true}),
           changed("mutant/fox_prefix_in_storage", "half-precision prefix sums",
                   "prefix sums are kept in the storage dtype",
                   {.formula = by_prefixes,
                    .arithmetic = in_storage,
                    .declared =
                        [](description& about) {
                          for (const dtype t : {dtype::f16, dtype::bf16}) about.compute[t] = dtype::f32;
                        },
                    .shown_in = dtype::bf16}),
           changed("mutant/fox_masked_pairs_in_gradient", "jax-ml/jax#23842", "cotangents of masked pairs count",
                   {.inputs = count_masked_pairs}),
           // The threshold ignores q . k.
           changed("mutant/fox_pruned_by_decay_alone", "the threshold of arXiv 2504.06949 without the bound of q . k",
                   "keys with D below -6 are left out",
                   {.formula = with_logit([](const traced& product, const traced& bias, const traced& scale) {
                      return either(less(bias, traced(-6.0)), none(), scale * product + bias);
                    }),
                    .representative = true}),
           changed("mutant/fox_pruned_at_tolerance",
                   "zhixuan-lin/forgetting-transformer, adaptive_threshold: a tolerance of e^-10, whatever the dtype",
                   "keys with less than e^-10 / m of the largest weight are left out",
                   {.formula = weights::steps(pruned_at_tolerance)}),
           changed("mutant/fox_queries_first", "NVIDIA/NeMo, kerple_relative_position_embedding.py",
                   "queries behind a cache stand at the first keys",
                   {.formula =
                        [](auto& scheme) {
                          scheme.own_keys = [](std::size_t n, std::size_t) { return reshaped(counted(n), {n, 1}); };
                        },
                    .representative = true}),
           changed("mutant/fox_padding_averaged", "zhixuan-lin/forgetting-transformer: is_empty_line, left out",
                   "a query among the padding has the mean of the values up to its own",
                   {.outputs = [](core::tensors& o, const request& call) { average_padding(o, call, false); },
                    .representative = true}),
           changed("mutant/fox_masked_after_exp", "huggingface/transformers#48455",
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
                   {.formula = with_sums(summed_in_pairs)}),
           changed("control/fox_declared_prefix_sums", "prefix sums, where all gates are finite",
                   "differences of prefix sums",
                   {.formula = with_sums(encoding::differences_of_prefixes),
                    .declared =
                        [](description& about) {
                          for (const auto& [operation, types] : about.operations)
                            about.domain[operation] = {{operation.starts_with("fox/gated") ? "g" : "log_f", {}}};
                        }}),
           changed("control/fox_masked_later", "state-spaces/mamba#520: masked later",
                   "D of later keys is formed, and then masked", {.formula = with_sums(masked_later)}),
           changed("control/fox_total_less_prefix", "suffix sums as the total less prefix sums",
                   "of class cumsum: gradients cancel, also that of the first gate",
                   {.formula = with_sums(with_gradient_by_total)}),
       }});
}

}  // namespace assay::properties::encodings::fox
