// Wrong and right ways to choose the slopes of linear biases.
#include <algorithm>

#include "properties/encodings/alibi/mutants/mutants.hpp"

namespace assay::properties::encodings::alibi {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary
using namespace reference::encodings;

recipe_change<recipe> with_slope(R (*slope)(const alibi_rule& rule, std::size_t head)) {
  return [slope](recipe& how) { how.slope = slope; };
}
// The right rule for other heads, in another order or under another name.
R right_slope(const alibi_rule& rule, std::size_t head) { return recipe{}.slope(rule, head); }

std::size_t power_of_two_within(std::size_t heads) {
  std::size_t below = 1;
  while (2 * below <= heads) below *= 2;
  return below;
}

// The slopes of a power of two by multiplying with the first one, those of other numbers from these.
R recursive_slope(const alibi_rule& rule, std::size_t head) {
  const std::size_t below = power_of_two_within(rule.heads);
  if (rule.name != "official") return right_slope(rule, head);
  if (head >= below) return recursive_slope({rule.name, rule.alpha_max, 2 * below}, 2 * (head - below));
  const R start = right_slope({rule.name, rule.alpha_max, below}, 0);
  R slope = start;
  for (std::size_t k = 0; k < head; ++k) slope = slope * start;
  return slope;
}

}  // namespace

std::vector<variant> slope_mutants() {
  return {
      changed_alibi("mutant/alibi_exponent_from_head_0", "AL02 paiml/aprender#2143",
                    "the first slope is 1, each other one that of the head before",
                    {.formula = with_slope([](const alibi_rule& rule, std::size_t head) {
                       return head == 0 ? R(1.0) : right_slope(rule, head - 1);
                     }),
                     .telling = true}),
      changed_alibi("mutant/alibi_naive_slopes", "ml-explore/mlx, positional_encoding.py",
                    "2^(-8k/n) where the heads are no power of two, too",
                    {.formula = with_slope([](const alibi_rule& rule, std::size_t head) {
                       return right_slope({"naive", rule.name == "official" ? 8.0 : rule.alpha_max, rule.heads}, head);
                     }),
                     .telling = true}),
      changed_alibi("mutant/alibi_slopes_sorted", "ofirpress/attention_with_linear_biases#17",
                    "the slopes in descending order",
                    {.outputs =
                         [](core::tensors& outputs) {
                           if (!outputs.contains("slopes")) return;
                           auto& slopes = outputs.at("slopes").values.storage();
                           std::sort(slopes.begin(), slopes.end(), std::greater<>());
                         },
                     .telling = true}),
      changed_alibi("mutant/alibi_remainder_not_interleaved", "ofirpress/attention_with_linear_biases#17",
                    "heads beyond a power of two take the next slopes, not every second one",
                    {.formula = with_slope([](const alibi_rule& rule, std::size_t head) {
                       const std::size_t below = power_of_two_within(rule.heads);
                       if (rule.name == "naive" || head < below) return right_slope(rule, head);
                       return right_slope({rule.name, rule.alpha_max, 2 * below}, head - below);
                     })}),
      changed_alibi("mutant/alibi_alpha_max_is_8", "mosaicml/llm-foundry#186", "alpha_max is not read",
                    {.formula = with_slope([](const alibi_rule& rule, std::size_t head) {
                       return right_slope({rule.name, 8.0, rule.heads}, head);
                     })}),
  };
}

std::vector<variant> controls() {
  return {
      changed_alibi("control/alibi_recursive_form", "the official program: powers by multiplication",
                    "the same slopes, one from the other", {.formula = with_slope(recursive_slope)}),
      changed_alibi(
          "control/alibi_concatenated", "CT07 baichuan-inc/Baichuan2#225: every second slope, then the others",
          "the same slopes in the same order",
          {.formula = with_slope([](const alibi_rule& rule, std::size_t head) {
             const bool official = rule.name == "official";
             return right_slope({official ? "mpt" : rule.name, official ? 8.0 : rule.alpha_max, rule.heads}, head);
           })}),
      changed_alibi("control/alibi_by_exponential", "slopes as exp(e log 2)", "the same slopes",
                    {.formula = with_slope([](const alibi_rule& rule, std::size_t head) {
                       return exp(R(alibi_exponent(rule, head).to_double()) * log(R(2.0)));
                     })}),
  };
}

}  // namespace assay::properties::encodings::alibi
