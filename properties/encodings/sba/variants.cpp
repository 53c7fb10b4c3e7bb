// Wrong and right ways to break a stick.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "properties/faults/call_changes.hpp"
#include "properties/faults/declared_faults.hpp"
#include "properties/faults/scheme_variant.hpp"
#include "reference/core/special_values.hpp"
#include "reference/encodings/sba.hpp"

namespace assay::properties::encodings::sba {
namespace {

using namespace reference;  // the ways below are written in its vocabulary
using core::infinity;
using encoding = reference::encodings::sba;
using stick = encoding::stick;
using formula::traced, formula::traced_truth;
inline constexpr auto& changed = make_variant<encoding>;

// Ways from logits to weights and to the remainder.

using way = encoding::broken (*)(const traced& z, const stick& whole);
constexpr std::size_t keys = encoding::keys;

traced softplus_of(const traced& z, const stick& whole) {
  return whole.softplus_by([](const traced& x) { return softplus(x); }, z);
}
traced if_seen(const stick& whole, const traced& x) { return either(whole.seen, x, traced(0.0)); }
traced exp_if_seen(const stick& whole, const traced& x) { return if_seen(whole, exp(x)); }
encoding::broken by_sums(const traced& z, const stick& whole) { return encoding::by_sums({}, z, whole); }
traced_truth is_infinite(const traced& z) { return equal(z, traced(infinity)); }

encoding::broken infinity_less_infinity(const traced& z, const stick& whole) {
  const encoding::sums_of_keys s(sums_from_each_on(softplus_of(z, whole), keys));
  return {exp_if_seen(whole, z - s.from_own), exp(-s.total)};
}
encoding::broken own_softplus_missing(const traced& z, const stick& whole) {
  const encoding::sums_of_keys s(sums_from_each_on(softplus_of(z, whole), keys));
  return {exp_if_seen(whole, z - s.from_next), exp(-s.total)};
}
encoding::broken from_far_end(const traced& z, const stick& whole) {
  encoding::scheme scheme;
  scheme.sums = [](const traced& x) { return cumulative_sum(x, keys); };
  const traced left = by_sums(z, whole).left;
  const traced s = scheme.sums(softplus_of(z, whole));
  return {exp_if_seen(whole, either(is_infinite(z), softplus_of(z, whole) - s, z - s)), left};
}
// Key by key from the nearest one: the part that it breaks off, and the part that it leaves.
template <class Left>
encoding::broken key_by_key(const traced& z, const stick& whole, Left left_by) {
  const std::size_t m = shape_of(z).back();
  const traced one(1.0), share = if_seen(whole, whole.share(z)), leaves = either(whole.seen, left_by(z), one);
  core::shape column = shape_of(z);
  column.back() = 1;
  traced left = broadcast(one, column);
  std::vector<traced> weights;
  for (std::size_t j = m; j-- > 0;) {
    weights.insert(weights.begin(), between(share, keys, j, j + 1) * left);
    left = left * between(leaves, keys, j, j + 1);
  }
  return {weights.empty() ? share : joined(weights, keys), left};
}
encoding::broken one_less_sigmoid(const traced& z, const stick& whole) {
  return key_by_key(z, whole, [&](const traced& x) { return traced(1.0) - whole.share(x); });
}
encoding::broken by_product(const traced& z, const stick& whole) {
  return key_by_key(z, whole, [&](const traced& x) { return whole.left_by(x); });
}
encoding::broken remainder_by_subtraction(const traced& z, const stick& whole) {
  const traced weights = by_sums(z, whole).weights;
  core::shape column = shape_of(z);
  column.back() = 1;
  return {weights, traced(1.0) - reshaped(summed(weights, {static_cast<std::int64_t>(keys)}), column)};
}
encoding::broken softplus_in_bf16(const traced& z, const stick& whole) {
  const encoding::sums_of_keys s(sums_from_each_on(held_in(core::dtype::bf16, softplus_of(z, whole)), keys));
  return {exp_if_seen(whole, z - s.from_own), exp(-s.total)};
}
// Calls each(first, last) for blocks of four keys, the oldest first.
template <class Each>
void each_block(std::size_t m, Each each) {
  for (std::size_t first = 0; first < m; first += 4) each(first, std::min(first + 4, m));
}
traced sums_in_blocks(const traced& x) {
  std::vector<traced> blocks;
  each_block(shape_of(x).back(), [&](std::size_t first, std::size_t last) {
    blocks.push_back(sums_from_each_on(between(x, keys, first, last), keys));
  });
  return blocks.empty() ? x : joined(blocks, keys);
}
// Keys of nearer blocks do not reduce the weights of a block. The remainder of the query is right.
encoding::broken carry_dropped(const traced& z, const stick& whole) {
  encoding::scheme scheme;
  scheme.sums = sums_in_blocks;
  return {encoding::by_sums(scheme, z, whole).weights, by_sums(z, whole).left};
}
// The gradient of a logit sums over nearer keys, whose weights do not depend on it, instead of over farther ones.
encoding::broken gradient_of_nearer_keys(const traced& z, const stick& whole) {
  encoding::scheme scheme;
  scheme.sums = [](const traced& x) { return with_gradient_of(sums_from_each_on(x, keys), cumulative_sum(x, keys)); };
  return encoding::by_sums(scheme, z, whole);
}

// Right ways.

encoding::broken by_log_shares(const traced& z, const stick& whole) {
  const encoding::sums_of_keys s(sums_from_each_on(softplus_of(z, whole), keys));
  return {exp_if_seen(whole, whole.log_share(z) - s.from_next), exp(-s.total)};
}
encoding::broken in_base_two(const traced& z, const stick& whole) {
  const traced unit = log(traced(2.0)), scale = traced(1.0) / unit;
  const encoding::sums_of_keys s(sums_from_each_on(softplus_of(z, whole) * scale, keys));
  const traced exponent = either(is_infinite(z), -s.from_next, z * scale - s.from_own);
  return {exp_if_seen(whole, exponent * unit), exp(-(s.total * unit))};
}
// The weights of a block, times the remainder of nearer blocks.
encoding::broken by_blocks(const traced& z, const stick& whole) {
  const traced terms = softplus_of(z, whole), one(1.0);
  core::shape column = shape_of(z);
  column.back() = 1;
  traced left = broadcast(one, column);
  std::vector<traced> all;
  std::vector<std::pair<std::size_t, std::size_t>> blocks;
  each_block(shape_of(z).back(), [&](std::size_t first, std::size_t last) { blocks.emplace_back(first, last); });
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
    const auto part_of_block = [&](const traced& x) { return between(x, keys, block->first, block->second); };
    const encoding::sums_of_keys s(sums_from_each_on(part_of_block(terms), keys));
    const traced own = part_of_block(z);
    all.insert(all.begin(), exp(either(is_infinite(own), -s.from_next, own - s.from_own)) * left);
    left = left * exp(-s.total);
  }
  return {all.empty() ? z : if_seen(whole, joined(all, keys)), left};
}
// A change of the step in the formula and in its gradient.
auto with_weights(way weights) {
  return [weights](auto& scheme) { scheme.weights = weights; };
}

}  // namespace

