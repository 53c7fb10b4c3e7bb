// What is wrong in the gates, and in the precision of what is made of them.
#include <cmath>

#include "properties/encodings/fox/mutants/mutants.hpp"
#include "reference/core/special_values.hpp"
#include "reference/encodings/attention.hpp"

namespace assay::properties::encodings::fox {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary
using namespace reference::encodings;
using core::dtype;

recipe_change<recipe> with_gate(R (*gate)(const R& g)) {
  return [gate](recipe& how) { how.gate = gate; };
}

// A guard against positive exponents that lets no log f = 0 pass: its exponential is 0.
R open_gate_forgets(const_lane<R> a, std::size_t i, std::size_t j) {
  R sum(0.0);
  for (std::size_t l = j + 1; l <= i; ++l) sum = sum + (a[l].number >= 0.0 ? R(-core::infinity) : a[l]);
  return sum;
}

void sums_in_bf16(const_lane<R> a, R* out) {
  segment_sums<R>(a, out);
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      R& x = out[i * a.size() + j];
      x = R(core::round_to(dtype::bf16, x.number));
    }
}

}  // namespace

std::vector<variant> gate_mutants() {
  return {
      changed_fox("mutant/fox_log_of_sigmoid", "FW14 pytorch/pytorch#1835", "the gate overflows",
                  {.formula = with_gate([](const R& g) { return log(exp(g)) - log(R(1.0) + exp(g)); })}),
      changed_fox("mutant/fox_slope_of_other_side", "FW14 pytorch/pytorch#1835: the derivative",
                  "the slope of the gate is sigmoid(g)",
                  {.gradient =
                       [](gradient_recipe& how) {
                         how.gate = [](const G& g) {
                           return G::made(log_sigmoid(g.number), G::by(g, [&] { return sigmoid(g.number); }));
                         };
                       }}),
      // The exponential is lost beside 1.
      changed_fox(
          "mutant/fox_gate_without_log1p", "FW18 meta-pytorch/attention-gym#351",
          "log f is -log(1 + exp(-g)), 0 for large g",
          {.formula = with_gate([](const R& g) { return g.number > 0.0 ? -log(R(1.0) + exp(-g)) : log_sigmoid(g); }),
           .telling = true}),
      // softplus in f16, whose exponential overflows: what is no number becomes 0, no decay at all.
      changed_fox(
          "mutant/fox_gate_saturates", "FW13 sbryngelson/ANEForge#113",
          "a gate that forgets by more than f16 can say forgets nothing",
          {.formula = with_gate([](const R& g) { return std::exp(-g.number) > 65504.0 ? R(0.0) : log_sigmoid(g); }),
           .telling = true}),
      changed_fox("mutant/fox_open_gate_forgets", "FW24 fla-org/flash-linear-attention#461",
                  "log f = 0 forgets everything",
                  {.formula = with_entry(open_gate_forgets),
                   .beside = {right<reference::encodings::attention>},
                   .telling = true}),
      changed_fox("mutant/fox_prefix_in_storage", "half-precision prefix sums",
                  "prefix sums are kept in the storage dtype",
                  {.formula = with_sums{segment_sums_by_prefix<R>},
                   .arithmetic = in_storage,
                   .declared =
                       [](description& about) {
                         for (const dtype t : {dtype::f16, dtype::bf16}) about.compute[t] = dtype::f32;
                       },
                   .shown_in = dtype::bf16}),
      changed_fox("mutant/fox_decay_in_bf16", "DT17 HabanaAI/vllm-fork#503: biases in bf16", "D has the digits of bf16",
                  {.formula = with_sums{sums_in_bf16}}),
  };
}

}  // namespace assay::properties::encodings::fox
