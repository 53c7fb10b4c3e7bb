// What is wrong in the sums D, whatever attends with them.
#include "properties/encodings/fox/mutants/mutants.hpp"

#include <algorithm>
#include <cmath>

#include "properties/encodings/fox/mutants/recipes.hpp"
#include "reference/encodings/alibi.hpp"
#include "reference/encodings/attention.hpp"

namespace assay::properties::encodings::fox {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary
using namespace reference::encodings;

struct decays_from_own_token : unchanged_fox {
  template <class R>
  static reference::encodings::fox::recipe<R> recipe() {
    return with_entry<R>([](const_lane<R> a, std::size_t i, std::size_t j) { return sum_of(a, j, i + 1); });
  }
};

struct decay_one_step_late : unchanged_fox {
  template <class R>
  static reference::encodings::fox::recipe<R> recipe() {
    return with_entry<R>(
        [](const_lane<R> a, std::size_t i, std::size_t j) { return sum_of(a, j + 1, std::max(i, j + 1)); });
  }
};

struct decay_of_wrong_sign : unchanged_fox {
  template <class R>
  static reference::encodings::fox::recipe<R> recipe() {
    return with_entry<R>([](const_lane<R> a, std::size_t i, std::size_t j) { return -sum_of(a, j + 1, i + 1); });
  }
};

// Prefix sums, without saying that log f = -inf has no answer: -inf - (-inf).
struct reset_gives_nan : unchanged_fox {
  template <class R>
  static reference::encodings::fox::recipe<R> recipe() {
    reference::encodings::fox::recipe<R> how;
    how.sums = segment_sums_by_prefix<R>;
    return how;
  }
};

struct gate_floored : unchanged_fox {
  template <class R>
  static reference::encodings::fox::recipe<R> recipe() {
    return with_entry<R>([](const_lane<R> a, std::size_t i, std::size_t j) {
      R sum(0.0);
      for (std::size_t l = j + 1; l <= i; ++l) sum = sum + larger(a[l], R(-100.0));
      return sum;
    });
  }
};

// The block of 16 tokens that the key lies in is decayed only to its end.
struct carry_dropped : unchanged_fox {
  template <class R>
  static reference::encodings::fox::recipe<R> recipe() {
    return with_entry<R>([](const_lane<R> a, std::size_t i, std::size_t j) {
      const std::size_t block = i / 16 * 16;
      return j >= block ? sum_of(a, j + 1, i + 1) : sum_of(a, block, i + 1);
    });
  }
};

struct neighbour_gate : unchanged_fox {
  static void edit(request& call) {
    for (const auto& d : call.operation->inputs) {
      const auto axis = core::axis_of(d, "h");
      if (!axis || d.name.starts_with("grad_")) continue;
      core::tensor& t = call.inputs.at(d.name);
      std::vector<std::size_t> order(t.shape()[*axis]);
      for (std::size_t k = 0; k < order.size(); ++k) order[k] = order.size() - 1 - k;
      t = core::take(t, *axis, order);
    }
  }
};

// What stands above the diagonal, in D and in attention.
template <class R>
reference::encodings::fox::recipe<R> with_mask(double above) {
  reference::encodings::fox::recipe<R> how;
  how.sums = [above](const_lane<R> a, R* out) {
    segment_sums<R>(a, out);
    for (std::size_t i = 0; i < a.size(); ++i)
      for (std::size_t j = i + 1; j < a.size(); ++j) out[i * a.size() + j] = R(above);
  };
  return how;
}
struct mask_is_zero : unchanged_fox {
  template <class R>
  static reference::encodings::fox::recipe<R> recipe() {
    return with_mask<R>(0);
  }
};
struct mask_is_finite : unchanged_fox {
  template <class R>
  static reference::encodings::fox::recipe<R> recipe() {
    return with_mask<R>(-10000);
  }
};

struct transposed : unchanged_fox {
  static void finish(const request&, core::tensors& outputs) {
    if (!outputs.contains("D")) return;
    core::tensor& d = outputs.at("D");
    const core::tensor right = d;
    const std::size_t n = d.shape()[3];
    for (std::size_t k = 0; k < d.size(); ++k)
      d.values.storage()[k] = right.values.storage()[k / (n * n) * n * n + k % n * n + k / n % n];
  }
};

// exp(C_i - C_k) exp(C_k - C_j), k an anchor in the block of 32 keys: right while both factors are numbers.
template <class R, std::size_t anchor>
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
struct factored_by_blocks : unchanged_fox {
  template <class R>
  static reference::encodings::fox::recipe<R> recipe() {
    return with_entry<R>(factored<R, 0>);
  }
};
struct factored_about_middle : unchanged_fox {
  template <class R>
  static reference::encodings::fox::recipe<R> recipe() {
    return with_entry<R>(factored<R, 16>);
  }
};

}  // namespace

std::vector<variant> mutants() {
  std::vector<variant> all{
      make_variant_beside<decays_from_own_token, reference::encodings::alibi>(
          "mutant/fox_own_token", "SC04 triton-lang/triton#8412: off by one", "D_ij decays by the key's own gate too"),
      make_variant<decay_one_step_late>("mutant/fox_one_step_late", "SC04 triton-lang/triton#8412: off by one",
                                        "D_ij lacks the gate of the query"),
      make_variant<decay_of_wrong_sign>("mutant/fox_wrong_sign", "meta-pytorch/attention-gym#86",
                                        "the bias grows with distance"),
      make_variant<reset_gives_nan>("mutant/fox_reset_gives_nan",
                                    "a difference of prefix sums, as published code has it",
                                    "log f = -inf makes every later pair NaN"),
      make_variant<gate_floored>("mutant/fox_gate_floored", "a floor on log f, as published code has it",
                                 "log f below -100 is -100"),
      make_variant<carry_dropped>("mutant/fox_carry_dropped", "SC03 triton-lang/triton#2361",
                                  "decays within blocks of 16 tokens are lost behind the block's end"),
      make_variant<neighbour_gate>("mutant/fox_other_head", "SC04 triton-lang/triton#8412: axes",
                                   "heads get one another's gates"),
      make_variant_beside<mask_is_zero, reference::encodings::attention>(
          "mutant/fox_mask_is_zero", "SC13 pytorch/pytorch#139641: masked places enter with 0 instead of -inf",
          "0 above the diagonal"),
      make_variant<mask_is_finite>("mutant/fox_mask_is_finite", "a mask of -10000 instead of -inf",
                                   "-10000 above the diagonal"),
      make_variant<transposed>("mutant/fox_transposed", "SC04 triton-lang/triton#8412: axes", "keys by queries"),
      make_variant<factored_by_blocks>("mutant/fox_factored_by_blocks", "FW27 pytorch/executorch#21417",
                                       "exp(C_i) exp(-C_j) from the start of a block of 32 keys overflows"),
      make_variant<factored_about_middle>("mutant/fox_factored_about_middle", "FW28 NVIDIA/cudnn-frontend#1017",
                                          "exp(C_i - C_k) exp(C_k - C_j) about the middle of 32 keys overflows"),
  };
  for (auto more : {gate_mutants, gradient_mutants, attention_mutants})
    for (variant& m : more()) all.push_back(std::move(m));
  return all;
}

}  // namespace assay::properties::encodings::fox
