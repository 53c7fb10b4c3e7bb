// Positions that the tokens themselves make, along the path from a key to a query.
//
//   contextual/path_attention  o_i = softmax_{j <= i}(scale q_i^T H_i H_{i-1} ... H_{j+1} k_j) v_j,
//     H_t = I - beta_t w_t w_t^T: PaTH attention (Yang et al. 2025, arXiv 2505.16381). Each token changes the keys
//     before it, not its own. w has length 1 and beta is from 0 to 2: at 0 nothing changes, at 1 H is a projection, at
//     2 a reflection.
//   contextual/selective_rotation  y_t = R(a_t) x_t, a_t = temperature (s0 + phi_1 + ... + phi_t): queries or keys,
//     rotated by the angles of all tokens so far (Movahedi et al. 2025, Selective RoPE, arXiv 2511.17388)
//
// The biases of CABLE (Veisi et al. 2025, arXiv 2503.08067) are differences of cumulative sums of -softplus(x) in
// axiomlab/Cable (src/Cable.py). So fox/gated_decay with the gate logits -x computes them.
//
// Shapes: q, k, w [B, h, n, d], beta [B, h, n], v and o [B, h, n, e]. `scale`: 1 / sqrt(d), or 1. Published code first
// divides w by its length and computes beta as 2 sigmoid(x) (fla-org/flash-linear-attention, fla/layers/path_attn.py).
// That code can add sums of forget gates to the logits, and scales them with these (fla/ops/path_attn/naive.py);
// forgetting attention does not scale its gates (fox.hpp). So gates are not part of this operation. Rotations: x, y [B,
// n, h, 2r], where features c and r + c are a pair, phi [B, n, h, r], temperature [r]. The sums s0 before the first
// token and s_n after the last one, [B, h, r], are without temperature, like the sums that
// timurcarstensen/selective-rope caches (src/selective_rope/modules/rotary.py). phi there comes from a convolution and
// a gate.
//
// Special values: NaN in w or beta reaches the scores of all earlier keys from its token on. A NaN that a query does
// not see reaches no output of it; a weight of 0 times NaN is NaN in some programs. NaN in phi reaches its pair from
// its token on. Bound: keys are changed token by token and rounded each time, in f16 and bf16 too, as a cache keeps
// them. Kernels that work by chunks solve a triangular system for all changes of a chunk together. The error of an
// angle is the sum of the roundings of all sums before it, however small the angle is. The bound of a key about doubles
// with each token that changes it, though reflections keep its length: after some twenty changes in f32 it decides
// little.
#pragma once

#include <algorithm>
#include <functional>
#include <string_view>
#include <vector>

#include "reference/kinds/attention.hpp"
#include "reference/kinds/rotation.hpp"

namespace assay::reference::encodings {

struct contextual {
  static constexpr std::string_view name = "contextual";
  static core::encoding_summary summary() {
    return {
        .what = "positions that tokens set: products of Householder matrices, sums of angles",
        .formula = "S_ij = q_i^T H_i ... H_{j+1} k_j, H_t = I - beta_t w_t w_t^T; y_t = R(phi_1 + ... + phi_t) x_t",
        .sources = {{"Yang et al. 2025", "https://arxiv.org/abs/2505.16381"},
                    {"Movahedi et al. 2025", "https://arxiv.org/abs/2511.17388"}},
        .also = {{"PaTH attention", "contextual/path_attention"}, {"Selective RoPE", "contextual/selective_rotation"}}};
  }

  using traced = formula::traced;
  using traced_truth = formula::traced_truth;
  /// The parameters of a token, [B, h, d] and [B, h].
  struct token {
    traced w, beta;
  };
  /// The part of PaTH attention that has a format of its own, after the stages of its kind.
  enum class stage { keys = 4 };
  /// The steps that variants replace.
  struct scheme : attention_scheme, recorded_scheme<scheme> {
    /// Keys [B, h, n, d] after a token has changed some of them.
    std::function<traced(const traced& keys, const token& by, const traced_truth& which)> move =
        [](const traced& keys, const token& by, const traced_truth& which) { return keys - moves_of(keys, by, which); };
    /// Whether token t changes key j.
    std::function<traced_truth(const traced& j, const traced& t)> moves = [](const traced& j, const traced& t) {
      return less(j, t);
    };
    /// Whether a query reads the keys after its own token has changed them.
    bool moves_before = true;
    /// Products [B, h, n, n] of queries and changed keys.
    std::function<traced(const scheme& steps, const recorded_call& in)> products = by_blocks_of_keys;

