// Right, and computed otherwise.
#include "properties/encodings/attention/mutants/mutants.hpp"
#include "properties/encodings/fox/mutants/mutants.hpp"
#include "reference/core/special_values.hpp"
#include "reference/encodings/alibi.hpp"
#include "reference/encodings/attention.hpp"

namespace assay::properties::encodings::fox {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary
using namespace reference::encodings;

R summed_backwards(const_lane<R> a, std::size_t i, std::size_t j) {
  R sum(0.0);
  for (std::size_t l = i; l > j; --l) sum = sum + a[l];
  return sum;
}

R halved(const_lane<R> a, std::size_t first, std::size_t last) {
  if (last - first < 2) return first == last ? R(0.0) : a[first];
  const std::size_t middle = first + (last - first) / 2;
  return halved(a, first, middle) + halved(a, middle, last);
}
void sum_in_pairs(const_lane<R> a, R* out) {
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j <= i; ++j) out[i * a.size() + j] = halved(a, j + 1, i + 1);
}

void mask_later(const_lane<R> a, R* out) {
  const std::size_t n = a.size();
  segment_sums<R>(a, out);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i + 1; j < n; ++j) out[i * n + j] = -sum_of(a, i + 1, j + 1);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i + 1; j < n; ++j) out[i * n + j] = R(-core::infinity);
}

// What the total holds and the suffix does not is left as rounding, also of the first gate, whose gradient is 0.
void total_less_prefix(const R* grad, lane<R> grad_a) {
  const std::size_t n = grad_a.size();
  std::vector<R> before(n + 1, R(0.0));
  for (std::size_t r = 0; r < n; ++r) {
    R sum = before[r];
    for (std::size_t j = 0; j <= r; ++j) sum = sum + grad[r * n + j];
    for (std::size_t i = r; i < n; ++i) sum = sum - grad[i * n + r];
    before[r + 1] = sum;
  }
  for (std::size_t l = 0; l < n; ++l) grad_a[l] = before[n] - before[l];
}

}  // namespace

std::vector<variant> controls() {
  return {
      changed_fox("control/fox_summed_backwards", "sums from the query back", "the same sums in another order",
                  {.formula = with_entry(summed_backwards),
                   .beside = {right<reference::encodings::attention>, right<reference::encodings::alibi>}}),
      changed_fox("control/fox_summed_in_pairs", "pairwise summation", "the same sums as a tree",
                  {.formula = with_sums{sum_in_pairs, segment_sums_adjoint_by_suffix<R>}}),
      // With their adjoint by suffix sums.
      changed_fox("control/fox_declared_prefix_sums", "prefix sums, where all gates are finite",
                  "differences of prefix sums",
                  {.formula =
                       [](auto& how) {
                         using number = typename std::decay_t<decltype(how)>::number;
                         how = reference::encodings::fox::algorithm<number>(accuracy_class::cumsum);
                       },
                   .declared =
                       [](description& about) {
                         for (const auto& [operation, types] : about.operations)
                           about.domain[operation] = {{operation.starts_with("fox/gated") ? "g" : "log_f", {}}};
                       }}),
      changed_fox("control/fox_masked_later", "CT04 state-spaces/mamba#520: masked later",
                  "D of later keys is formed, and then masked", {.formula = with_sums{mask_later}}),
      changed_fox("control/fox_guarded_exp", "CT10 fla-org/flash-linear-attention#463: a guard",
                  "no exponent above 0 reaches exp, and that of 0 is 1",
                  {.formula = [](auto& how) { how.heads.weights = attention::guarded_softmax; }}),
      changed_fox("control/fox_total_less_prefix", "suffix sums as the total less prefix sums",
                  "of class cumsum: gradients cancel, also that of the first gate",
                  {.formula = with_sums{segment_sums<R>, total_less_prefix}}),
      changed_fox("control/fox_mean_from_output", "FlashAttention, Algorithm 4 (arXiv 2205.14135)",
                  "the mean of the gradient is g . o of the stored output, in f16 and bf16 stage by stage",
                  {.formula = [](auto& how) { how.heads.mean_from_output = true; },
                   .arithmetic = in_usual_stages,
                   .declared = nothing_declared}),
      changed_fox("control/fox_usual_stages", "eager attention with log f in f32",
                  "f16 and bf16: decay, sums and softmax in f32, scores, weights and output in the dtype",
                  {.arithmetic = in_usual_stages, .declared = nothing_declared}),
  };
}

}  // namespace assay::properties::encodings::fox
