// Linear attention with gates and delta rules: a matrix S of keys by values is the memory of earlier tokens. Each token
// t of a head makes it fade, writes to it, and reads it:
//
//   S_t = exp(g_t) S_{t-1} + k_t u_t^T,   o_t = scale S_t^T q_t,   S_0 = s0
//
//   linear_attention/retention        log_decay [h]: g is one number for each head, u = v: RetNet (Sun et al. 2023,
//     arXiv 2307.08621), Lightning Attention-2 (Qin et al. 2024, arXiv 2401.04658)
//   linear_attention/scalar_gates     g [B, n, h], u = v: Mamba-2 (Dao and Gu 2024, arXiv 2405.21060)
//   linear_attention/channel_gates    g [B, n, h, d], one for each channel of the keys, u = v: GLA (Yang et al. 2023,
//     arXiv 2312.06635), HGRN2 with k = 1 - exp(g) (Qin et al. 2024, arXiv 2404.07904)
//   linear_attention/delta_rule       u = beta (v - S_{t-1}^T k): it writes the part that the state lacks (Yang et al.
//     2024, arXiv 2406.06484)
//   linear_attention/gated_delta_rule the same with the state after fading, g [B, n, h] (Yang et al. 2024, arXiv
//     2412.06464)
//   linear_attention/channel_gated_delta_rule  the same, g [B, n, h, d] (Kimi Linear 2025, arXiv 2510.26692)
//   linear_attention/low_rank_rule    S_t = diag(exp(g_t)) S_{t-1} + b_t (S_{t-1}^T a_t)^T + k_t v_t^T: RWKV-7 (Peng et
//     al. 2025, arXiv 2503.14456)
//
// Shapes: q, k, a, b [B, n, h, d]; v, o [B, n, h, e]; beta [B, n, h]; s0 and s_n, the state after the last token, [B,
// h, d, e]. `scale`: 1 / sqrt(d), or 1. `normalized`: q and k are first divided by sqrt(sum of their squares + 1e-6)
// (fla-org/flash-linear-attention, use_qk_l2norm_in_kernel).
//
// Special values: the state fades to 0 where g is large and negative, and not at all where g is 0. NaN reaches the
// state from its token on. Products of a chunk carry it to earlier tokens of the chunk, too: their outputs are then a
// matter of convention. Laws: exp(g_t) for each token is of class sequential. Cumulative sums G of gates, as in code by
// chunks, are of class cumsum: the decay between two tokens, exp(G_t - G_u), has the error of G. The gradient of G_t is
// q . dq of the reads at t less k . dk of the writes there, which cancel.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "reference/kinds/attention_declarations.hpp"
#include "reference/kinds/normalized_rows.hpp"
#include "reference/kinds/recorded_call.hpp"
#include "reference/kinds/relative_scores.hpp"

namespace assay::reference::encodings {

struct linear_attention {
  static constexpr std::string_view name = "linear_attention";
  static core::encoding_summary summary() {
    return {.what = "linear attention: gates and delta rules over a state of keys by values",
            .formula = "S_t = exp(g_t) S_{t-1} + k_t u_t^T, o_t = S_t^T q_t",
            .sources = {{"Yang et al. 2023", "https://arxiv.org/abs/2312.06635"},
                        {"Yang et al. 2024", "https://arxiv.org/abs/2412.06464"}},
            .also = {{"RetNet, Lightning Attention", "linear_attention/retention"},
                     {"Mamba-2, simple GLA", "linear_attention/scalar_gates"},
                     {"GLA, HGRN2", "linear_attention/channel_gates"},
                     {"DeltaNet, Gated DeltaNet", "linear_attention/delta_rule and gated_delta_rule"},
                     {"Kimi Delta Attention", "linear_attention/channel_gated_delta_rule"},
                     {"RWKV-7, DPLR", "linear_attention/low_rank_rule"}}};
  }

  /// The parts that have a format of their own besides sums over features; `gates` exists where there are gates.
  enum class stage { writes, state, output, gates = 4 };