    /// Sums [B, n + 1, h, r] before the first token and after each token, starting from s0 [B, 1, h, r].
    std::function<traced(const traced& phi, const traced& s0)> sums = [](const traced& phi, const traced& s0) {
      return cumulative_sum(formula::joined({s0, phi}, 1), 1);
    };
    /// Whether a token is rotated by its own angle, too.
    bool turns_by_own = true;
    std::function<traced_rotation(const traced& angle)> rotation = [](const traced& a) { return traced_rotation(a); };
    std::function<traced_pairs(const traced_pairs& x, const traced_rotation& by)> turn = turned;
  };
  static std::vector<recorded_formula<scheme>> formulas();

  /// beta (w . x) w for the rows x [B, h, n, d] of `which`, and 0 for the others.
  static traced moves_of(const traced& rows, const token& by, const traced_truth& which);
  /// Products where keys are changed token by token.
  static traced by_blocks_of_keys(const scheme& steps, const recorded_call& in);

 private:
  static traced key_by_key(const scheme& steps, const recorded_call& in, std::size_t first, std::size_t last);
  static formula::program path_attention(const scheme& steps, const formula::program_sizes& call);
  static formula::program selective_rotation(const scheme& steps, const formula::program_sizes& call);
  static core::operation path_declaration();
  static core::operation rotation_declaration();
};

inline contextual::traced contextual::moves_of(const traced& rows, const token& by, const traced_truth& which) {
  const core::shape s = shape_of(rows);
  const traced share = reshaped(by.beta, {s[0], s[1], 1}) * contracted(rows, by.w, "bhjd,bhd->bhj");
  return contracted_at(broadcast(which, s), share, by.w, "bhj,bhd->bhjd");
}

/// The products of keys `first` to `last` - 1; 0 where a query stands before all of them.
inline contextual::traced contextual::key_by_key(const scheme& steps, const recorded_call& in, std::size_t first,
                                                 std::size_t last) {
  const std::size_t turns = in.size("n") - first, keys = last - first;
  const auto places = [](std::size_t count, const core::shape& s) {
    return reshaped(index_number(formula::counted(count)), s);
  };
  const auto turn = [&](const std::vector<traced>& carried, const std::vector<traced>& now) {
    const traced after = in_stage<traced>(stage::keys, [&] {
      return steps.move(carried[0], {now[1], now[2]}, steps.moves(places(keys, {1, 1, keys, 1}), now[3]));
    });
    const traced read = in_stage<traced>(attention_stage::scores, [&] {
      const traced& met = steps.moves_before ? after : carried[0];
      return contracted(now[0], taken_from(static_cast<std::size_t>(stage::keys), met), "bhd,bhjd->bhj");
    });
    return formula::loop_turn{{after}, {read}};
  };
  const auto by_token = [&](const char* called, std::vector<std::int64_t> axes) {
    const traced x = in[called];
    return transposed(between(x, 2, first, first + turns), std::move(axes));
  };
  const traced read = formula::looped(turns, {between(in["k"], 2, first, last)},
                                      {by_token("q", {2, 0, 1, 3}), by_token("w", {2, 0, 1, 3}),
                                       by_token("beta", {2, 0, 1}), places(turns, {turns, 1, 1, 1, 1})},
                                      turn)
                          .given[0];
  const traced products_of_later = transposed(read, {1, 2, 0, 3});
  if (first == 0) return products_of_later;
  return formula::joined({broadcast(traced(0.0), {in.size("B"), in.size("h"), first, keys}), products_of_later}, 2);
}

/// Treats keys by blocks; no token before a block changes its keys.
inline contextual::traced contextual::by_blocks_of_keys(const scheme& steps, const recorded_call& in) {
  const std::size_t n = in.size("n"), block = 16;
  if (n == 0)
    return contracted(in["q"], in["k"] + in["w"] * reshaped(in["beta"], {in.size("B"), in.size("h"), 0, 1}),
                      "bhid,bhjd->bhij");
  std::vector<traced> columns;
  for (std::size_t first = 0; first < n; first += block)
    columns.push_back(key_by_key(steps, in, first, std::min(n, first + block)));
  return formula::joined(columns, 3);
}

inline formula::program contextual::path_attention(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const std::size_t n = in.size("n");
  const traced_truth seen =
      broadcast(formula::known_truths({n, n}, seen_by_last_queries(n, n, true)), {in.size("B"), in.size("h"), n, n});
  const traced products = steps.products(steps, in);
  const traced logits = in_stage<traced>(attention_stage::scores, [&] {
    return products * factor_of_logits(in.setting<std::string>("scale"), in.size("d"));
  });
  return in.finish(attended(steps, in, logits, seen));
}

inline formula::program contextual::selective_rotation(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const std::size_t rows = in.size("B"), n = in.size("n"), heads = in.size("h"), r = in.size("r");
  const traced x = in["x"], phi = in["phi"], temperature = in["temperature"], s0 = in["s0"];
  if (n == 0) return in.finish_all({x, s0});
  const auto [angle, last] = in_stage<traced>(rotary_stage::angle, [&] {
    const traced sums = steps.sums(phi, reshaped(s0, {rows, 1, heads, r}));
    const std::size_t first = steps.turns_by_own ? 1 : 0;
    return std::pair(temperature * between(sums, 1, first, first + n), between(sums, 1, n, n + 1));
  });
  const traced_rotation by =
      in_stage<traced>(rotary_stage::table, [&, phase = angle] { return steps.rotation(phase); });
  const traced y = in_stage<traced>(rotary_stage::product, [&] {
    const traced_pairs turned_ones = steps.turn({between(x, 3, 0, r), between(x, 3, r, 2 * r)}, by);
    return formula::joined({turned_ones.first, turned_ones.second}, 3);
  });
  return in.finish_all({y, reshaped(last, {rows, heads, r})});
}

inline core::operation contextual::path_declaration() {
  core::operation path =
      attention_operation("contextual/path_attention", "n",
                          {.name = "w",
                           .axes = {"B", "h", "n", "d"},
                           .meaning = "directions of length 1 in which tokens move the keys before them",
                           .domain = {-1.0, 1.0}});
  path.source = "Yang et al. 2025, arXiv 2505.16381";
  path.inputs.push_back({.name = "beta",
                         .axes = {"B", "h", "n"},
                         .meaning = "how far: 0 not at all, 1 projects, 2 reflects",
                         .domain = {0.0, 2.0}});
  path.stages.push_back({.name = "keys", .meaning = "keys as tokens move them", .narrow = true});
  path.grows_with = core::with_tokens;
  path.independent = {"B", "h"};
  return path;
}

inline core::operation contextual::rotation_declaration() {
  const std::vector<std::string> features{"B", "n", "h", "2r"}, pairs{"B", "n", "h", "r"}, state{"B", "h", "r"};
  core::operation op{
      .name = "contextual/selective_rotation",
      .source = "Movahedi et al. 2025, arXiv 2511.17388",
      .inputs = {{.name = "x", .axes = features, .meaning = "queries or keys"},
                 {.name = "phi", .axes = pairs, .meaning = "angles by which a token turns itself and all later ones"},
                 core::parameter("temperature", {"r"}, "what the sum of a pair is multiplied by"),
                 {.name = "s0", .axes = state, .meaning = "the sum before the first token"}},
      .outputs = {{.name = "y", .axes = features, .meaning = "the same, rotated", .scale = core::error_scale::by_row},
                  {.name = "s_n", .axes = state, .meaning = "the sum behind the last token"}},
      .stages = rotary_stages(),
      .recurrent = core::recurrence{.state_in = "s0", .state_out = "s_n"},
      .grows_with = core::with_tokens,
      .independent = {"B", "h"}};
  op.stages.push_back({.name = std::string(core::accumulation), .meaning = "the sums in gradients of angles"});
  return op;
}

inline std::vector<recorded_formula<contextual::scheme>> contextual::formulas() {
  return {{path_declaration(), path_attention}, {rotation_declaration(), selective_rotation}};
}

}  // namespace assay::reference::encodings
