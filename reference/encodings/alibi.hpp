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
#include <functional>
#include <limits>
#include <string>
#include <string_view>

#include "reference/derived_vjp.hpp"
#include "reference/operation_record.hpp"
#include "reference/readings/tracked.hpp"

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
alibi_term alibi_term_of(const alibi_rule& rule, std::size_t k);
/// The exponent e of its slope 2^e.
inline rational alibi_exponent(const alibi_rule& rule, std::size_t k) { return alibi_term_of(rule, k).exponent(); }

/// The slope by products of the first one, as the published program has it: whose rounding they raise to its power.
template <class R>
R alibi_slope_by_products(const alibi_rule& rule, std::size_t k) {
  const alibi_term term = alibi_term_of(rule, k);
  const R first = power(R(2.0), term.first);
  R slope = first;
  for (long i = 1; i < term.count; ++i) slope = slope * first;
  return slope;
}

/// How a bias depends on the positions of query and key.
struct alibi_form {
  std::string name;
  bool causal = true;
  double last = 0;

  [[nodiscard]] bool hides(double query, double key) const { return causal && key > query; }
  /// B / m: an exact integer for positions below 2^52.
  [[nodiscard]] double coefficient(double query, double key) const {
    return core::chosen<double>(name, {{"distance", key - query},
                                       {"absolute", -std::fabs(query - key)},
                                       {"key", key},
                                       {"key_from_last", key - last}});
  }
};

struct alibi {
  static constexpr std::string_view name = "alibi";

  /// What algorithms and mutants replace.
  template <class R>
  struct recipe : differentiable_recipe<recipe, R> {
    std::function<R(const alibi_rule& rule, std::size_t head)> slope = [](const alibi_rule& rule, std::size_t head) {
      return power(R(2.0), alibi_exponent(rule, head));
    };
    std::function<bool(const alibi_form& form, double query, double key)> hides = &alibi_form::hides;
    std::function<R(const alibi_form& form, double query, double key)> coefficient =
        [](const alibi_form& form, double query, double key) { return from_integer<R>(form.coefficient(query, key)); };
    std::function<R(const R& m, const R& c)> product = [](const R& m, const R& c) { return m * c; };
  };

  /// That of the published program, which allows for one power a head as well.
  template <class R>
  static recipe<R> law(accuracy_class) {
    recipe<R> how;
    how.slope = alibi_slope_by_products<R>;
    return how;
  }

  template <class R>
  using record = operation_record<R, recipe<R>>;
  template <class R>
  static std::vector<record<R>> records() {
    return {slopes_record<R>(), bias_record<R>()};
  }

 private:
  template <class R>
  static record<R> slopes_record();
  template <class R>
  static record<R> bias_record();
  template <class R>
  static fields<R> slopes(const arguments<R>& call, const recipe<R>& how);
  template <class R>
  static fields<R> bias(const arguments<R>& call, const recipe<R>& how);
  static constexpr const char* source = "Press, Smith and Lewis 2022, arXiv 2108.12409, section 3";
};

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

template <class R>
alibi::record<R> alibi::slopes_record() {
  using core::attribute, std::string;
  std::vector<attribute> heads{attribute(std::int64_t{8})};
  for (const std::int64_t n : {1, 2, 3, 4, 5, 6, 7, 12, 16, 40, 71, 112}) heads.emplace_back(n);
  return {
      .declaration = {.name = "alibi/slopes",
                      .source = source,
                      // A power: it has the relative accuracy of its logarithm.
                      .outputs = {{.name = "slopes",
                                   .axes = {"h"},
                                   .meaning = "slope of each head",
                                   .scale = core::error_scale::relative}},
                      .attributes = {{.name = "heads",
                                      .meaning = "number of heads",
                                      .standard = std::int64_t{8},
                                      .values = heads,
                                      .low = 1,
                                      .high = 1024,
                                      .axis = "h"},
                                     {.name = "rule",
                                      .meaning =
                                          "how slopes are chosen, which differs where the heads are no power of two",
                                      .standard = string("official"),
                                      .values = {string("official"), string("naive"), string("mpt")}},
                                     {.name = "alpha_max",
                                      .meaning = "-log2 of the smallest slope of the rules naive and mpt; a multiple "
                                                 "of 1/16",
                                      .standard = 8.0,
                                      .values = {8.0, 4.0, 16.0},
                                      .low = 1.0 / alibi_rule::alpha_parts,
                                      .high = 64}},
                      .independent = {},
                      .conflict = [](const core::attributes& settings, const core::axis_sizes&) -> string {
                        const double parts = core::setting<double>(settings, "alpha_max") * alibi_rule::alpha_parts;
                        return parts == std::floor(parts) ? "" : "attribute 'alpha_max' must be a multiple of 1/16";
                      }},
      .algorithms = one_algorithm,
      .forward = slopes<R>,
      .vjp = not_differentiable,
      .jvp = not_offered};
}

