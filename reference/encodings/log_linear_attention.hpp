// Log-linear attention (Guo et al. 2025, "Log-linear attention", arXiv 2506.04761): linear attention whose past lies in
// buckets. Their lengths are different powers of 2 and grow with the distance; the query chooses a weight for each,
//
//   o_t = scale sum_{s <= t} lambda_t[level(t, s)] exp(g_{s+1} + ... + g_t) (q_t . k_s) v_s       section 3, eq. 4
//
// level(t, s) is the number of binary digits of t XOR s, tokens counted from 0 (a Fenwick tree). The token itself is at
// level 0. Level l > 0 has tokens only where bit l - 1 of t is set: the 2^(l-1) tokens before t', which is t with all
// bits below l - 1 cleared. n tokens have 1 + bit_length(n - 1) levels; lambda may have more, which nothing reads.
//
//   log_linear_attention/scalar_gates  one gate for a head and token: log-linear Mamba-2
//
// Shapes: q, k [B, n, h, d], v and o [B, n, h u, e], gates g [B, n, h u], lambda = level_scales [B, n, h u, l]. u =
// `group` consecutive heads of values share one head of queries and keys. In published code all heads of values share
// one (fla-org/flash-linear-attention, fla/ops/log_linear_attn). `scale`: 1 / sqrt(d), or 1 as in that code. With
// lambda = 1 it is linear_attention/scalar_gates from s0 = 0. The same paper has a form with delta rules, which is no
// operation here.
//
// Special values: NaN in a key or value, or in a gate of any token but the first, reaches its own query and all later
// ones; NaN in a value stays in its channel. The first gate is read nowhere. NaN in lambda reaches its query where some
// token has that level. Products of a chunk may take NaN to earlier queries of the chunk: a convention.
// Laws: sums of the gates between two tokens are of class sequential. Differences G_t - G_s of cumulative sums, as
// published (segsum), are of class cumsum.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/encodings/fox.hpp"
#include "reference/kinds/attention_declarations.hpp"
#include "reference/kinds/relative_scores.hpp"

namespace assay::reference::encodings {

struct log_linear_attention {
  static constexpr std::string_view name = "log_linear_attention";
  static core::encoding_summary summary() {
    return {.what = "linear attention with a weight for each bucket of past tokens; lengths of buckets are powers of 2",
            .formula = "o_t = sum_s lambda_t[bit_length(t XOR s)] exp(G_t - G_s) (q_t . k_s) v_s",
            .sources = {{"Guo et al. 2025", "https://arxiv.org/abs/2506.04761"}},
            .also = {{"log-linear Mamba-2", "log_linear_attention/scalar_gates"}}};
  }

  /// The stages with a format of their own, besides sums over features.
  enum class stage { weights, output, gates = 3 };

  using traced = formula::traced;
  using traced_integer = formula::traced_integer;
  using traced_truth = formula::traced_truth;
  /// A query and a key of a call of n tokens, counted from 0.
  struct pair {
    std::size_t query, key, n;
  };
  static std::size_t level_of(const pair& places) {
    return static_cast<std::size_t>(std::bit_width(places.query ^ places.key));
  }
  static bool is_causal(const pair& places) { return places.key <= places.query; }
  /// The steps that variants replace.
  struct scheme : recorded_scheme<scheme> {
    std::function<std::size_t(const pair& places)> level = level_of;
    std::function<bool(const pair& places)> sees = is_causal;
    /// The weight of each pair, queries by keys, from lambda [B, h, n, l].
    std::function<traced(const traced& lambda, const traced_integer& levels)> lambda_of =
        [](const traced& lambda, const traced_integer& levels) { return taken_along(lambda, levels, 3); };
    /// Takes gates [B, h, 1, n]. Gives their sums after each key up to a query [B, h, n, n], as in forgetting
    /// attention.
    decltype(fox::scheme::sums) sums = fox::scheme().sums;
    std::function<traced(const traced& sum)> fading = [](const traced& sum) { return exp(sum); };
    /// The weight of a value for a query.
    std::function<traced(const traced& lambda, const traced& decay, const traced& product)> weight =
        [](const traced& lambda, const traced& decay, const traced& product) { return lambda * decay * product; };
  };
  static scheme algorithm(accuracy_class c) {
    scheme steps;
    steps.sums = fox::algorithm(c).sums;
    return steps;
  }
  static std::vector<recorded_formula<scheme>> formulas() {
    return {{declaration(), attend, {accuracy_class::sequential, accuracy_class::cumsum}}};
  }
  /// The number of levels of n tokens.
  static std::size_t levels_of(std::size_t n) {
    return 1 + static_cast<std::size_t>(n == 0 ? 0 : std::bit_width(n - 1));
  }

