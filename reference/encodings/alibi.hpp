// Attention with linear biases (Press, Smith and Lewis, "Train Short, Test Long", ICLR 2022, arXiv 2108.12409): a
// logit bias that falls in proportion to the distance of query i and key j,
//
//   B_hij = -m_h (i - j) for j <= i, and -inf for j > i (the causal mask)                            section 3
//
// with a slope m_h for each head. Shapes: slopes [h]; positions of queries [n] and keys [m]; bias [h, n, m].
//
// `alibi/slopes`: head k = 1..n of n, c = 2^floor(log2 n), C = 2^ceil(log2 n).
//   official  2^(-8k/c) for the first c heads, 2^(-4(2t-1)/c) for the remaining ones t = 1..n-c, whatever alpha_max is.
//             The two bases of BLOOM and the m0, m1 of llama.cpp are the same function.
//   naive     2^(-alpha k/n) for every n
//   mpt       2^(-alpha k/C) at k = 2, 4, .., C, 1, 3, .. in this order, the first n of them; in their own order where
//             n = C. With alpha = 8 the official ones.
//
// `alibi/bias`: B = m c with an integer c(i, j), which is exact before it is multiplied.
//   distance       c = j - i
//   absolute       c = -|i - j|, for attention in both directions
//   key            c = j: rows differ from those of `distance` by the constant m i, invisible after softmax
//   key_from_last  c = j - last, as MPT has it: another row constant
// Causal: -inf for j > i. Otherwise the formula holds everywhere. BLOOM's form is `key` with the positions
// (cumsum(mask) - 1) mask, counted from the first token after the padding; the padding itself has position 0, so no
// bias. Falcon's form, which scales the bias with q . k, is another function. Heads without a bias have the slope 0.
//
// Special values: a slope of NaN or infinity gives m c by IEEE 754 (infinity times 0 is NaN); what is masked is -inf
// whatever the slope. Gradients: B is linear in m; cotangents of masked pairs belong to a constant.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "reference/kinds/pair_bias.hpp"

namespace assay::reference::encodings {

/// How the slopes of `heads` heads are chosen.
struct alibi_rule {
  std::string name;
  double alpha_max = 8;  ///< a multiple of 1 / alpha_parts
  std::size_t heads = 1;
  static constexpr long alpha_parts = 16;
};

/// The slope of a head is a power of the first one of its sequence, 2^first.
struct alibi_term {
  rational first;
  long count;
  [[nodiscard]] rational exponent() const { return ratio(first.p * count, first.q); }
};
/// Of head `k`, counted from 0.
inline alibi_term alibi_term_of(const alibi_rule& rule, std::size_t k) {
  const auto heads = static_cast<long>(rule.heads), head = static_cast<long>(k) + 1;
  const long alpha = std::lround(rule.alpha_max * alibi_rule::alpha_parts);
  enum class spacing { official, naive, mpt };
  const auto by = core::chosen<spacing>(
      rule.name, {{"official", spacing::official}, {"naive", spacing::naive}, {"mpt", spacing::mpt}});
  if (by == spacing::naive) return {ratio(-alpha, alibi_rule::alpha_parts * heads), head};
  long below = 1;
  while (2 * below <= heads) below *= 2;
  const long above = below == heads ? below : 2 * below;
  if (by == spacing::official)
    return head <= below ? alibi_term{ratio(-8, below), head} : alibi_term{ratio(-4, below), 2 * (head - below) - 1};
  const long place = above == heads ? head : head <= above / 2 ? 2 * head : 2 * (head - above / 2) - 1;
  return {ratio(-alpha, alibi_rule::alpha_parts * above), place};
}
/// The exponent e of its slope 2^e.
inline rational alibi_exponent(const alibi_rule& rule, std::size_t k) { return alibi_term_of(rule, k).exponent(); }

struct alibi {
  static constexpr std::string_view name = "alibi";
  static constexpr const char* source = "Press, Smith and Lewis 2022, arXiv 2108.12409, section 3";

  /// What algorithms and mutants replace.
  template <class R>
  struct recipe : differentiable_recipe<recipe, R> {
    recipe_step<R, R(const alibi_rule& rule, std::size_t head)> slope = [](const alibi_rule& rule, std::size_t head) {
      return power(R(2.0), alibi_exponent(rule, head));
    };
    recipe_step<R, R(const R& m, const R& c)> product = [](const R& m, const R& c) { return m * c; };
  };