template <class R>
alibi::record<R> alibi::bias_record() {
  using std::int64_t, std::string;
  constexpr double furthest = 0x1p31;
  const auto position = [](const char* name, const char* axis, const char* meaning) {
    return core::integers(name, {axis}, meaning, {-furthest, furthest}, core::input_role::position);
  };
  return {
      .declaration = {.name = "alibi/bias",
                      .source = source,
                      .inputs = {core::parameter("slopes", {"h"}, "slope of each head"),
                                 position("query_position", "n", "position of each query"),
                                 position("key_position", "m", "position of each key")},
                      // One product of a slope and an exact integer.
                      .outputs = {{.name = "bias",
                                   .axes = {"h", "n", "m"},
                                   .meaning = "logit bias, queries by keys",
                                   .scale = core::error_scale::relative}},
                      .attributes = {{.name = "form",
                                      .meaning = "what the slope multiplies: j - i, -|i - j|, j, or j - last_position",
                                      .standard = string("distance"),
                                      .values = {string("distance"), string("absolute"), string("key"),
                                                 string("key_from_last")}},
                                     {.name = "causal",
                                      .meaning = "-inf where the key comes after the query",
                                      .standard = true,
                                      .values = {true, false}},
                                     {.name = "last_position",
                                      .meaning = "of the last key, for the form key_from_last",
                                      .standard = int64_t{0},
                                      .values = {int64_t{0}, int64_t{7}, int64_t{500}},
                                      .low = 0,
                                      .high = furthest}},
                      .grows_with = &core::with_distance,
                      .independent = {"h", "n", "m"}},
      .algorithms = one_algorithm,
      .forward = bias<R>,
      .vjp = derived_vjp<alibi, R>,
      .jvp = not_offered};
}

template <class R>
fields<R> alibi::slopes(const arguments<R>& call, const recipe<R>& how) {
  const auto heads = static_cast<std::size_t>(call.template setting<std::int64_t>("heads"));
  const alibi_rule rule{call.template setting<std::string>("rule"), call.template setting<double>("alpha_max"), heads};
  field<R> slopes = make_field<R>({heads});
  for (std::size_t k = 0; k < heads; ++k) slopes.storage()[k] = how.slope(rule, k);
  return {{"slopes", std::move(slopes)}};
}

template <class R>
fields<R> alibi::bias(const arguments<R>& call, const recipe<R>& how) {
  const alibi_form form{call.template setting<std::string>("form"), call.template setting<bool>("causal"),
                        static_cast<double>(call.template setting<std::int64_t>("last_position"))};
  const field<R>& slopes = call["slopes"];
  const auto& queries = call.integers.at("query_position").values.storage();
  const auto& keys = call.integers.at("key_position").values.storage();
  field<R> bias = make_field<R>({slopes.size(), queries.size(), keys.size()});
  for (R& x : bias.storage()) x = R(-std::numeric_limits<double>::infinity());
  for (std::size_t i = 0; i < queries.size(); ++i)
    for (std::size_t j = 0; j < keys.size(); ++j) {
      if (how.hides(form, queries[i], keys[j])) continue;
      const R c = how.coefficient(form, queries[i], keys[j]);
      for (std::size_t k = 0; k < slopes.size(); ++k) bias(k, i, j) = how.product(slopes(k), c);
    }
  return {{"bias", std::move(bias)}};
}

}  // namespace assay::reference::encodings
