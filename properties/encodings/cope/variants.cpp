// Wrong and right ways to count gates, and to look their number up.
#include <algorithm>
#include <cmath>

#include "properties/faults/call_changes.hpp"
#include "properties/faults/declared_faults.hpp"
#include "properties/kinds/attention.hpp"
#include "reference/core/special_values.hpp"
#include "reference/encodings/cope.hpp"

namespace assay::properties::encodings::cope {
namespace {

using encoding = reference::encodings::cope;
inline constexpr auto& changed = make_variant<encoding>;

// Ways from gates to their sums, of numbers and of those on a tape.
template <class N>
using row = std::vector<N>;
constexpr auto with_mean = [](auto of) { return [of](auto& how) { how.between = of; }; };
constexpr auto with_sums = [](auto of) { return [of](auto& how) { how.sums = of; }; };
constexpr auto from_far_end = []<class N>(const row<N>& gates) -> row<N> {
  row<N> s = reference::suffix_sums(row<N>(gates.rbegin(), gates.rend()));
  std::reverse(s.begin(), s.end());
  return s;
};
constexpr auto own_gate_missing = []<class N>(row<N> gates) -> row<N> {
  if (!gates.empty()) gates.back() = N(0.0);
  return reference::suffix_sums(gates);
};
constexpr auto kept_in_bf16 = []<class N>(row<N> s) -> row<N> {
  for (std::size_t j = s.size(); j-- > 1;) s[j - 1] = held_in(core::dtype::bf16, s[j - 1] + s[j]);
  return s;
};
// Blocks of four keys, whose sums are added to that of nearer blocks.
constexpr auto by_blocks = []<class N>(const row<N>& gates) -> row<N> {
  row<N> s(gates.size());
  N nearer(0.0);
  for (std::size_t last = gates.size(); last > 0;) {
    const std::size_t first = last - std::min<std::size_t>(last, 4);
    const row<N> block = reference::suffix_sums(row<N>(&gates[first], &gates[0] + last));
    for (std::size_t j = first; j < last; ++j) s[j] = block[j - first] + nearer;
    nearer = s[first];
    last = first;
  }
  return s;
};

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
           {"mutant/cope_mask_forgotten", "GR04 jax-ml/jax#23842: masked later",
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
                   "gates count from the oldest key", {.formula = with_sums(from_far_end), .telling = true}),
           changed("mutant/cope_out_of_table_by_rounding", "an index that is rounded after its clamp",
                   "at the end of the table positions are one unit too large",
                   {.outputs = round_up_at_end, .telling = true}),
           changed("mutant/cope_own_gate_missing", "SC04 triton-lang/triton#8412: off by one",
                   "the gate of the query's own key does not count", {.formula = with_sums(own_gate_missing)}),
           changed("mutant/cope_sums_in_bf16", "half-precision prefix sums", "sums are kept in bf16, and stop at 256",
                   {.formula = with_sums(kept_in_bf16), .telling = true}),
           changed(
               "mutant/cope_nearest_position", "positions that are rounded", "the nearest position stands for all",
               {.inputs =
                    [](request& call) { change_each(call.inputs, "p", [](double p) { return std::nearbyint(p); }); }}),
           changed("mutant/cope_ends_exchanged", "floor and ceil exchanged",
                   "the next position has the weight of the one before",
                   {.formula = with_mean([](const auto& w, const auto& lower, const auto& upper) {
                      using number = std::decay_t<decltype(w)>;
                      return w * lower + (number(1.0) - w) * upper;
                    }),
                    .telling = true}),
           changed("mutant/cope_bias_scaled", "facebookresearch/RAM without cope_nodiv: a sum that is scaled",
                   "what the table gives is scaled with q . k, whatever position_scale is",
                   {.formula = with_logit([](const reference::rounded& product, const reference::rounded& b,
                                             const reference::rounded& scale) { return scale * (product + b); })}),
           changed("mutant/cope_weight_of_other_sign", "a sign exchanged in a port",
                   "the position before has the weight w - 1",
                   {.formula = with_mean([](const auto& w, const auto& lower, const auto& upper) {
                      using number = std::decay_t<decltype(w)>;
                      return w * upper + (w - number(1.0)) * lower;
                    }),
                    .telling = true}),
           changed("mutant/cope_gates_detached", "GR07 pytorch/pytorch#196705: a path dropped",
                   "positions hand no gradient on",
                   {.gradient =
                        [](auto& how) {
                          how.gate = [](const auto& x) { return std::decay_t<decltype(x)>(sigmoid(x.number)); };
                        }}),
           changed("mutant/cope_gate_factor_missing", "a gradient written by hand: y for y (1 - y)",
                   "the gradient of a gate lacks its factor 1 - y",
                   {.gradient =
                        [](auto& how) {
                          how.gate = [](const auto& x) {
                            using number = std::decay_t<decltype(x)>;
                            const auto y = sigmoid(x.number);
                            return number::made(y, number::by(x, [&] { return y; }));
                          };
                        }}),
       }});
}

std::vector<variant> controls() {
  std::vector<variant> all{
      changed("control/cope_total_less_prefix", "a cumulative sum of all gates",
              "of class cumsum, where logits are finite",
              {.formula =
                   [](auto& how) {
                     using number = typename std::decay_t<decltype(how)>::number;
                     how = encoding::algorithm<number>(reference::accuracy_class::cumsum);
                   },
               .declared =
                   [](description& about) {
                     for (const char* operation : {"cope/positions", "cope/positions:vjp"})
                       about.domain[operation] = {{"g", {}}};
                   }}),
      changed("control/cope_by_blocks", "blocks of keys", "sums of four keys, added to those of nearer blocks",
              {.formula = with_sums(by_blocks)}),
      changed("control/cope_from_the_lower", "torch.lerp", "z[floor p] and w of the difference",
              {.formula = with_mean(
                   [](const auto& w, const auto& lower, const auto& upper) { return lower + w * (upper - lower); })}),
      changed("control/cope_next_position", "floor p + 1 for ceil p", "another slope at integers",
              {.formula = [](auto& how) { how.next = [](double k, bool) { return k + 1.0; }; }}),
      changed("control/cope_in_f64", "all in f64, rounded once", "another precision", {.arithmetic = in_f64}),
  };
  return all_of({std::move(all), controls_of_attention<encoding>("cope")});
}

}  // namespace assay::properties::encodings::cope
