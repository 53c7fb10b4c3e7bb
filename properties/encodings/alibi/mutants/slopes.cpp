// Wrong and right ways to choose the slopes of linear biases.
#include <algorithm>

#include "properties/encodings/alibi/mutants/mutants.hpp"
#include "properties/encodings/alibi/mutants/recipes.hpp"

namespace assay::properties::encodings::alibi {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary
using namespace reference::encodings;

// The right rule for other heads, in another order or under another name.
template <class R>
R right_slope(const alibi_rule& rule, std::size_t head) {
  return reference::encodings::alibi::recipe<R>{}.slope(rule, head);
}
template <class R>
reference::encodings::alibi::recipe<R> with_slope(R (*slope)(const alibi_rule& rule, std::size_t head)) {
  reference::encodings::alibi::recipe<R> how;
  how.slope = slope;
  return how;
}

struct exponent_from_head_0 : unchanged_alibi {
  template <class R>
  static reference::encodings::alibi::recipe<R> recipe() {
    return with_slope<R>(
        [](const alibi_rule& rule, std::size_t head) { return head == 0 ? R(1.0) : right_slope<R>(rule, head - 1); });
  }
};
struct naive_slopes : unchanged_alibi {
  template <class R>
  static reference::encodings::alibi::recipe<R> recipe() {
    return with_slope<R>([](const alibi_rule& rule, std::size_t head) {
      return right_slope<R>({"naive", rule.name == "official" ? 8.0 : rule.alpha_max, rule.heads}, head);
    });
  }
};
struct slopes_sorted : unchanged_alibi {
  static void finish(const request& call, core::tensors& outputs) {
    if (call.operation->name != "alibi/slopes") return;
    auto& slopes = outputs.at("slopes").values.storage();
    std::sort(slopes.begin(), slopes.end(), std::greater<>());
  }
};
// The remaining heads take the slopes of 2c heads from the first on, not every second one.
struct remainder_not_interleaved : unchanged_alibi {
  template <class R>
  static reference::encodings::alibi::recipe<R> recipe() {
    return with_slope<R>([](const alibi_rule& rule, std::size_t head) {
      std::size_t below = 1;
      while (2 * below <= rule.heads) below *= 2;
      if (rule.name == "naive" || head < below) return right_slope<R>(rule, head);
      return right_slope<R>({rule.name, rule.alpha_max, 2 * below}, head - below);
    });
  }
};
struct alpha_max_is_8 : unchanged_alibi {
  template <class R>
  static reference::encodings::alibi::recipe<R> recipe() {
    return with_slope<R>([](const alibi_rule& rule, std::size_t head) {
      return right_slope<R>({rule.name, 8.0, rule.heads}, head);
    });
  }
};

// Right: the slopes of a power of two by multiplying with the first one, those of other numbers from these.
template <class R>
R recursive_slope(const alibi_rule& rule, std::size_t head) {
  std::size_t below = 1;
  while (2 * below <= rule.heads) below *= 2;
  if (rule.name != "official") return right_slope<R>(rule, head);
  if (head >= below) return recursive_slope<R>({rule.name, rule.alpha_max, 2 * below}, 2 * (head - below));
  const R start = right_slope<R>({rule.name, rule.alpha_max, below}, 0);
  R slope = start;
  for (std::size_t k = 0; k < head; ++k) slope = slope * start;
  return slope;
}
struct recursive_form : unchanged_alibi {
  template <class R>
  static reference::encodings::alibi::recipe<R> recipe() {
    return with_slope<R>(recursive_slope<R>);
  }
};
// Right: the official slopes as those of 2c heads, every second one first.
struct concatenated : unchanged_alibi {
  template <class R>
  static reference::encodings::alibi::recipe<R> recipe() {
    return with_slope<R>([](const alibi_rule& rule, std::size_t head) {
      return right_slope<R>(
          {rule.name == "official" ? "mpt" : rule.name, rule.name == "official" ? 8.0 : rule.alpha_max, rule.heads},
          head);
    });
  }
};
// Right: by way of the exponential function; and the mask added to the bias, as 0 or -inf.
struct by_exponential : unchanged_alibi {
  template <class R>
  static reference::encodings::alibi::recipe<R> recipe() {
    return with_slope<R>([](const alibi_rule& rule, std::size_t head) {
      return exp(R(alibi_exponent(rule, head).to_double()) * log(R(2.0)));
    });
  }
};

}  // namespace

std::vector<variant> slope_mutants() {
  return {
      make_variant<exponent_from_head_0>("mutant/alibi_exponent_from_head_0", "AL02 paiml/aprender#2143",
                                         "the first slope is 1, each other one that of the head before"),
      make_variant<naive_slopes>("mutant/alibi_naive_slopes", "ml-explore/mlx, positional_encoding.py",
                                 "2^(-8k/n) where the heads are no power of two, too"),
      make_variant<slopes_sorted>("mutant/alibi_slopes_sorted", "ofirpress/attention_with_linear_biases#17",
                                  "the slopes in descending order"),
      make_variant<remainder_not_interleaved>("mutant/alibi_remainder_not_interleaved",
                                              "ofirpress/attention_with_linear_biases#17",
                                              "heads beyond a power of two take the next slopes, not every second one"),
      make_variant<alpha_max_is_8>("mutant/alibi_alpha_max_is_8", "mosaicml/llm-foundry#186", "alpha_max is not read")};
}

std::vector<variant> controls() {
  return {make_variant<recursive_form>("control/alibi_recursive_form", "the official program: powers by multiplication",
                                       "the same slopes, one from the other"),
          make_variant<concatenated>("control/alibi_concatenated",
                                     "CT07 baichuan-inc/Baichuan2#225: every second slope, then the others",
                                     "the same slopes in the same order"),
          make_variant<by_exponential>("control/alibi_by_exponential", "slopes as exp(e log 2)", "the same slopes")};
}

}  // namespace assay::properties::encodings::alibi