  using traced = formula::traced;
  /// The numbers of a token: rows [B, h, d] or [B, h, e]; the fading is a row or one number. `reading_key` is k as it
  /// reads the state; `last` is 1, and carries the gradient that the state after the last token gives to sums of gates.
  struct token {
    traced q, k, v, reading_key;
    std::optional<traced> fading, beta, a, b, last;
  };
  /// The steps that variants replace.
  struct scheme : recorded_scheme<scheme> {
    /// exp(g) for logits [B, n, h, 1 or d].
    std::function<traced(const traced& g)> fading = [](const traced& g) { return exp(g); };
    /// The row that is written at k: v, or beta times the part of v that the state lacks there. `before` is the state
    /// before it fades, and `faded` the state after that.
    std::function<traced(const token& now, const traced& before, const traced& faded)> write = written;
    std::function<traced(const token& now, const traced& before, const traced& faded, const traced& write)> next =
        next_state;
    /// The state that q reads.
    std::function<traced(const traced& before, const traced& after)> read = [](const traced&, const traced& after) {
      return after;
    };
    /// Whether gates are computed from their cumulative sums, as code by chunks does.
    bool by_sums = false;
    /// q or k divided by its length.
    std::function<traced(const traced& rows, bool is_of_gradient)> normalize = over_length;
  };
  static scheme algorithm(accuracy_class c) {
    scheme steps;
    steps.by_sums = c == accuracy_class::cumsum;
    return steps;
  }
  static std::vector<recorded_formula<scheme>> formulas();

  /// Products of rows with the rows of the state.
  static traced met(const traced& rows, const traced& state) { return contracted(rows, state, "bhd,bhde->bhe"); }
  static traced outer(const traced& x, const traced& y);
  static traced written(const token& now, const traced&, const traced& faded) {
    return now.beta ? *now.beta * (now.v - met(now.reading_key, faded)) : now.v;
  }
  static traced next_state(const token& now, const traced& before, const traced& faded, const traced& write);
  static traced over_length(const traced& rows, bool is_of_gradient);
  /// Cumulative sums of gates, from the first token on.
  static traced sums_of(const traced& g) { return shape_of(g)[1] == 0 ? g : cumulative_sum(g, 1); }
  /// The numbers of the token before; 0 at the first token.
  static traced one_before(const traced& x);

