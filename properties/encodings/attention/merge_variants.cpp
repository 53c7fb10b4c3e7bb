// Wrong and right ways to merge parts of attention.
#include <algorithm>

#include "properties/encodings/attention/merge.hpp"
#include "properties/faults/call_changes.hpp"
#include "properties/faults/declared_faults.hpp"
#include "properties/faults/recipe_variant.hpp"
#include "reference/core/special_values.hpp"
#include "reference/encodings/attention.hpp"

namespace assay::properties::encodings::attention {
namespace {

using namespace reference;  // the ways below are written in its vocabulary
inline constexpr auto& merging = make_variant<reference::encodings::attention>;

// Ways from the parts of a query to o, and lse behind it.

template <class N>
using row = std::vector<N>;
template <class N>
struct part {
  row<N> o;
  N lse;
};
/// Those with keys, or all of them.
template <class N>
std::vector<part<N>> parts_in(const attention_parts<N>& all, const merge_rule& rule, bool with_keys = true) {
  std::vector<part<N>> those;
  for (std::size_t i = 0; i < all.count; ++i)
    if (!with_keys || rule.has_keys(all.lses[i]))
      those.push_back({row<N>(all.values + i * all.width, all.values + (i + 1) * all.width), all.lses[i]});
  return those;
}
template <class N>
row<N> result(part<N> of) {
  of.o.push_back(of.lse);
  return of.o;
}
template <class N>
part<N> nothing(const attention_parts<N>& all, const merge_rule& rule) {
  return {row<N>(all.width, N(0.0)), N(rule.of_no_keys())};
}
/// f of each component of some parts.
template <class N, class F>
row<N> each(const part<N>& one, const part<N>& other, F f) {
  row<N> o;
  for (std::size_t c = 0; c < one.o.size(); ++c) o.push_back(f(one.o[c], other.o[c]));
  return o;
}

/// Two parts by the larger lse.
constexpr auto two_by_shift = []<class N>(const part<N>& x, const part<N>& y, const merge_rule& rule) -> part<N> {
  const N shift(std::max(to_double(x.lse), to_double(y.lse)));
  const N of_x = rule.power(x.lse - shift), of_y = rule.power(y.lse - shift), sum = of_x + of_y;
  return {each(x, y, [&](const N& a, const N& b) { return (a * of_x + b * of_y) / sum; }), shift + rule.logarithm(sum)};
};
/// The update of ring attention, in base e.
constexpr auto two_by_sigmoid = []<class N>(const part<N>& x, const part<N>& y, const merge_rule& rule) -> part<N> {
  const N unit = rule.base_two ? log(N(2.0)) : N(1.0), by = (y.lse - x.lse) * unit, share = sigmoid(by);
  return {each(x, y, [&](const N& a, const N& b) { return a - share * (a - b); }), x.lse - log_sigmoid(-by) / unit};
};
/// Before parts far apart were reported: the power of a difference that may be large.
constexpr auto two_by_power = []<class N>(const part<N>& x, const part<N>& y, const merge_rule& rule) -> part<N> {
  const N total = x.lse + rule.logarithm(N(1.0) + rule.power(y.lse - x.lse));
  const N of_x = rule.power(x.lse - total), of_y = rule.power(y.lse - total);
  return {each(x, y, [&](const N& a, const N& b) { return a * of_x + b * of_y; }), total};
};

template <class Two>
auto left_to_right(Two two) {
  return [two]<class N>(const attention_parts<N>& all, const merge_rule& rule) -> row<N> {
    const std::vector<part<N>> those = parts_in(all, rule);
    if (those.empty()) return result(nothing(all, rule));
    part<N> so_far = those.front();
    for (std::size_t k = 1; k < those.size(); ++k) so_far = two(so_far, those[k], rule);
    return result(so_far);
  };
}
constexpr auto by_tree = []<class N>(const attention_parts<N>& all, const merge_rule& rule) -> row<N> {
  std::vector<part<N>> those = parts_in(all, rule);
  if (those.empty()) return result(nothing(all, rule));
  for (; those.size() > 1; those.resize((those.size() + 1) / 2))
    for (std::size_t k = 0; 2 * k < those.size(); ++k)
      those[k] = 2 * k + 1 < those.size() ? two_by_shift(those[2 * k], those[2 * k + 1], rule) : those[2 * k];
  return result(those.front());
};
/// All by one shift: sum_i factor(lse_i - shift) o_i over `norm` of their sum.
template <class N, class Shift, class Norm>
row<N> all_by(const std::vector<part<N>>& those, const merge_rule& rule, part<N> to, Shift shift_of, Norm norm) {
  if (those.empty()) return result(std::move(to));
  double largest = -core::infinity;
  for (const part<N>& x : those) largest = std::max(largest, to_double(x.lse));
  const N shift(shift_of(largest));
  N sum(0.0);
  row<N> weights;
  for (const part<N>& x : those) {
    weights.push_back(rule.power(x.lse - shift));
    sum = sum + weights.back();
  }
  for (std::size_t k = 0; k < those.size(); ++k)
    for (std::size_t c = 0; c < to.o.size(); ++c) to.o[c] = to.o[c] + norm(weights[k], sum) * those[k].o[c];
  to.lse = shift + rule.logarithm(sum);
  return result(std::move(to));
}
constexpr auto the_largest = [](double largest) { return largest; };
constexpr auto quotient = []<class N>(const N& w, const N& sum) { return w / sum; };

/// The lse of all first, then each part by its own less that.
constexpr auto by_final_lse = []<class N>(const attention_parts<N>& all, const merge_rule& rule) -> row<N> {
  const std::vector<part<N>> those = parts_in(all, rule);
  part<N> out = nothing(all, rule);
  if (those.empty()) return result(out);
  out.lse = those.front().lse;
  for (std::size_t k = 1; k < those.size(); ++k) out.lse = two_by_shift(out, those[k], rule).lse;
  for (const part<N>& x : those) {
    const N weight = rule.power(x.lse - out.lse);
    out.o = each(out, x, [&](const N& sum, const N& o) { return sum + weight * o; });
  }
  return result(out);
};
/// In the other base: each lse times its logarithm.
constexpr auto by_other_base = []<class N>(const attention_parts<N>& all, const merge_rule& rule) -> row<N> {
  const N unit = rule.base_two ? log(N(2.0)) : N(1.0) / log(N(2.0));
  std::vector<part<N>> those = parts_in(all, rule);
  for (part<N>& x : those) x.lse = x.lse * unit;
  row<N> o = all_by(those, {!rule.base_two, rule.plus_infinity}, nothing(all, rule), the_largest, quotient);
  if (!those.empty()) o.back() = o.back() / unit;
  return o;
};

// Wrong ones.

constexpr auto without_shift = []<class N>(const attention_parts<N>& all, const merge_rule& rule) -> row<N> {
  return all_by(
      parts_in(all, rule), rule, nothing(all, rule), [](double) { return 0.0; }, quotient);
};
constexpr auto infinity_less_infinity = []<class N>(const attention_parts<N>& all, const merge_rule& rule) -> row<N> {
  return all_by(parts_in(all, rule, false), rule, nothing(all, rule), the_largest, quotient);
};
constexpr auto not_normalised = []<class N>(const attention_parts<N>& all, const merge_rule& rule) -> row<N> {
  return all_by(parts_in(all, rule), rule, nothing(all, rule), the_largest, [](const N& w, const N&) { return w; });
};
constexpr auto averaged = []<class N>(const attention_parts<N>& all, const merge_rule& rule) -> row<N> {
  const N count(static_cast<double>(parts_in(all, rule).size()));
  return all_by(parts_in(all, rule), rule, nothing(all, rule), the_largest,
                [&](const N&, const N&) { return N(1.0) / count; });
};
constexpr auto weights_in_f16 = []<class N>(const attention_parts<N>& all, const merge_rule& rule) -> row<N> {
  return all_by(parts_in(all, rule), rule, nothing(all, rule), the_largest,
                [](const N& w, const N& sum) { return held_in(core::dtype::f16, w / sum); });
};
constexpr auto lse_of_the_last = []<class N>(const attention_parts<N>& all, const merge_rule& rule) -> row<N> {
  row<N> o = merge_by_shift(all, rule);
  for (const part<N>& x : parts_in(all, rule)) o.back() = x.lse;
  return o;
};
constexpr auto constant_weights = []<class N>(const attention_parts<N>& all, const merge_rule& rule) -> row<N> {
  row<N> lses;
  for (std::size_t i = 0; i < all.count; ++i) lses.push_back(N(all.lses[i].number));
  row<N> o = merge_by_shift<N>({all.count, all.width, all.values, lses.data()}, rule);
  o.back() = merge_by_shift(all, rule).back();
  return o;
};
/// Part after part, each against the lse of the first one.
constexpr auto two_without_carry = []<class N>(const part<N>& x, const part<N>& y, const merge_rule& rule) -> part<N> {
  return {two_by_shift(x, y, rule).o, x.lse};
};

constexpr auto by = [](auto way) { return [way](auto& how) { how.merge = way; }; };

}  // namespace

std::vector<variant> merge_mutants() {
  return all_of(
      {reported_faults({
           {"mutant/attention_merge_other_base", "sgl-project/sglang#40903, vllm-project/vllm#28840: base 2 for base e",
            "attention/merge/base/ignored"},
           {"mutant/attention_merge_infinity_taken_literally",
            "merge_attn_states of vllm-project/vllm: +inf of flash-attention 2 stands for no keys",
            "attention/merge/empty/ignored"},
       }),
       {
           merging("mutant/attention_merge_no_shift", "FW14 pytorch/pytorch#1835: overflow", "b^lse without a shift",
                   {.formula = by(without_shift)}),
           merging("mutant/attention_merge_power_of_difference", "zhuzilin/ring-flash-attention#30: overflow",
                   "lse + log(1 + b^(lse_2 - lse)), part after part", {.formula = by(left_to_right(two_by_power))}),
           merging("mutant/attention_merge_empty_is_nan", "flashinfer-ai/flashinfer#4051",
                   "a query without keys is -inf less -inf", {.formula = by(infinity_less_infinity)}),
           merging("mutant/attention_merge_not_normalised", "a factor forgotten in a port",
                   "o is not divided by the sum of the weights", {.formula = by(not_normalised)}),
           merging("mutant/attention_merge_averaged", "a mean over ranks where the log-sum-exp is lost",
                   "all parts weigh the same", {.formula = by(averaged)}),
           merging("mutant/attention_merge_lse_not_updated", "an in-place update that is left out",
                   "lse is that of the last part", {.formula = by(lse_of_the_last)}),
           merging("mutant/attention_merge_lse_not_carried", "SC03 triton-lang/triton#2361: a carry dropped",
                   "each part is weighed against the first one alone",
                   {.formula = by(left_to_right(two_without_carry)), .telling = true}),
           merging("mutant/attention_merge_weights_in_f16", "DT17 HabanaAI/vllm-fork#503",
                   "the weights are kept in f16", {.formula = by(weights_in_f16)}),
           merging("mutant/attention_merge_lse_detached", "GR07 pytorch/pytorch#196705: a path dropped",
                   "lse hands no gradient on", {.inputs = [](request& call) { set_to_zero(call.inputs, "grad_lse"); }}),
           merging("mutant/attention_merge_weights_detached", "GR07 pytorch/pytorch#196705: a path dropped",
                   "the weights of o hand no gradient on", {.gradient = by(constant_weights)}),
       }});
}

std::vector<variant> merge_controls() {
  return {
      merging("control/attention_merge_left_to_right", "merge_state of flashinfer-ai/flashinfer", "two parts at a time",
              {.formula = by(left_to_right(two_by_shift))}),
      merging("control/attention_merge_by_sigmoid", "update_out_and_lse of zhuzilin/ring-flash-attention",
              "o - sigmoid(lse_2 - lse_1) (o - o_2), part after part", {.formula = by(left_to_right(two_by_sigmoid))}),
      merging("control/attention_merge_by_tree", "a reduction over devices", "two parts at a time, in a tree",
              {.formula = by(by_tree)}),
      merging("control/attention_merge_by_final_lse", "flash_attn_fwd_out_correction of NVIDIA/TransformerEngine",
              "the lse of all parts first, then each part times b^(its own less that)", {.formula = by(by_final_lse)}),
      merging("control/attention_merge_other_base", "merge_states of flashinfer-ai/flashinfer",
              "each lse is multiplied with log 2 or log2 e", {.formula = by(by_other_base)}),
  };
}

}  // namespace assay::properties::encodings::attention
