// Wrong and right ways to carry a state with an entry for each key and value feature.
#include "properties/faults/call_changes.hpp"
#include "properties/faults/declared_faults.hpp"
#include "reference/encodings/linear_attention.hpp"

namespace assay::properties::encodings::linear_attention {
namespace {

using core::dtype;
using encoding = reference::encodings::linear_attention;
using reference::formula::traced;
using token = encoding::token;
inline constexpr auto& changed = make_variant<encoding>;

}  // namespace

std::vector<variant> mutants() {
  return all_of(
      {reported_faults({
           {"mutant/linear_attention_state_dropped", "tile-ai/TileOPs#1557: initial states are silently dropped",
            "linear_attention/scalar_gates/s0/zeroed"},
           {"mutant/linear_attention_state_of_first_row", "BlinkDL/RWKV-LM#241: an address without the row",
            "linear_attention/low_rank_rule/s0/first_for_all_along_B_0"},
           {"mutant/linear_attention_gradient_of_state_dropped",
            "state-spaces/mamba#258: without the gradient of the last state",
            "linear_attention/channel_gates:vjp/grad_s_n/zeroed"},
           {"mutant/linear_attention_shares_doubled", "fla-org/flash-linear-attention, allow_neg_eigval: 2 beta",
            "linear_attention/gated_delta_rule/beta/doubled"},
       }),
       {
           changed("mutant/linear_attention_nothing_lacking", "gated linear attention for a delta rule",
                   "beta multiplies v, and what the state has at k is not taken from it",
                   {.formula =
                        [](auto& scheme) {
                          scheme.write = [](const token& now, const traced&, const traced&) {
                            return now.beta ? *now.beta * now.v : now.v;
                          };
                        },
                    .representative = true}),
           changed("mutant/linear_attention_reads_unfaded", "fla-org/flash-linear-attention#885: the order",
                   "what a token lacks is read from the state that has not faded",
                   {.formula =
                        [](auto& scheme) {
                          scheme.write = [](const token& now, const traced& before, const traced&) {
                            return encoding::written(now, before, before);
                          };
                        },
                    .representative = true}),
           changed("mutant/linear_attention_reads_before_writing", "an exclusive scan for an inclusive one",
                   "queries read the state before their token has written",
                   {.formula =
                        [](auto& scheme) { scheme.read = [](const traced& before, const traced&) { return before; }; },
                    .representative = true}),
           changed("mutant/linear_attention_written_before_fading", "decay of the token itself: D_tt = gamma",
                   "a token fades what it has itself written",
                   {.formula =
                        [](auto& scheme) {
                          scheme.next = [](const token& now, const traced& before, const traced& faded,
                                           const traced& write) {
                            const traced next = encoding::next_state(now, before, faded, write);
                            if (!now.fading) return next;
                            const core::shape s = shape_of(*now.fading);
                            const traced own = encoding::outer(now.k, write);
                            return next - own + own * reshaped(*now.fading, {s[0], s[1], s[2], 1});
                          };
                        },
                    .representative = true}),
           changed(
               "mutant/linear_attention_gates_one_late", "segsum with a shifted mask",
               "a state fades by the gate of the token before",
               {.formula =
                    [](auto& scheme) { scheme.fading = [](const traced& g) { return exp(encoding::one_before(g)); }; },
                .representative = true}),
           changed(
               "mutant/linear_attention_gate_in_base_2", "exp2 of gates that were not divided by log 2",
               "the state is multiplied by 2^g",
               {.formula = [](auto& scheme) { scheme.fading = [](const traced& g) { return pow(traced(2.0), g); }; },
                .representative = true}),
           changed("mutant/linear_attention_quotient_of_exponentials",
                   "ggml-org/llama.cpp#24561: one small exponential over another", "exp(G_t) / exp(G_{t-1}) of sums G",
                   {.formula =
                        [](auto& scheme) {
                          scheme.fading = [](const traced& g) {
                            const traced sums = encoding::sums_of(g);
                            return exp(sums) / exp(encoding::one_before(sums));
                          };
                        }}),
           changed("mutant/linear_attention_nothing_taken_back", "ooples/AiDotNet.Tensors#895: RWKV-6 for RWKV-7",
                   "the state fades and is written to, and nothing is taken from it",
                   {.formula =
                        [](auto& scheme) {
                          scheme.next = [](const token& now, const traced&, const traced& faded, const traced& write) {
                            return faded + encoding::outer(now.k, write);
                          };
                        },
                    .representative = true}),
           changed("mutant/linear_attention_taken_from_faded", "the order of two steps: a port",
                   "what is taken back is read from the state that has faded",
                   {.formula =
                        [](auto& scheme) {
                          scheme.next = [](const token& now, const traced&, const traced& faded, const traced& write) {
                            return encoding::next_state(now, faded, faded, write);
                          };
                        },
                    .representative = true}),
           changed("mutant/linear_attention_sum_for_length", "rsqrt of a mean: RMSNorm for an L2 norm",
                   "rows have the length sqrt(d)",
                   {.formula =
                        [](auto& scheme) {
                          scheme.normalize = [](const traced& rows, bool is_of_gradient) {
                            const auto width = static_cast<double>(shape_of(rows).back());
                            return encoding::over_length(rows, is_of_gradient) *
                                   power(reference::formula::setting(width), reference::ratio(1, 2));
                          };
                        },
                    .representative = true}),
           changed("mutant/linear_attention_state_in_bf16", "a cache of states in bf16",
                   "the state is rounded to bf16 at every token",
                   {.formula =
                        [](auto& scheme) {
                          scheme.next = [](const token& now, const traced& before, const traced& faded,
                                           const traced& write) {
                            return held_in(dtype::bf16, encoding::next_state(now, before, faded, write));
                          };
                        }}),
       }});
}

std::vector<variant> controls() {
  return {
      changed("control/linear_attention_by_sums_of_gates", "state-spaces/mamba, segsum_unstable",
              "of class cumsum: exp(G_t - G_{t-1}) of sums G",
              {.formula =
                   [](auto& scheme) {
                     scheme.fading = [](const traced& g) {
                       const traced sums = encoding::sums_of(g);
                       return exp(sums - encoding::one_before(sums));
                     };
                   }}),
      changed("control/linear_attention_gradients_of_rows", "fla-org/flash-linear-attention, gla/chunk.py: dq q - dk k",
              "of class cumsum: the gradient of gates by those of queries and keys",
              {.formula = [](auto& scheme) { scheme.by_sums = true; }}),
      changed("control/linear_attention_in_f64", "all in f64, rounded once", "another precision",
              {.arithmetic = in_f64}),
      changed("control/linear_attention_usual_stages", "fla-org/flash-linear-attention: the state in f32",
              "f16 and bf16: gates, sums and state in f32, what is written and read in the dtype",
              {.arithmetic = in_usual_stages, .declared = nothing_declared})};
}

}  // namespace assay::properties::encodings::linear_attention