 private:
  static token tokens_of(const scheme& steps, const recorded_call& in);
  static traced by_sums_of(const traced& g, token& all);
  static formula::program attend(const scheme& steps, const formula::program_sizes& call);
};

inline linear_attention::traced linear_attention::outer(const traced& x, const traced& y) {
  const core::shape rows = shape_of(x), columns = shape_of(y);
  return reshaped(x, {rows[0], rows[1], rows[2], 1}) * reshaped(y, {columns[0], columns[1], 1, columns[2]});
}
inline linear_attention::traced linear_attention::next_state(const token& now, const traced& before,
                                                             const traced& faded, const traced& write) {
  const traced next = faded + outer(now.k, write);
  return now.b ? next + outer(*now.b, met(*now.a, before)) : next;
}
inline linear_attention::traced linear_attention::over_length(const traced& rows, bool is_of_gradient) {
  return over_root(square_norm::sum, rows, formula::setting(1e-6), is_of_gradient);
}
inline linear_attention::traced linear_attention::one_before(const traced& x) {
  const std::size_t n = shape_of(x)[1];
  if (n == 0) return x;
  return formula::joined({between(x, 1, 0, 1) * traced(0.0), between(x, 1, 0, n - 1)}, 1);
}
/// Rows and fadings [B, n, h, 1 or d] of all tokens.
inline linear_attention::token linear_attention::tokens_of(const scheme& steps, const recorded_call& in) {
  const std::size_t rows = in.size("B"), n = in.size("n"), heads = in.size("h");
  const bool has_lengths = in.has("beta") && in.setting<bool>("normalized");
  const auto over_length_of = [&](const char* called) {
    if (!has_lengths) return in[called];
    return in_stage<traced>(stage::writes, [&] { return steps.normalize(in[called], in.is_of_gradient()); });
  };
  token all{over_length_of("q"), over_length_of("k"), in["v"], {}, {}, {}, {}, {}, {}};
  all.reading_key = all.k;
  if (in.has("a")) all.a = in["a"], all.b = in["b"];
  if (in.has("beta")) all.beta = reshaped(in["beta"], {rows, n, heads, 1});
  if (!in.has("g") && !in.has("log_decay")) return all;
  const traced given = in.has("g") ? in["g"] : broadcast(reshaped(in["log_decay"], {1, 1, heads}), {rows, n, heads});
  const traced g = shape_of(given).size() == 4 ? given : reshaped(given, {rows, n, heads, 1});
  all.fading = in_stage<traced>(stage::gates, [&] { return steps.by_sums ? by_sums_of(g, all) : steps.fading(g); });
  return all;
}
/// The fading from sums G of gates. Their gradient comes from the reads and the writes: each is multiplied by a factor
/// of 1 that carries it.
inline linear_attention::traced linear_attention::by_sums_of(const traced& g, token& all) {
  const traced sums = sums_of(g), before = one_before(sums), one(1.0);
  // The error of a sum enters the decay between two tokens once, through the reads and through the writes.
  const auto exactly = [](const traced& x) { return without_error(detach(x)); };
  const auto zero = [&](const traced& x) { return x - exactly(x); };
  const traced reads = one + zero(sums), writes = one - zero(sums);
  all.q = all.q * reads, all.reading_key = all.k * reads, all.k = all.k * writes;
  // `a` reads before its token fades the state, after G_t - g_t.
  if (all.a) all.a = *all.a * exp(detach((sums - g) - before)) * (one + zero(before)), all.b = *all.b * writes;
  all.last = reads;
  return exp(exactly(sums) - exactly(before));
}

inline formula::program linear_attention::attend(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const token tokens = tokens_of(steps, in);
  std::vector<traced> stepped;
  const auto step_through = [&](const traced& x) { stepped.push_back(transposed(x, {1, 0, 2, 3})); };
  for (const traced& x : {tokens.q, tokens.k, tokens.v, tokens.reading_key}) step_through(x);
  for (const std::optional<traced>& x : {tokens.fading, tokens.beta, tokens.a, tokens.b})
    if (x) step_through(*x);

  const auto turn = [&](const std::vector<traced>& carried, const std::vector<traced>& all) {
    std::size_t k = 4;
    const auto taken = [&](const std::optional<traced>& is_there) {
      return is_there ? std::optional(all[k++]) : std::nullopt;
    };
    token now{all[0], all[1], all[2], all[3], {}, {}, {}, {}, {}};
    now.fading = taken(tokens.fading), now.beta = taken(tokens.beta);
    now.a = taken(tokens.a), now.b = taken(tokens.b);
    const traced& before = carried[0];
    const traced faded = !now.fading ? before : in_stage<traced>(stage::state, [&] {
      const core::shape s = shape_of(*now.fading);
      return before * reshaped(*now.fading, {s[0], s[1], s[2], 1});
    });
    const traced write = in_stage<traced>(stage::writes, [&] { return steps.write(now, before, faded); });
    const traced after = in_stage<traced>(stage::state, [&] { return steps.next(now, before, faded, write); });
    const traced read = in_stage<traced>(stage::output, [&] {
      return met(now.q, taken_from(static_cast<std::size_t>(stage::state), steps.read(before, after)));
    });
    return formula::loop_turn{{after}, {read}};
  };
  const std::size_t n = in.size("n");
  const formula::loop_turn made = formula::looped(n, {in["s0"]}, stepped, turn);
  const traced o = in_stage<traced>(stage::output, [&] {
    return transposed(made.given[0], {1, 0, 2, 3}) * factor_of_logits(in.setting<std::string>("scale"), in.size("d"));
  });
  if (!tokens.last || n == 0) return in.finish_all({o, made.left[0]});
  const core::shape s = shape_of(*tokens.last);
  return in.finish_all({o, made.left[0] * reshaped(between(*tokens.last, 1, n - 1, n), {s[0], s[2], s[3], 1})});
}

inline std::vector<recorded_formula<linear_attention::scheme>> linear_attention::formulas() {
  using core::tensor_declaration;
  // Beyond 2^42 the cube of a reciprocal root, which automatic differentiation forms, is subnormal in f32.
  const auto rows_of = [](const char* called, const char* meaning, std::vector<std::string> axes) {
    return tensor_declaration{.name = called, .axes = std::move(axes), .meaning = meaning, .domain = {-0x1p40, 0x1p40}};
  };
  const std::vector<std::string> keys{"B", "n", "h", "d"}, values{"B", "n", "h", "e"}, numbers{"B", "n", "h"};
  const auto gates = [](std::vector<std::string> axes) {
    return tensor_declaration{.name = "g",
                              .axes = std::move(axes),
                              .meaning = "logarithms of what the state is multiplied by before a token writes",
                              .domain = {.low = -0x1p40, .high = 0.0},
                              .role = core::input_role::logit};
  };
  tensor_declaration log_decay =
      core::parameter("log_decay", {"h"}, "the same logarithm for all tokens of a head", {.low = -0x1p40, .high = 0.0});
  log_decay.differentiable = false;  // a number in a configuration
  const tensor_declaration beta{.name = "beta",
                                .axes = numbers,
                                .meaning = "share of what the state lacks that is written",
                                .domain = {0.0, 2.0}};
  const auto declared = [&](const char* called, const char* source, const std::vector<tensor_declaration>& more) {
    const bool has_gates = more.front().name != "beta", has_beta = more.back().name == "beta",
               is_mixing = has_beta || more.back().name == "b";
    core::operation op{
        .name = called,
        .source = source,
        .inputs = {rows_of("q", "queries", keys), rows_of("k", "keys", keys), rows_of("v", "values", values)},
        .outputs = {{.name = "o", .axes = values, .meaning = "what queries read", .scale = core::error_scale::by_row},
                    {.name = "s_n",
                     .axes = {"B", "h", "d", "e"},
                     .meaning = "the state behind the last token",
                     .scale = core::error_scale::by_row}},
        .attributes = {scale_of_outputs()},
        .stages = {{.name = "writes", .meaning = "what each token writes", .narrow = true},
                   {.name = "state", .meaning = "the state, as it fades and is written to"},
                   {.name = "output", .meaning = "the state as queries meet it, and o", .narrow = true},
                   {.name = std::string(core::accumulation), .meaning = "sums over features of keys"}},
        .recurrent = core::recurrence{.state_in = "s0", .state_out = "s_n", .mixes_along = is_mixing ? "d" : ""},
        .grows_with = core::with_tokens,
        .independent = {"B", "h"}};
    op.inputs.insert(op.inputs.end(), more.begin(), more.end());
    op.inputs.push_back(rows_of("s0", "the state before the first token", {"B", "h", "d", "e"}));
    if (has_beta)
      op.attributes.push_back(flag("normalized", false, "whether q and k are divided by their lengths before"));
    if (has_gates) op.stages.push_back({.name = "gates", .meaning = "exponentials of the gates"});
    return op;
  };
  const std::vector<accuracy_class> by_sums{accuracy_class::sequential, accuracy_class::cumsum};
  return {
      {declared("linear_attention/retention", "Sun et al. 2023, arXiv 2307.08621", {log_decay}), attend, by_sums},
      {declared("linear_attention/scalar_gates", "Dao and Gu 2024, arXiv 2405.21060", {gates(numbers)}), attend,
       by_sums},
      {declared("linear_attention/channel_gates", "Yang et al. 2023, arXiv 2312.06635", {gates(keys)}), attend,
       by_sums},
      {declared("linear_attention/delta_rule", "Yang et al. 2024, arXiv 2406.06484", {beta}), attend},
      {declared("linear_attention/gated_delta_rule", "Yang et al. 2024, arXiv 2412.06464", {gates(numbers), beta}),
       attend, by_sums},
      {declared("linear_attention/channel_gated_delta_rule", "Kimi Linear 2025, arXiv 2510.26692", {gates(keys), beta}),
       attend, by_sums},
      {declared("linear_attention/low_rank_rule", "Peng et al. 2025, arXiv 2503.14456",
                {gates(keys), rows_of("a", "what reads the state that is taken back", keys),
                 rows_of("b", "where it is written", keys)}),
       attend, by_sums}};
}

}  // namespace assay::reference::encodings
