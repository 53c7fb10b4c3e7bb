// Wrong and right ways to merge parts of attention.
#include "properties/encodings/attention/merge.hpp"
#include "properties/faults/call_changes.hpp"
#include "properties/faults/declared_faults.hpp"
#include "properties/faults/scheme_variant.hpp"
#include "properties/kinds/attention.hpp"
#include "reference/core/special_values.hpp"
#include "reference/encodings/attention.hpp"

namespace assay::properties::encodings::attention {
namespace {

using namespace reference;  // the ways below are written in its vocabulary
inline constexpr auto& merging = make_variant<reference::encodings::attention>;

using formula::traced, formula::traced_truth;

// One part for all queries: o [B, h, n, e], lse [B, h, n, 1].
using part = merged_parts;
using two_parts = part (*)(const part& x, const part& y, const merge_rule& rule);

std::vector<part> parts_in(const attention_parts& all) {
  const core::shape s = shape_of(all.values);
  std::vector<part> parts;
  for (std::size_t i = 0; i < s[3]; ++i)
    parts.push_back(
        {reshaped(between(all.values, 3, i, i + 1), {s[0], s[1], s[2], s[4]}), between(all.lses, 3, i, i + 1)});
  return parts;
}
part nothing(const merge_rule& rule) { return {traced(0.0), rule.lse_of_no_keys()}; }
part chosen(const traced_truth& first, const part& x, const part& y) {
  return {either(first, x.o, y.o), either(first, x.lse, y.lse)};
}
/// Merges two parts of a query that have keys; if one part has no keys, the result is the other.
part merged(two_parts two, const part& x, const part& y, const merge_rule& rule) {
  const traced_truth has_x = rule.has_keys(x.lse), has_y = rule.has_keys(y.lse), both = has_x && has_y;
  const auto or_zero = [&](const traced& z) { return either(both, z, traced(0.0)); };
  const part joint = two({x.o, or_zero(x.lse)}, {y.o, or_zero(y.lse)}, rule);
  return chosen(has_y, chosen(has_x, joint, y), x);
}
merged_parts result(const part& merged_part, const attention_parts& all) {
  const core::shape s = shape_of(all.lses);
  return {merged_part.o, reshaped(broadcast(merged_part.lse, {s[0], s[1], s[2], 1}), {s[0], s[1], s[2]})};
}

/// Merges two parts with the larger lse as shift.
part two_by_shift(const part& x, const part& y, const merge_rule& rule) {
  const traced shift = detach(larger(x.lse, y.lse)), x_power = rule.power(x.lse - shift),
               y_power = rule.power(y.lse - shift), sum = x_power + y_power;
  return {(x.o * x_power + y.o * y_power) / sum, shift + rule.logarithm(sum)};
}
/// The update of ring attention, in base e.
part two_by_sigmoid(const part& x, const part& y, const merge_rule& rule) {
  const traced unit = rule.base_two ? log(traced(2.0)) : traced(1.0), by = (y.lse - x.lse) * unit;
  return {x.o - sigmoid(by) * (x.o - y.o), x.lse - log_sigmoid(-by) / unit};
}
/// The form used before problems with parts far apart were reported: it takes the power of a difference that may be
/// large.
part two_by_power(const part& x, const part& y, const merge_rule& rule) {
  const traced total = x.lse + rule.logarithm(traced(1.0) + rule.power(y.lse - x.lse));
  return {x.o * rule.power(x.lse - total) + y.o * rule.power(y.lse - total), total};
}

auto left_to_right(two_parts two) {
  return [two](const attention_parts& all, const merge_rule& rule) {
    part so_far = nothing(rule);
    for (const part& x : parts_in(all)) so_far = merged(two, so_far, x, rule);
    return result(so_far, all);
  };
}
merged_parts by_tree(const attention_parts& all, const merge_rule& rule) {
  std::vector<part> parts = parts_in(all);
  if (parts.empty()) return result(nothing(rule), all);
  for (; parts.size() > 1; parts.resize((parts.size() + 1) / 2))
    for (std::size_t k = 0; 2 * k < parts.size(); ++k)
      parts[k] = 2 * k + 1 < parts.size() ? merged(two_by_shift, parts[2 * k], parts[2 * k + 1], rule) : parts[2 * k];
  return result(chosen(rule.has_keys(parts.front().lse), parts.front(), nothing(rule)), all);
}
/// All parts at once: sum_i w_i o_i; `norm` makes w_i from b^(lse_i - shift), their sum and the number of parts. The
/// shift is the largest lse, or 0. Parts without keys have no weight if `with_keys` is set.
using part_norm = traced (*)(const traced& weight, const traced& sum, const traced& count);
merged_parts all_by(const attention_parts& all, const merge_rule& rule, bool has_shift, part_norm norm,
                    bool with_keys = true) {
  if (shape_of(all.lses)[3] == 0) return result(nothing(rule), all);
  const traced zero(0.0), one(1.0);
  const traced_truth has_keys = rule.has_keys(all.lses), counts = with_keys ? has_keys : has_keys || !has_keys;
  const traced masked = either(counts, all.lses, traced(-core::infinity)),
               shift = has_shift ? weights::largest_of_rows(masked) : zero;
  const traced powers = either(counts, rule.power(all.lses - shift), zero), sum = weights::sum_of_rows(powers);
  const traced count = weights::sum_of_rows(either(counts, broadcast(one, shape_of(all.lses)), zero));
  const traced shares = either(counts, norm(powers, sum, count), zero);
  const part made{contracted_where(counts, shares, all.values, "bhnp,bhnpe->bhne"), shift + rule.logarithm(sum)};
  return result(chosen(less(zero, count), made, nothing(rule)), all);
}
traced quotient(const traced& w, const traced& sum, const traced&) { return w / sum; }

/// First the lse of all parts, then each part weighted by its own lse minus that.
merged_parts by_final_lse(const attention_parts& all, const merge_rule& rule) {
  part out = nothing(rule);
  const std::vector<part> parts = parts_in(all);
  for (const part& x : parts) out.lse = merged(two_by_shift, out, x, rule).lse;
  for (const part& x : parts) {
    const traced_truth has_keys = rule.has_keys(x.lse);
    const traced share = rule.power(either(has_keys, x.lse - out.lse, traced(0.0)));
    out.o = either(has_keys, out.o + share * x.o, out.o);
  }
  return result(out, all);
}
/// In the other base: each lse is multiplied by the logarithm of the base.
merged_parts by_other_base(const attention_parts& all, const merge_rule& rule) {
  const traced unit = rule.base_two ? log(traced(2.0)) : traced(1.0) / log(traced(2.0));
  merged_parts made = all_by({all.values, all.lses * unit}, {!rule.base_two, rule.plus_infinity}, true, quotient);
  return {made.o, made.lse / unit};
}

// Wrong ways.

merged_parts without_shift(const attention_parts& all, const merge_rule& rule) {
  return all_by(all, rule, false, quotient);
}
merged_parts infinity_less_infinity(const attention_parts& all, const merge_rule& rule) {
  return all_by(all, rule, true, quotient, false);
}
merged_parts not_normalised(const attention_parts& all, const merge_rule& rule) {
  return all_by(all, rule, true, [](const traced& w, const traced&, const traced&) { return w; });
}
merged_parts averaged(const attention_parts& all, const merge_rule& rule) {
  return all_by(all, rule, true, [](const traced& w, const traced&, const traced& count) {
    return broadcast(traced(1.0), shape_of(w)) / count;
  });
}
merged_parts weights_in_f16(const attention_parts& all, const merge_rule& rule) {
  return all_by(all, rule, true,
                [](const traced& w, const traced& sum, const traced&) { return held_in(core::dtype::f16, w / sum); });
}
merged_parts lse_of_the_last(const attention_parts& all, const merge_rule& rule) {
  merged_parts made = all_by(all, rule, true, quotient);
  part last = nothing(rule);
  for (const part& x : parts_in(all)) last = chosen(rule.has_keys(x.lse), x, last);
  return {made.o, result({made.o, last.lse}, all).lse};
}
merged_parts constant_weights(const attention_parts& all, const merge_rule& rule) {
  return {all_by({all.values, detach(all.lses)}, rule, true, quotient).o, all_by(all, rule, true, quotient).lse};
}
/// Merges part after part, each with the lse of the first part.
part two_without_carry(const part& x, const part& y, const merge_rule& rule) {
  return {two_by_shift(x, y, rule).o, x.lse};
}

const auto by = [](auto way) { return [way](auto& scheme) { scheme.merge = way; }; };

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
           merging("mutant/attention_merge_no_shift", "pytorch/pytorch#1835: overflow", "b^lse without a shift",
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
           merging("mutant/attention_merge_lse_not_carried", "triton-lang/triton#2361: a carry dropped",
                   "each part is weighed against the first one alone",
                   {.formula = by(left_to_right(two_without_carry)), .representative = true}),
           merging("mutant/attention_merge_weights_in_f16", "HabanaAI/vllm-fork#503", "the weights are kept in f16",
                   {.formula = by(weights_in_f16)}),
           merging("mutant/attention_merge_lse_detached", "pytorch/pytorch#196705: a path dropped",
                   "lse hands no gradient on", {.inputs = [](request& call) { set_to_zero(call.inputs, "grad_lse"); }}),
           merging("mutant/attention_merge_weights_detached", "pytorch/pytorch#196705: a path dropped",
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
