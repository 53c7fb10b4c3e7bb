// What is wrong in the sums D and in their gradients, whatever attends with them.
#include "properties/encodings/fox/mutants/mutants.hpp"

#include <algorithm>
#include <cmath>

#include "reference/encodings/alibi.hpp"
#include "reference/encodings/attention.hpp"

namespace assay::properties::encodings::fox {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary
using namespace reference::encodings;

// The block of 16 tokens that the key lies in is decayed only to its end.
R carry_dropped(const_lane<R> a, std::size_t i, std::size_t j) {
  const std::size_t block = i / 16 * 16;
  return j >= block ? sum_of(a, j + 1, i + 1) : sum_of(a, block, i + 1);
}

// exp(C_i - C_k) exp(C_k - C_j), k an anchor in the block of 32 keys: right while both factors are numbers.
template <std::size_t anchor>
R factored(const_lane<R> a, std::size_t i, std::size_t j) {
  constexpr std::size_t block = 32;
  const std::size_t k = std::min(j / block * block + anchor, a.size() - 1);
  const R right = sum_of(a, j + 1, i + 1);
  if (i / block != j / block || is_minus_infinity(sum_of(a, std::min(j, k), std::max(i, k) + 1))) return right;
  const auto between = [&](std::size_t from, std::size_t to) {
    return from <= to ? sum_of(a, from + 1, to + 1) : -sum_of(a, to + 1, from + 1);
  };
  const R product = exp(between(k, i)) * exp(between(j, k));
  return product.number > 0.0 && std::isfinite(product.number) ? right : log(product);
}

// What stands above the diagonal, in D and in attention.
with_sums with_mask(double above) {
  return {[above](const_lane<R> a, R* out) {
    segment_sums<R>(a, out);
    for (std::size_t i = 0; i < a.size(); ++i)
      for (std::size_t j = i + 1; j < a.size(); ++j) out[i * a.size() + j] = R(above);
  }};
}

void reverse_heads_of_gates(request& call) {
  for (const auto& d : call.operation->inputs) {
    const auto axis = core::axis_of(d, "h");
    if (!axis || d.name.starts_with("grad_")) continue;
    core::tensor& t = call.inputs.at(d.name);
    std::vector<std::size_t> order(t.shape()[*axis]);
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = order.size() - 1 - k;
    t = core::take(t, *axis, order);
  }
}

void transpose_decay(core::tensors& outputs) {
  if (!outputs.contains("D")) return;
  core::tensor& d = outputs.at("D");
  const core::tensor right = d;
  const std::size_t n = d.shape()[3];
  for (std::size_t k = 0; k < d.size(); ++k)
    d.values.storage()[k] = right.values.storage()[k / (n * n) * n * n + k % n * n + k / n % n];
}

// The gradient of gate l is the sum of those cotangents for which `counts` says so.
with_sums with_adjoint(bool (*counts)(std::size_t i, std::size_t j, std::size_t l)) {
  return {segment_sums<R>, [counts](const R* grad, lane<R> grad_a) {
            const std::size_t n = grad_a.size();
            for (std::size_t l = 0; l < n; ++l) {
              R sum(0.0);
              for (std::size_t i = 0; i < n; ++i)
                for (std::size_t j = 0; j < n; ++j)
                  if (counts(i, j, l)) sum = sum + grad[i * n + j];
              grad_a[l] = sum;
            }
          }};
}

std::vector<variant> gradient_mutants() {
  return {
      changed_fox(
          "mutant/fox_own_key_in_gradient", "SC04 triton-lang/triton#8412: off by one",
          "the gradient of a gate counts pairs whose key is its token",
          {.formula = with_adjoint([](std::size_t i, std::size_t j, std::size_t l) { return i >= l && j <= l; }),
           .telling = true}),
      changed_fox(
          "mutant/fox_own_query_not_in_gradient", "SC04 triton-lang/triton#8412: off by one",
          "the gradient of a gate misses pairs whose query is its token",
          {.formula = with_adjoint([](std::size_t i, std::size_t j, std::size_t l) { return i > l && j < l; })}),
      changed_fox("mutant/fox_masked_pairs_in_gradient", "GR04 jax-ml/jax#23842", "cotangents of masked pairs count",
                  {.formula = with_adjoint([](std::size_t i, std::size_t j, std::size_t l) {
                     return (i >= l && j < l) || (j >= l && i < l);
                   })}),
      changed_fox(
          "mutant/fox_nearest_key_only", "GR07 pytorch/pytorch#196705: a prefix term dropped",
          "the gradient of a gate counts only the nearest key",
          {.formula = with_adjoint([](std::size_t i, std::size_t j, std::size_t l) { return i >= l && j + 1 == l; })}),
  };
}

}  // namespace

