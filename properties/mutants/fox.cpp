#include "properties/mutants/fox.hpp"

#include <cmath>
#include <limits>

#include "properties/mutants/recipe_variant.hpp"
#include "reference/algorithms/scans.hpp"
#include "reference/encodings/fox.hpp"

namespace assay::properties {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary
using unchanged_fox = unchanged<fox>;

// The correct recipe with D_ij = entry(a, i, j) for j <= i.
template <class R>
fox::recipe<R> with_entry(R (*entry)(const_lane<R> a, std::size_t i, std::size_t j)) {
  fox::recipe<R> how;
  how.sums = [entry](const_lane<R> a, R* out) {
    for (std::size_t i = 0; i < a.size(); ++i)
      for (std::size_t j = 0; j <= i; ++j) out[i * a.size() + j] = entry(a, i, j);
  };
  return how;
}

// a_first + ... + a_{last - 1}
template <class R>
R sum_of(const_lane<R> a, std::size_t first, std::size_t last) {
  R sum(0.0);
  for (std::size_t l = first; l < last; ++l) sum = sum + a[l];
  return sum;
}

struct decays_from_own_token : unchanged_fox {
  template <class R>
  static fox::recipe<R> recipe() {
    return with_entry<R>([](const_lane<R> a, std::size_t i, std::size_t j) { return sum_of(a, j, i + 1); });
  }
};

struct decay_one_step_late : unchanged_fox {
  template <class R>
  static fox::recipe<R> recipe() {
    return with_entry<R>(
        [](const_lane<R> a, std::size_t i, std::size_t j) { return sum_of(a, j + 1, std::max(i, j + 1)); });
  }
};

struct decay_of_wrong_sign : unchanged_fox {
  template <class R>
  static fox::recipe<R> recipe() {
    return with_entry<R>([](const_lane<R> a, std::size_t i, std::size_t j) { return -sum_of(a, j + 1, i + 1); });
  }
};

// Prefix sums, without saying that log f = -inf has no answer: -inf - (-inf).
struct reset_gives_nan : unchanged_fox {
  template <class R>
  static fox::recipe<R> recipe() {
    fox::recipe<R> how;
    how.sums = segment_sums_by_prefix<R>;
    return how;
  }
};

struct gate_floored : unchanged_fox {
  template <class R>
  static fox::recipe<R> recipe() {
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
  static fox::recipe<R> recipe() {
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

// Outputs changed where `hits` says so.
template <bool (*hits)(std::size_t i, std::size_t j)>
void overwrite_pairs(const request& call, core::tensors& outputs, double x) {
  if (!outputs.contains("D")) return;
  core::tensor& d = outputs.at("D");
  const std::size_t n = d.shape()[3];
  for (std::size_t k = 0; k < d.size(); ++k)
    if (hits(k / n % n, k % n)) d.values.storage()[k] = core::round_to(call.type, x);
}
bool above_diagonal(std::size_t i, std::size_t j) { return j > i; }

struct mask_is_zero : unchanged_fox {
  static void finish(const request& call, core::tensors& outputs) { overwrite_pairs<above_diagonal>(call, outputs, 0); }
};
struct mask_is_finite : unchanged_fox {
  static void finish(const request& call, core::tensors& outputs) {
    overwrite_pairs<above_diagonal>(call, outputs, -10000);
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

// Prefix sums kept in the storage dtype.
struct prefix_in_storage : unchanged_fox {
  static constexpr bool narrow = true;
  static core::dtype arithmetic(core::dtype storage) { return storage; }
  static void declare(description& about) {
    for (const core::dtype t : {core::dtype::f16, core::dtype::bf16}) about.compute[t] = core::dtype::f32;
  }
  template <class R>
  static fox::recipe<R> recipe() {
    return reset_gives_nan::recipe<R>();
  }
};

// The sum of those cotangents for which `counts` says so.
template <class R>
fox::recipe<R> with_adjoint(bool (*counts)(std::size_t i, std::size_t j, std::size_t l)) {
  fox::recipe<R> how;
  how.adjoint = [counts](const R* grad, lane<R> grad_a) {
    const std::size_t n = grad_a.size();
    for (std::size_t l = 0; l < n; ++l) {
      R sum(0.0);
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j)
          if (counts(i, j, l)) sum = sum + grad[i * n + j];
      grad_a[l] = sum;
    }
  };
  return how;
}

struct own_key_in_gradient : unchanged_fox {
  template <class R>
  static fox::recipe<R> recipe() {
    return with_adjoint<R>([](std::size_t i, std::size_t j, std::size_t l) { return i >= l && j <= l; });
  }
};
struct own_query_not_in_gradient : unchanged_fox {
  template <class R>
  static fox::recipe<R> recipe() {
    return with_adjoint<R>([](std::size_t i, std::size_t j, std::size_t l) { return i > l && j < l; });
  }
};
struct masked_pairs_in_gradient : unchanged_fox {
  template <class R>
  static fox::recipe<R> recipe() {
    return with_adjoint<R>(
        [](std::size_t i, std::size_t j, std::size_t l) { return (i >= l && j < l) || (j >= l && i < l); });
  }
};
struct nearest_key_only : unchanged_fox {
  template <class R>
  static fox::recipe<R> recipe() {
    return with_adjoint<R>([](std::size_t i, std::size_t j, std::size_t l) { return i >= l && j + 1 == l; });
  }
};

struct log_of_sigmoid : unchanged_fox {
  template <class R>
  static fox::recipe<R> recipe() {
    fox::recipe<R> how;
    how.gate = [](const R& g) { return log(exp(g)) - log(R(1.0) + exp(g)); };
    return how;
  }
};
struct slope_of_other_side : unchanged_fox {
  template <class R>
  static fox::recipe<R> recipe() {
    fox::recipe<R> how;
    how.gate_slope = [](const R& g) { return sigmoid(g); };
    return how;
  }
};

// Right: sums from the query back to the key.
struct summed_backwards : unchanged_fox {
  template <class R>
  static fox::recipe<R> recipe() {
    return with_entry<R>([](const_lane<R> a, std::size_t i, std::size_t j) {
      R sum(0.0);
      for (std::size_t l = i; l > j; --l) sum = sum + a[l];
      return sum;
    });
  }
};

template <class R>
R halved(const_lane<R> a, std::size_t first, std::size_t last) {
  if (last - first < 2) return first == last ? R(0.0) : a[first];
  const std::size_t middle = first + (last - first) / 2;
  return halved(a, first, middle) + halved(a, middle, last);
}

// Right: pairwise summation.
struct summed_in_pairs : unchanged_fox {
  template <class R>
  static fox::recipe<R> recipe() {
    fox::recipe<R> how =
        with_entry<R>([](const_lane<R> a, std::size_t i, std::size_t j) { return halved(a, j + 1, i + 1); });
    how.adjoint = segment_sums_adjoint_by_suffix<R>;
    return how;
  }
};

// Right where all gates are finite, as it says: prefix sums, and their adjoint by suffix sums.
struct declared_prefix_sums : unchanged_fox {
  template <class R>
  static fox::recipe<R> recipe() {
    return fox::algorithm<R>(accuracy_class::cumsum);
  }
  static void declare(description& about) {
    for (const auto& [operation, types] : about.operations)
      about.domain[operation] = {{operation.starts_with("fox/gated") ? "g" : "log_f", {}}};
  }
};

// Attention whose bias is scaled with q . k.
struct decay_scaled : unchanged_fox {
  template <class R>
  static fox::recipe<R> recipe() {
    fox::recipe<R> how;
    how.heads.logit = [](const R& product, const R& bias, const R& scale) { return scale * (product + bias); };
    return how;
  }
};

struct gate_detached : unchanged_fox {
  static void finish(const request&, core::tensors& outputs) {
    if (!outputs.contains("grad_q")) return;
    core::tensor& grad = outputs.at("grad_log_f");
    grad = core::zeros(grad.type, grad.shape());
  }
};

template <class Variant>
variant make(const char* id, const char* models, const char* what) {
  return make_variant_of<fox, Variant>(id, models, what);
}

}  // namespace

std::vector<variant> fox_mutants() {
  std::vector<variant> all{
      make<decays_from_own_token>("mutant/fox_own_token", "SC04 triton-lang/triton#8412: off by one",
                                  "D_ij decays by the key's own gate too"),
      make<decay_one_step_late>("mutant/fox_one_step_late", "SC04 triton-lang/triton#8412: off by one",
                                "D_ij lacks the gate of the query"),
      make<decay_of_wrong_sign>("mutant/fox_wrong_sign", "meta-pytorch/attention-gym#86",
                                "the bias grows with distance"),
      make<reset_gives_nan>("mutant/fox_reset_gives_nan", "a difference of prefix sums, as published code has it",
                            "log f = -inf makes every later pair NaN"),
      make<gate_floored>("mutant/fox_gate_floored", "a floor on log f, as published code has it",
                         "log f below -100 is -100"),
      make<carry_dropped>("mutant/fox_carry_dropped", "SC03 triton-lang/triton#2361",
                          "decays within blocks of 16 tokens are lost behind the block's end"),
      make<neighbour_gate>("mutant/fox_other_head", "SC04 triton-lang/triton#8412: axes",
                           "heads get one another's gates"),
      make<mask_is_zero>("mutant/fox_mask_is_zero", "GR20 huggingface/transformers#48455", "0 above the diagonal"),
      make<mask_is_finite>("mutant/fox_mask_is_finite", "a mask of -10000 instead of -inf",
                           "-10000 above the diagonal"),
      make<transposed>("mutant/fox_transposed", "SC04 triton-lang/triton#8412: axes", "keys by queries"),
      make<prefix_in_storage>("mutant/fox_prefix_in_storage", "half-precision prefix sums where f32 is declared",
                              "prefix sums are kept in the storage dtype"),
      make<own_key_in_gradient>("mutant/fox_own_key_in_gradient", "SC04 triton-lang/triton#8412: off by one",
                                "the gradient of a gate counts pairs whose key is its token"),
      make<own_query_not_in_gradient>("mutant/fox_own_query_not_in_gradient",
                                      "SC04 triton-lang/triton#8412: off by one",
                                      "the gradient of a gate misses pairs whose query is its token"),
      make<masked_pairs_in_gradient>("mutant/fox_masked_pairs_in_gradient", "GR04 jax-ml/jax#23842",
                                     "cotangents of masked pairs count"),
      make<nearest_key_only>("mutant/fox_nearest_key_only", "GR07 pytorch/pytorch#196705: a prefix term dropped",
                             "the gradient of a gate counts only the nearest key"),
      make<log_of_sigmoid>("mutant/fox_log_of_sigmoid", "FW14 pytorch/pytorch#1835", "the gate overflows"),
      make<decay_scaled>("mutant/fox_decay_scaled", "NVIDIA/TensorRT-Model-Connect#32: a bias scaled with the logits",
                         "attention divides D by sqrt(d) with q . k"),
      make<gate_detached>("mutant/fox_gate_detached", "GR07 pytorch/pytorch#196705: a path dropped",
                          "attention gives its gates no gradient"),
      make<slope_of_other_side>("mutant/fox_slope_of_other_side", "FW14 pytorch/pytorch#1835: the derivative",
                                "the slope of the gate is sigmoid(g)"),
  };
  for (variant& v : all)
    if (v.id == "mutant/fox_prefix_in_storage") v.shown_in = core::dtype::bf16;
  return all;
}

std::vector<variant> fox_controls() {
  return {make<summed_backwards>("control/fox_summed_backwards", "sums from the query back",
                                 "the same sums in another order"),
          make<summed_in_pairs>("control/fox_summed_in_pairs", "pairwise summation", "the same sums as a tree"),
          make<declared_prefix_sums>("control/fox_declared_prefix_sums", "prefix sums, where all gates are finite",
                                     "differences of prefix sums")};
}

}  // namespace assay::properties