 private:
  static core::operation declaration();
  static formula::program attend(const scheme& steps, const formula::program_sizes& call);
};

inline formula::program log_linear_attention::attend(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const std::size_t rows = in.size("B"), n = in.size("n"), group = in.size("u"), heads = in.size("h") * group;
  const core::shape pairs{rows, heads, n, n}, products{rows, in.size("h"), n, n};
  std::vector<bool> sees;
  std::vector<std::int64_t> level;
  for (std::size_t query = 0; query < n; ++query)
    for (std::size_t key = 0; key < n; ++key) {
      sees.push_back(steps.sees({query, key, n}));
      level.push_back(static_cast<std::int64_t>(steps.level({query, key, n})));
    }
  const traced_truth known = formula::known_truths({n, n}, sees), seen = broadcast(known, pairs);

  const traced decay = in_stage<traced>(stage::gates, [&] {
    const traced gates = reshaped(transposed(in["g"], {0, 2, 1}), {rows, heads, 1, n});
    const traced_integer own = reshaped(formula::counted(n), {n, 1});
    return steps.fading(either(seen, steps.sums(gates, own), traced(0.0)));
  });
  const traced lambda = steps.lambda_of(transposed(in["level_scales"], {0, 2, 1, 3}),
                                        broadcast(formula::known_integers({n, n}, level), pairs));
  const traced weights = in_stage<traced>(stage::weights, [&] {
    const traced product = contracted_at(broadcast(known, products), in["q"], in["k"], "bihd,bjhd->bhij");
    const traced grouped_products = reshaped(product, {rows, in.size("h"), 1, n, n});
    return steps.weight(lambda, decay, reshaped(broadcast(grouped_products, {rows, in.size("h"), group, n, n}), pairs));
  });
  return in.finish(in_stage<traced>(stage::output, [&] {
    return contracted_where(seen, taken_from(static_cast<std::size_t>(stage::weights), weights), in["v"],
                            "bhij,bjhe->bihe") *
           factor_of_logits(in.setting<std::string>("scale"), in.size("d"));
  }));
}

inline core::operation log_linear_attention::declaration() {
  const std::vector<std::string> keys{"B", "n", "h", "d"}, values{"B", "n", "h*u", "e"};
  return {
      .name = "log_linear_attention/scalar_gates",
      .source = "Guo et al. 2025, arXiv 2506.04761, section 3",
      .inputs = {{.name = "q", .axes = keys, .meaning = "queries"},
                 {.name = "k", .axes = keys, .meaning = "keys"},
                 {.name = "v", .axes = values, .meaning = "values"},
                 {.name = "g",
                  .axes = {"B", "n", "h*u"},
                  .meaning = "logarithms of what the past is multiplied by before a token writes",
                  .domain = {.low = -0x1p40, .high = 0.0},
                  .summed_over_time = true,
                  .role = core::input_role::logit},
                 {.name = "level_scales",
                  .axes = {"B", "n", "h*u", "l"},
                  .meaning = "weights of a query for the tokens of each level"}},
      .outputs = {{.name = "o", .axes = values, .meaning = "what queries read", .scale = core::error_scale::by_row}},
      .attributes = {scale_of_outputs(),
                     integer("group", {1, 2, 3}, {1.0, 0x1p20}, "how many heads of v share a head of q and k", "u")},
      .stages = {{.name = "weights", .meaning = "products of queries and keys, as pairs weigh them", .narrow = true},
                 {.name = "output", .meaning = "values by their weights, and o", .narrow = true},
                 {.name = std::string(core::accumulation), .meaning = "sums over features and tokens"},
                 {.name = "gates", .meaning = "sums of gates and their exponentials"}},
      .grows_with = core::with_tokens,
      .independent = {"B", "h"},
      .axis_roles = {{"l", core::axis_role::parameter}, {"u", core::axis_role::parameter}},
      .conflict = [](const core::attributes&, const core::axis_sizes& sizes) -> std::string {
        const std::size_t n = sizes.at("n"), all = levels_of(n);
        if (sizes.at("l") >= all) return {};
        return std::to_string(n) + " tokens have " + std::to_string(all) + " levels, and l is " +
               std::to_string(sizes.at("l"));
      }};
}

}  // namespace assay::reference::encodings