  /// Slopes by products of the first one, as the published program has them: whose rounding they raise to its power. It
  /// allows for one power a head as well.
  template <class R>
  static recipe<R> law(accuracy_class) {
    recipe<R> how;
    how.slope = [](const alibi_rule& rule, std::size_t head) {
      const alibi_term term = alibi_term_of(rule, head);
      const R first = power(R(2.0), term.first);
      R slope = first;
      for (long i = 1; i < term.count; ++i) slope = slope * first;
      return slope;
    };
    return how;
  }

  static core::operation slopes_declaration() {
    return {.name = "alibi/slopes",
            .source = source,
            // A power: it has the relative accuracy of its logarithm.
            .outputs = {{.name = "slopes",
                         .axes = {"h"},
                         .meaning = "slope of each head",
                         .scale = core::error_scale::relative}},
            .attributes = {integer("heads", {8, 1, 2, 3, 4, 5, 6, 7, 12, 16, 40, 71, 112}, {1, 1024}, "number of heads",
                                   "h"),
                           choice("rule", {"official", "naive", "mpt"},
                                  "how slopes are chosen, which differs where the heads are no power of two"),
                           real("alpha_max", {8, 4, 16}, {1.0 / alibi_rule::alpha_parts, 64},
                                "-log2 of the smallest slope of the rules naive and mpt; a multiple of 1/16")},
            .independent = {},
            .conflict = [](const core::attributes& settings, const core::axis_sizes&) -> std::string {
              const double parts = core::setting<double>(settings, "alpha_max") * alibi_rule::alpha_parts;
              return parts == std::floor(parts) ? "" : "attribute 'alpha_max' must be a multiple of 1/16";
            }};
  }
  static core::operation bias_declaration() {
    return {.name = "alibi/bias",
            .source = source,
            .inputs = with_pair_positions({core::parameter("slopes", {"h"}, "slope of each head")}),
            .outputs = {pair_bias_output(core::error_scale::relative)},  // one product of a slope and an exact integer
            .attributes = {choice("form", {"distance", "absolute", "key", "key_from_last"},
                                  "what the slope multiplies: j - i, -|i - j|, j, or j - last_position"),
                           flag("causal", true, "-inf where the key comes after the query"),
                           integer("last_position", {0, 7, 500}, {0, 0x1p31},
                                   "of the last key, for the form key_from_last")},
            .independent = {"h", "n", "m"}};
  }
  template <class R>
  static std::vector<operation_record<R, recipe<R>>> records() {
    return {{.declaration = slopes_declaration(),
             .algorithms = one_algorithm,
             .forward = slopes<R>,
             .vjp = not_differentiable,
             .jvp = not_offered},
            pair_bias_record<bias_pairs, R>(bias_declaration())};
  }

 private:
  /// What a slope is multiplied by, c(i, j): exact for positions below 2^52.
  struct coefficients {
    bool causal;
    std::string form;
    double last;

    explicit coefficients(const core::attributes& settings)
        : causal(core::setting<bool>(settings, "causal")),
          form(core::setting<std::string>(settings, "form")),
          last(static_cast<double>(core::setting<std::int64_t>(settings, "last_position"))) {}
    [[nodiscard]] std::optional<double> distance(double query, double key) const {
      if (causal && key > query) return std::nullopt;
      return core::chosen<double>(form, {{"distance", key - query},
                                         {"absolute", -std::fabs(query - key)},
                                         {"key", key},
                                         {"key_from_last", key - last}});
    }
  };
  struct bias {
    template <class R>
    static R of(const head_of_pair<R>& p, const recipe<R>& how) {
      return how.product(p["slopes"], from_integer<R>(p.at.distance));
    }
  };
  template <class R>
  using bias_pairs = pairs_by_head<alibi, bias, R, coefficients>;
  template <class R>
  static fields<R> slopes(const arguments<R>& call, const recipe<R>& how) {
    const auto heads = static_cast<std::size_t>(call.template setting<std::int64_t>("heads"));
    const alibi_rule rule{call.template setting<std::string>("rule"), call.template setting<double>("alpha_max"),
                          heads};
    field<R> slopes = make_field<R>({heads});
    for (std::size_t k = 0; k < heads; ++k) slopes.storage()[k] = how.slope(rule, k);
    return {{"slopes", std::move(slopes)}};
  }
};

}  // namespace assay::reference::encodings
