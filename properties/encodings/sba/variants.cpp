// Wrong and right ways to break a stick.
#include <algorithm>
#include <cmath>

#include "properties/faults/call_changes.hpp"
#include "properties/faults/declared_faults.hpp"
#include "properties/faults/recipe_variant.hpp"
#include "reference/core/special_values.hpp"
#include "reference/encodings/sba.hpp"

namespace assay::properties::encodings::sba {
namespace {

using namespace reference;  // the ways below are written in its vocabulary
using core::infinity;
using encoding = reference::encodings::sba;
inline constexpr auto& changed = make_variant<encoding>;

// Ways from the logits of a row to its weights and the remainder, of a number and of one on a tape.

template <class N>
using row = std::vector<N>;
template <class N>
row<N> softplus_of(const row<N>& z, const stick_rule<N>& rule) {
  row<N> terms;
  for (const N& x : z) terms.push_back(rule.softplus_of(x));
  return terms;
}
// exp(f(j)) for every key, and exp(-sum) behind them.
template <class N, class F>
row<N> exponentials(std::size_t keys, const N& sum, F f) {
  row<N> all;
  for (std::size_t j = 0; j < keys; ++j) all.push_back(exp(f(j)));
  all.push_back(exp(-sum));
  return all;
}
template <class N>
N first_or_zero(const row<N>& s) {
  return s.empty() ? N(0.0) : s.front();
}

constexpr auto infinity_less_infinity = []<class N>(const row<N>& z, const stick_rule<N>& rule) -> row<N> {
  const row<N> s = suffix_sums(softplus_of(z, rule));
  return exponentials(z.size(), first_or_zero(s), [&](std::size_t j) { return z[j] - s[j]; });
};
constexpr auto own_softplus_missing = []<class N>(const row<N>& z, const stick_rule<N>& rule) -> row<N> {
  const row<N> s = suffix_sums(softplus_of(z, rule));
  return exponentials(z.size(), first_or_zero(s),
                      [&](std::size_t j) { return j + 1 < z.size() ? z[j] - s[j + 1] : z[j]; });
};
constexpr auto from_far_end = []<class N>(const row<N>& z, const stick_rule<N>& rule) -> row<N> {
  row<N> weights = stick_by_sums(row<N>(z.rbegin(), z.rend()), rule);
  std::reverse(weights.begin(), weights.end() - 1);
  return weights;
};
constexpr auto one_less_sigmoid = []<class N>(const row<N>& z, const stick_rule<N>& rule) -> row<N> {
  row<N> weights(z.size() + 1, N(1.0));
  for (std::size_t j = z.size(); j-- > 0;) {
    const N share = rule.share(z[j]);
    weights[j] = share * weights.back();
    weights.back() = weights.back() * (N(1.0) - share);
  }
  return weights;
};
constexpr auto remainder_by_subtraction = []<class N>(const row<N>& z, const stick_rule<N>& rule) -> row<N> {
  row<N> weights = stick_by_sums(z, rule);
  weights.back() = N(1.0);
  for (std::size_t j = 0; j < z.size(); ++j) weights.back() = weights.back() - weights[j];
  return weights;
};
constexpr auto softplus_in_bf16 = []<class N>(const row<N>& z, const stick_rule<N>& rule) -> row<N> {
  row<N> terms;
  for (const N& x : softplus_of(z, rule)) terms.push_back(held_in(core::dtype::bf16, x));
  const row<N> s = suffix_sums(terms);
  return exponentials(z.size(), first_or_zero(s), [&](std::size_t j) { return z[j] - s[j]; });
};
// The keys of another block of four have no share in what is left.
constexpr auto carry_dropped = []<class N>(const row<N>& z, const stick_rule<N>& rule) -> row<N> {
  row<N> all;
  for (std::size_t first = 0; first < z.size(); first += 4) {
    const row<N> block = stick_by_sums(row<N>(&z[first], &z[0] + std::min(first + 4, z.size())), rule);
    all.insert(all.end(), block.begin(), block.end() - 1);
  }
  all.push_back(stick_by_sums(z, rule).back());
  return all;
};
// Backward sums the keys before a key and not those behind it.
constexpr auto gradient_of_nearer_keys = []<class N>(const row<N>& z, const stick_rule<N>& rule) -> row<N> {
  using number = typename N::underlying;
  const auto sums = [](const row<N>& x) {
    return taped_sums<number>(x, suffix_sums<number>, [](const row<number>& g) { return suffix_sums(g); });
  };
  const row<N> s = sums(softplus_of(z, rule));
  return exponentials(z.size(), first_or_zero(s), [&](std::size_t j) { return z[j] - s[j]; });
};

// Right ones.

constexpr auto by_log_shares = []<class N>(const row<N>& z, const stick_rule<N>& rule) -> row<N> {
  const row<N> s = suffix_sums(softplus_of(z, rule));
  return exponentials(z.size(), first_or_zero(s), [&](std::size_t j) {
    return j + 1 < z.size() ? rule.log_share(z[j]) - s[j + 1] : rule.log_share(z[j]);
  });
};
constexpr auto in_base_two = []<class N>(const row<N>& z, const stick_rule<N>& rule) -> row<N> {
  const N unit = log(N(2.0)), scale = N(1.0) / unit;
  row<N> terms;
  for (const N& x : softplus_of(z, rule)) terms.push_back(x * scale);
  const row<N> s = suffix_sums(terms);
  return exponentials(z.size(), first_or_zero(s) * unit, [&](std::size_t j) {
    return to_double(z[j]) == infinity ? (j + 1 < z.size() ? -(s[j + 1] * unit) : N(0.0))
                                       : (z[j] * scale - s[j]) * unit;
  });
};
// The weights of a block of four keys, times what nearer blocks have left.
constexpr auto by_blocks = []<class N>(const row<N>& z, const stick_rule<N>& rule) -> row<N> {
  row<N> all(z.size() + 1, N(1.0));
  for (std::size_t last = z.size(); last > 0;) {
    const std::size_t first = last - std::min<std::size_t>(last, 4);
    const row<N> block = stick_by_sums(row<N>(&z[first], &z[0] + last), rule);
    for (std::size_t j = first; j < last; ++j) all[j] = block[j - first] * all.back();
    all.back() = all.back() * block.back();
    last = first;
  }
  return all;
};
constexpr auto by_log_of_sum = []<class N>(const row<N>& z, const stick_rule<N>& rule) -> row<N> {
  row<N> terms;
  for (const N& x : z) terms.push_back(to_double(x) < 9 ? log(N(1.0) + exp(x)) : rule.softplus_of(x));
  const row<N> s = suffix_sums(terms);
  return exponentials(z.size(), first_or_zero(s), [&](std::size_t j) {
    return to_double(z[j]) == infinity ? (j + 1 < z.size() ? -s[j + 1] : N(0.0)) : z[j] - s[j];
  });
};

// As a step of the formula and of its gradient.
constexpr auto with_weights = [](auto of) { return [of](auto& how) { how.weights = of; }; };

}  // namespace

std::vector<variant> mutants() {
  return all_of(
      {reported_faults({
           {"mutant/sba_own_key_for_none", "SC04 triton-lang/triton#8412: off by one",
            "sba/weights/attend_current/false_and_true_exchanged"},
           {"mutant/sba_threshold_in_other_units", "shawntan/stickbreaking-attention, sb_varlen/softplus.py",
            "sba/weights/softplus/always_base2"},
           {"mutant/sba_remainder_dropped", "shawntan/stickbreaking-attention, tests/test_attn.py: the caller adds it",
            "sba/attention/remainder/ignored"},
           {"mutant/sba_no_scale", "a factor forgotten in a port", "sba/attention/scale/always_one"},
       }),
       {
           changed("mutant/sba_infinite_logit_is_nan", "sb_ref.py and kernels of shawntan/stickbreaking-attention",
                   "z - softplus(z) is infinity less infinity", {.formula = with_weights(infinity_less_infinity)}),
           changed("mutant/sba_own_softplus_missing", "SC04 triton-lang/triton#8412: off by one",
                   "a weight is not reduced by its key's own softplus",
                   {.formula = with_weights(own_softplus_missing), .telling = true}),
           changed("mutant/sba_from_far_end", "a cumulative sum that is not reversed",
                   "the oldest key breaks the stick first", {.formula = with_weights(from_far_end)}),
           changed("mutant/sba_one_less_sigmoid", "FW18 meta-pytorch/attention-gym#351",
                   "what a key leaves is 1 - sigmoid(z)", {.formula = with_weights(one_less_sigmoid)}),
           changed("mutant/sba_remainder_by_subtraction", "shawntan/stickbreaking-attention, sb_ref.py",
                   "the remainder is 1 less the sum of the weights",
                   {.formula = with_weights(remainder_by_subtraction)}),
           changed("mutant/sba_softplus_in_bf16", "shawntan/stickbreaking-attention, sb_varlen_fwd.py",
                   "softplus is kept in bf16", {.formula = with_weights(softplus_in_bf16)}),
           changed("mutant/sba_carry_dropped", "SC03 triton-lang/triton#2361",
                   "keys of nearer blocks of four break off nothing", {.formula = with_weights(carry_dropped)}),
           changed("mutant/sba_gradient_of_nearer_keys", "GR07 pytorch/pytorch#196705: a path dropped",
                   "the gradient of a logit adds up the keys that it leaves nothing to, and not the others",
                   {.gradient = with_weights(gradient_of_nearer_keys)}),
           changed("mutant/sba_remainder_detached", "GR07 pytorch/pytorch#196705: a path dropped",
                   "the remainder hands no gradient on",
                   {.inputs = [](request& call) { set_to_zero(call.inputs, "grad_r"); }}),
           changed("mutant/sba_gradient_is_nan", "shawntan/stickbreaking-attention#5",
                   "the gradient of a logit of -inf is 0 times infinity",
                   {.outputs =
                        [](core::tensors& outputs, const request& call) {
                          if (!outputs.contains("grad_z")) return;
                          const auto& z = call.inputs.at("z").values.storage();
                          auto& grad = outputs.at("grad_z").values.storage();
                          for (std::size_t k = 0; k < z.size(); ++k)
                            if (z[k] == -infinity) grad[k] = std::nan("");
                        }}),
       }});
}

std::vector<variant> controls() {
  const auto finite = [](description& about) {
    for (const char* operation : {"sba/weights", "sba/weights:vjp"}) about.domain[operation] = {{"z", {}}};
  };
  const auto algorithm = [](accuracy_class c) {
    return [c](auto& how) { how = encoding::algorithm<typename std::decay_t<decltype(how)>::number>(c); };
  };
  return {
      changed("control/sba_log_shares", "shawntan/stickbreaking-attention, sb_ref.py",
              "log sigmoid(z) and the sums of nearer keys", {.formula = with_weights(by_log_shares)}),
      changed("control/sba_in_base_two", "shawntan/stickbreaking-attention, sb_varlen_fwd.py",
              "exponents in base two, with folded constants", {.formula = with_weights(in_base_two)}),
      changed("control/sba_by_blocks", "blocks of keys", "blocks of four keys share what nearer blocks leave",
              {.formula = with_weights(by_blocks)}),
      changed("control/sba_log_of_sum", "shawntan/stickbreaking-attention, sb_varlen/softplus.py",
              "softplus as log(1 + exp(z)): of class linear", {.formula = with_weights(by_log_of_sum)}),
      changed("control/sba_product", "a cumulative product", "products of sigmoid(-z): of class linear",
              {.formula = algorithm(accuracy_class::linear)}),
      changed("control/sba_total_less_prefix", "a cumulative sum of all keys",
              "of class cumsum, where logits are finite",
              {.formula = algorithm(accuracy_class::cumsum), .declared = finite}),
      changed("control/sba_usual_stages", "shawntan/stickbreaking-attention, sb_varlen_fwd.py",
              "f16 and bf16: softplus in the dtype, sums and exponentials in f32",
              {.arithmetic = in_usual_stages, .declared = nothing_declared}),
  };
}

}  // namespace assay::properties::encodings::sba
