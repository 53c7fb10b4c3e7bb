// Wrong and right ways to count gates, and to look up the entry for the count.
#include <algorithm>
#include <cmath>

#include "properties/faults/call_changes.hpp"
#include "properties/faults/declared_faults.hpp"
#include "properties/kinds/attention.hpp"
#include "reference/core/special_values.hpp"
#include "reference/encodings/cope.hpp"

namespace assay::properties::encodings::cope {
namespace {

using namespace reference;  // the ways below are written in its vocabulary
using formula::traced, formula::traced_truth;
using encoding = reference::encodings::cope;
inline constexpr auto& changed = make_variant<encoding>;

// Ways from gates to their sums.
constexpr std::size_t keys = encoding::keys;
constexpr auto with_sums = [](auto sums) { return [sums](auto& scheme) { scheme.sums = sums; }; };
traced sums_of(const traced& gates) { return sums_from_each_on(gates, keys); }
traced from_far_end(const traced& gates, const traced_truth&) { return cumulative_sum(gates, keys); }
traced own_gate_missing(const traced& gates, const traced_truth& seen) {
  const core::shape all = shape_of(seen), last{all[0], all[1], all[2], std::min<std::size_t>(all[3], 1)};
  const traced_truth none = broadcast(formula::known_truths({1}, {false}), last);
  const traced_truth next_is_seen = formula::joined({between(seen, keys, last[3], all[3]), none}, keys);
  return sums_of(either(next_is_seen, gates, traced(0.0)));
}
// Applies sums(gates of a block, sum of nearer blocks) to blocks of `width` keys, from the nearest block on.
template <class Sums>
traced block_by_block(const traced& gates, std::size_t width, Sums sums) {
  std::vector<traced> all;
  traced nearer(0.0);
  for (std::size_t last = shape_of(gates)[keys]; last > 0;) {
    const std::size_t first = last - std::min(last, width);
    all.insert(all.begin(), sums(between(gates, keys, first, last), nearer));
    nearer = between(all.front(), keys, 0, 1);
    last = first;
  }
  return all.empty() ? gates : joined(all, keys);
}
traced kept_in_bf16(const traced& gates, const traced_truth&) {
  return block_by_block(
      gates, 1, [](const traced& gate, const traced& nearer) { return gate + held_in(core::dtype::bf16, nearer); });
}
traced by_blocks(const traced& gates, const traced_truth&) {
  return block_by_block(gates, 4, [](const traced& block, const traced& nearer) { return sums_of(block) + nearer; });
}

// Ways to interpolate between two positions, from w and the entries on both sides.
using mean = traced (*)(const traced& w, const traced& lower, const traced& upper);
auto with_mean(mean average) {
  return [average](auto& scheme) {
    scheme.between = [average](const traced& z, const traced& p) {
      const auto last = static_cast<double>(std::max<std::size_t>(shape_of(z).back(), 1) - 1);
      const traced x = clamp(p, 0.0, last), lower = floor(x), upper = -floor(-x);
      return average(x - lower, interpolated(z, lower), interpolated(z, upper));
    };
  };
}
// Interpolation with the position after floor p.
traced with_next_position(const traced& z, const traced& p) {
  const traced lower = floor(p), lower_entry = interpolated(z, lower);
  return lower_entry + (p - lower) * (interpolated(z, lower + traced(1.0)) - lower_entry);
}

void round_up_at_end(core::tensors& outputs, const request& call) {
  if (call.operation->name != "cope/positions") return;
  const auto last = static_cast<double>(setting_of<std::int64_t>(call, "positions") - 1);
  core::tensor& p = outputs.at("p");
  for (double& x : p.values.storage())
    if (x == last && x > 0) x += 2 * core::half_ulp(p.type, x);
}

}  // namespace

std::vector<variant> mutants() {
  return all_of(
      {reported_faults({
           {"mutant/cope_mask_forgotten", "jax-ml/jax#23842: masked later",
            "cope/positions/causal/true_and_false_exchanged"},
           {"mutant/cope_beyond_the_table", "a clamp to the size of the table, not to its last position",
            "cope/positions/positions/one_off"},
           {"mutant/cope_no_limit", "a clamp forgotten in a port", "cope/positions/positions/ignored"},
           {"mutant/cope_other_scale_of_positions",
            "facebookresearch/RAM against the paper's listing: z / sqrt(d), or z",
            "cope/attention/position_scale/one_and_inverse_sqrt_exchanged"},
           {"mutant/cope_table_from_its_end", "positions counted from the first key",
            "cope/attention/table/reversed_along_a_1"},
       }),
       {
           changed("mutant/cope_from_far_end", "a cumulative sum that is not reversed",
                   "gates count from the oldest key", {.formula = with_sums(from_far_end), .representative = true}),
           changed("mutant/cope_out_of_table_by_rounding", "an index that is rounded after its clamp",
                   "at the end of the table positions are one unit too large",
                   {.outputs = round_up_at_end, .representative = true}),
           changed("mutant/cope_own_gate_missing", "triton-lang/triton#8412: off by one",
                   "the gate of the query's own key does not count", {.formula = with_sums(own_gate_missing)}),
           changed("mutant/cope_sums_in_bf16", "half-precision prefix sums", "sums are kept in bf16, and stop at 256",
                   {.formula = with_sums(kept_in_bf16), .representative = true}),
           changed(
               "mutant/cope_nearest_position", "positions that are rounded", "the nearest position stands for all",
               {.inputs =
                    [](request& call) { change_each(call.inputs, "p", [](double p) { return std::nearbyint(p); }); }}),
           changed("mutant/cope_ends_exchanged", "floor and ceil exchanged",
                   "the next position has the weight of the one before",
                   {.formula = with_mean([](const traced& w, const traced& lower, const traced& upper) {
                      return w * lower + (traced(1.0) - w) * upper;
                    }),
                    .representative = true}),
           changed("mutant/cope_bias_scaled", "facebookresearch/RAM without cope_nodiv: a sum that is scaled",
                   "what the table gives is scaled with q . k, whatever position_scale is",
                   {.formula = with_logit([](const traced& product, const traced& b, const traced& scale) {
                      return scale * (product + b);
                    })}),
           changed("mutant/cope_weight_of_other_sign", "a sign exchanged in a port",
                   "the position before has the weight w - 1",
                   {.formula = with_mean([](const traced& w, const traced& lower, const traced& upper) {
                      return w * upper + (w - traced(1.0)) * lower;
                    }),
                    .representative = true}),
           changed(
               "mutant/cope_gates_detached", "pytorch/pytorch#196705: a path dropped", "positions hand no gradient on",
               {.gradient = [](auto& scheme) { scheme.gate = [](const traced& x) { return detach(sigmoid(x)); }; }}),
           changed("mutant/cope_gate_factor_missing", "a gradient written by hand: y for y (1 - y)",
                   "the gradient of a gate lacks its factor 1 - y",
                   {.gradient =
                        [](auto& scheme) {
                          scheme.gate = [](const traced& x) { return with_slope(sigmoid(x), x, sigmoid(x)); };
                        }}),
       }});
}

std::vector<variant> controls() {
  std::vector<variant> all{
      changed("control/cope_total_less_prefix", "a cumulative sum of all gates",
              "of class cumsum, where logits are finite",
              {.formula = [](auto& scheme) { scheme = encoding::algorithm(accuracy_class::cumsum); },
               .declared =
                   [](description& about) {
                     for (const char* operation : {"cope/positions", "cope/positions:vjp"})
                       about.domain[operation] = {{"g", {}}};
                   }}),
      changed("control/cope_by_blocks", "blocks of keys", "sums of four keys, added to those of nearer blocks",
              {.formula = with_sums(by_blocks)}),
      changed("control/cope_from_the_lower", "torch.lerp", "z[floor p] and w of the difference",
              {.formula = with_mean([](const traced& w, const traced& lower, const traced& upper) {
                 return lower + w * (upper - lower);
               })}),
      changed("control/cope_next_position", "floor p + 1 for ceil p", "another slope at integers",
              {.formula = [](auto& scheme) { scheme.between = with_next_position; }}),
      changed("control/cope_in_f64", "all in f64, rounded once", "another precision", {.arithmetic = in_f64}),
  };
  return all_of({std::move(all), controls_of_attention<encoding>("cope")});
}

}  // namespace assay::properties::encodings::cope