std::vector<variant> mutants() {
  return all_of(
      {reported_faults({
           {"mutant/sba_own_key_for_none", "triton-lang/triton#8412: off by one",
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
           changed("mutant/sba_own_softplus_missing", "triton-lang/triton#8412: off by one",
                   "a weight is not reduced by its key's own softplus",
                   {.formula = with_weights(own_softplus_missing), .representative = true}),
           changed("mutant/sba_from_far_end", "a cumulative sum that is not reversed",
                   "the oldest key breaks the stick first", {.formula = with_weights(from_far_end)}),
           changed("mutant/sba_one_less_sigmoid", "meta-pytorch/attention-gym#351",
                   "what a key leaves is 1 - sigmoid(z)", {.formula = with_weights(one_less_sigmoid)}),
           changed("mutant/sba_remainder_by_subtraction", "shawntan/stickbreaking-attention, sb_ref.py",
                   "the remainder is 1 less the sum of the weights",
                   {.formula = with_weights(remainder_by_subtraction)}),
           changed("mutant/sba_softplus_in_bf16", "shawntan/stickbreaking-attention, sb_varlen_fwd.py",
                   "softplus is kept in bf16", {.formula = with_weights(softplus_in_bf16)}),
           changed("mutant/sba_carry_dropped", "triton-lang/triton#2361",
                   "keys of nearer blocks of four break off nothing", {.formula = with_weights(carry_dropped)}),
           changed("mutant/sba_gradient_of_nearer_keys", "pytorch/pytorch#196705: a path dropped",
                   "the gradient of a logit adds up the keys that it leaves nothing to, and not the others",
                   {.gradient = with_weights(gradient_of_nearer_keys)}),
           changed("mutant/sba_remainder_detached", "pytorch/pytorch#196705: a path dropped",
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
  const auto algorithm = [](accuracy_class c) { return [c](auto& scheme) { scheme = encoding::algorithm(c); }; };
  return {
      changed("control/sba_log_shares", "shawntan/stickbreaking-attention, sb_ref.py",
              "log sigmoid(z) and the sums of nearer keys", {.formula = with_weights(by_log_shares)}),
      changed("control/sba_in_base_two", "shawntan/stickbreaking-attention, sb_varlen_fwd.py",
              "exponents in base two, with folded constants", {.formula = with_weights(in_base_two)}),
      changed("control/sba_by_blocks", "blocks of keys", "blocks of four keys share what nearer blocks leave",
              {.formula = with_weights(by_blocks)}),
      changed("control/sba_log_of_sum", "shawntan/stickbreaking-attention, sb_varlen/softplus.py",
              "softplus as log(1 + exp(z)): of class linear", {.formula = algorithm(accuracy_class::linear)}),
      changed("control/sba_product", "a cumulative product", "products of sigmoid(-z): of class linear",
              {.formula = with_weights(by_product)}),
      changed("control/sba_total_less_prefix", "a cumulative sum of all keys",
              "of class cumsum, where logits are finite",
              {.formula = algorithm(accuracy_class::cumsum), .declared = finite}),
      changed("control/sba_usual_stages", "shawntan/stickbreaking-attention, sb_varlen_fwd.py",
              "f16 and bf16: softplus in the dtype, sums and exponentials in f32",
              {.arithmetic = in_usual_stages, .declared = nothing_declared}),
  };
}

}  // namespace assay::properties::encodings::sba