std::vector<variant> mutants() {
  std::vector<variant> all{
      changed_fox(
          "mutant/fox_own_token", "SC04 triton-lang/triton#8412: off by one", "D_ij decays by the key's own gate too",
          {.formula = with_entry([](const_lane<R> a, std::size_t i, std::size_t j) { return sum_of(a, j, i + 1); }),
           .beside = {right<reference::encodings::alibi>},
           .telling = true}),
      changed_fox("mutant/fox_one_step_late", "SC04 triton-lang/triton#8412: off by one",
                  "D_ij lacks the gate of the query",
                  {.formula = with_entry([](const_lane<R> a, std::size_t i, std::size_t j) {
                     return sum_of(a, j + 1, std::max(i, j + 1));
                   })}),
      changed_fox("mutant/fox_wrong_sign", "meta-pytorch/attention-gym#86", "the bias grows with distance",
                  {.formula = with_entry(
                       [](const_lane<R> a, std::size_t i, std::size_t j) { return -sum_of(a, j + 1, i + 1); }),
                   .telling = true}),
      // It does not say that log f = -inf has no answer: -inf - (-inf).
      changed_fox("mutant/fox_reset_gives_nan", "a difference of prefix sums, as published code has it",
                  "log f = -inf makes every later pair NaN",
                  {.formula = with_sums{segment_sums_by_prefix<R>}, .telling = true}),
      changed_fox("mutant/fox_gate_floored", "a floor on log f, as published code has it", "log f below -100 is -100",
                  {.formula = with_entry([](const_lane<R> a, std::size_t i, std::size_t j) {
                     R sum(0.0);
                     for (std::size_t l = j + 1; l <= i; ++l) sum = sum + larger(a[l], R(-100.0));
                     return sum;
                   })}),
      changed_fox("mutant/fox_carry_dropped", "SC03 triton-lang/triton#2361",
                  "decays within blocks of 16 tokens are lost behind the block's end",
                  {.formula = with_entry(carry_dropped)}),
      changed_fox("mutant/fox_other_head", "SC04 triton-lang/triton#8412: axes", "heads get one another's gates",
                  {.inputs = reverse_heads_of_gates}),
      changed_fox("mutant/fox_mask_is_zero", "SC13 pytorch/pytorch#139641: masked places enter with 0 instead of -inf",
                  "0 above the diagonal",
                  {.formula = with_mask(0), .beside = {right<reference::encodings::attention>}, .telling = true}),
      changed_fox("mutant/fox_mask_is_finite", "a mask of -10000 instead of -inf", "-10000 above the diagonal",
                  {.formula = with_mask(-10000)}),
      changed_fox("mutant/fox_transposed", "SC04 triton-lang/triton#8412: axes", "keys by queries",
                  {.outputs = transpose_decay}),
      changed_fox("mutant/fox_factored_by_blocks", "FW27 pytorch/executorch#21417",
                  "exp(C_i) exp(-C_j) from the start of a block of 32 keys overflows",
                  {.formula = with_entry(factored<0>)}),
      changed_fox("mutant/fox_factored_about_middle", "FW28 NVIDIA/cudnn-frontend#1017",
                  "exp(C_i - C_k) exp(C_k - C_j) about the middle of 32 keys overflows",
                  {.formula = with_entry(factored<16>)}),
  };
  for (auto more : {gate_mutants, gradient_mutants, attention_mutants})
    for (variant& m : more()) all.push_back(std::move(m));
  return all;
}

}  // namespace assay::properties::encodings::fox
