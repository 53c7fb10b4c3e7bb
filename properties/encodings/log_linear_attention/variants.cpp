// Wrong and right ways to weigh the past by levels.
#include "properties/faults/call_changes.hpp"
#include "properties/faults/declared_faults.hpp"
#include "reference/encodings/log_linear_attention.hpp"

namespace assay::properties::encodings::log_linear_attention {
namespace {

using encoding = reference::encodings::log_linear_attention;
using reference::formula::traced, reference::formula::traced_integer;
inline constexpr auto& leveled = make_variant<encoding>;

// floor(log2 n), and not ceil(log2 n), as the last level.
bool up_to_floor_level(const encoding::pair& pair) {
  const auto floor = static_cast<std::size_t>(std::bit_width(pair.n)) - 1;
  return encoding::is_causal(pair) && encoding::level_of(pair) <= floor;
}

}  // namespace

std::vector<variant> mutants() {
  return all_of(
      {reported_faults({
           {"mutant/log_linear_attention_weights_of_first_row", "BlinkDL/RWKV-LM#241: an address without the row",
            "log_linear_attention/scalar_gates/level_scales/first_for_all_along_B_0"},
           {"mutant/log_linear_attention_gradient_of_weights_dropped",
            "an autograd.Function that returns None for level_scales",
            "log_linear_attention/scalar_gates:vjp/grad_level_scales/zeroed"},
       }),
       {
           leveled("mutant/log_linear_attention_last_level_lost",
                   "fla-org/flash-linear-attention#542: levels counted by floor(log2 n)",
                   "the last level is missing where n is no power of 2",
                   {.formula = [](auto& scheme) { scheme.sees = up_to_floor_level; }, .representative = true}),
           leveled("mutant/log_linear_attention_level_of_distance", "buckets of distances for those of a Fenwick tree",
                   "the level is the number of binary digits of t - s",
                   {.formula =
                        [](auto& scheme) {
                          scheme.level = [](const encoding::pair& pair) {
                            return static_cast<std::size_t>(
                                std::bit_width(pair.query > pair.key ? pair.query - pair.key : pair.key - pair.query));
                          };
                        },
                    .representative = true}),
           leveled("mutant/log_linear_attention_counted_from_1", "tokens counted from 1, as Fenwick trees usually are",
                   "the level is that of t + 1 and s + 1",
                   {.formula =
                        [](auto& scheme) {
                          scheme.level = [](const encoding::pair& pair) {
                            return std::min(encoding::level_of({pair.query + 1, pair.key + 1, pair.n}),
                                            encoding::levels_of(pair.n) - 1);
                          };
                        },
                    .representative = true}),
           leveled("mutant/log_linear_attention_no_level_of_its_own", "buckets from 1 on: a port of Fenwick sums",
                   "a token weighs itself by level 1",
                   {.formula =
                        [](auto& scheme) {
                          scheme.level = [](const encoding::pair& pair) {
                            return pair.n == 1 ? 0 : std::max<std::size_t>(encoding::level_of(pair), 1);
                          };
                        },
                    .representative = true}),
           leveled("mutant/log_linear_attention_weights_of_keys", "L[..., None, :] for L[..., :, None]",
                   "a pair has the weight that the key's token gives its level, not the query's",
                   {.formula =
                        [](auto& scheme) {
                          scheme.lambda_of = [](const traced& lambda, const traced_integer& levels) {
                            return transposed(taken_along(lambda, levels, 3), {0, 1, 3, 2});
                          };
                        },
                    .representative = true}),
           leveled("mutant/log_linear_attention_token_itself_lost", "a mask of s < t at level 0",
                   "a query does not read its own token",
                   {.formula =
                        [](auto& scheme) {
                          scheme.sees = [](const encoding::pair& pair) { return pair.key < pair.query; };
                        },
                    .representative = true}),
           leveled("mutant/log_linear_attention_own_gate_twice", "decay of the key itself: exp(G_t - G_{s-1})",
                   "what a token writes is faded by its own gate, too",
                   {.formula =
                        [](auto& scheme) {
                          scheme.sums = [](const traced& gates, const traced_integer& own) {
                            return sums_from_each_on(reference::encodings::fox::gates_up_to(gates, own), 3);
                          };
                        },
                    .representative = true}),
           leveled(
               "mutant/log_linear_attention_gate_in_base_2", "exp2 of gates that were not divided by log 2",
               "the past is multiplied by 2^g",
               {.formula = [](auto& scheme) { scheme.fading = [](const traced& x) { return pow(traced(2.0), x); }; },
                .representative = true}),
           leveled("mutant/log_linear_attention_weights_not_faded", "weights of levels in place of the decay",
                   "nothing fades: a token weighs what its level says",
                   {.formula =
                        [](auto& scheme) {
                          scheme.weight = [](const traced& lambda, const traced& decay, const traced& product) {
                            return lambda * product + detach(decay) * traced(0.0);
                          };
                        },
                    .representative = true}),
       }});
}

std::vector<variant> controls() {
  return {leveled("control/log_linear_attention_by_prefix_sums",
                  "fla-org/flash-linear-attention, log_linear_attn/naive.py, segsum",
                  "of class cumsum: differences of the cumulative sums of the gates",
                  {.formula = [](auto& scheme) { scheme.sums = reference::encodings::fox::differences_of_prefixes; }}),
          leveled("control/log_linear_attention_weighed_last",
                  "fla-org/flash-linear-attention, log_linear_attn/chunk.py: the state, then its level",
                  "products fade before their level weighs them",
                  {.formula =
                       [](auto& scheme) {
                         scheme.weight = [](const traced& lambda, const traced& decay, const traced& product) {
                           return product * decay * lambda;
                         };
                       }}),
          leveled("control/log_linear_attention_in_f64", "all in f64, rounded once", "another precision",
                  {.arithmetic = in_f64}),
          leveled("control/log_linear_attention_usual_stages",
                  "fla-org/flash-linear-attention: gates and sums in f32, weights cast back",
                  "f16 and bf16: gates and sums in f32, weights and outputs in the dtype",
                  {.arithmetic = in_usual_stages, .declared = nothing_declared})};
}

}  // namespace assay::properties::encodings::log_linear_attention
