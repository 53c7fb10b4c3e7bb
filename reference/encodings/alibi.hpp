// Attention with linear biases (Press, Smith and Lewis, "Train Short, Test Long", ICLR 2022, arXiv 2108.12409): a
// logit bias that falls in proportion to the distance of query i and key j,
//
//   B_hij = -m_h (i - j) for j <= i, and -inf for j > i (the causal mask)                            section 3
//
// with a slope m_h for each head. Shapes: slopes [h]; positions of queries [n] and keys [m]; bias [h, n, m]. Attention:
// q [B, h, n, d], k [B, h, m, d], v [B, h, m, e], o [B, h, n, e].
//
// `alibi/slopes`: head k = 1..n of n, c = 2^floor(log2 n), C = 2^ceil(log2 n). Where heads are split over devices, n is
// `all_heads`, and `first_head` is the first head of the call, counted from 0. `all_heads` = 0: the heads of the call
// are the last ones.
//   official  2^(-8k/c) for the first c heads, 2^(-4(2t-1)/c) for the remaining ones t = 1..n-c, whatever alpha_max is;
//             with `alpha_of_official` alpha in place of 8, and half of it in place of 4 (the `max_bias` of llama.cpp).
//             The two bases of BLOOM and the m0, m1 of llama.cpp are the same function.
//   naive     2^(-alpha k/n) for every n
//   mpt       2^(-alpha k/C) at k = 2, 4, .., C, 1, 3, .. in this order, the first n of them; in their own order where
//             n = C. With alpha = 8 these are the official ones.
//
// `alibi/bias`: B = m c with an integer c(i, j), which is exact before the multiplication.
//   distance       c = j - i
//   absolute       c = -|i - j|, for attention in both directions
//   key            c = j: rows differ from those of `distance` by the constant m i, invisible after softmax
//   key_from_last  c = j - last, as in MPT: rows differ by another constant
// With `causal`, B = -inf for j > i. Otherwise the formula holds everywhere. BLOOM's form is `key` with the positions
// (cumsum(mask) - 1) mask, counted from the first token after the padding; the padding itself has position 0, so it has
// no bias. Heads without a bias have the slope 0.
//
// `alibi/attention`: softmax(scale q k^T + factor B) v as in fused kernels, which take slopes, and no bias. Tokens are
// counted as they lie: key j stands at j, query i at i + m - n, or at i. Slopes are constants of this operation. Rows
// of logits may differ by constants. Unless the bias is -m |i - j|, kernels may add m j, as causal ones do
// (Dao-AILab/flash-attention, csrc/flash_attn/src/alibi.h), or m (j - last), as their tests and MPT do. Both lose
// digits as the number of keys grows, and are of class linear; m (j - i) is of class sequential. Falcon scales the bias
// together with q . k: `bias_factor` inverse_sqrt.
//
// Special values: a slope of NaN or infinity gives m c by IEEE 754 (infinity times 0 is NaN). A masked pair is -inf
// whatever the slope is. Gradients: B is linear in m; cotangents of masked pairs belong to a constant.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reference/kinds/attention.hpp"
#include "reference/kinds/pair_bias.hpp"

namespace assay::reference::encodings {

/// The rule for the slopes of `heads` heads.
struct alibi_rule {
  std::string name;
  double alpha_max = 8;  ///< a multiple of 1 / alpha_parts
  std::size_t heads = 1;
  bool alpha_of_official = false;  ///< alpha_max also counts for the rule "official"
  static constexpr long alpha_parts = 16;
};

/// The slope of a head: the first slope of its sequence, 2^first, to the power `count`.
struct alibi_term {
  rational first;
  long count;
  [[nodiscard]] rational exponent() const { return ratio(first.p * count, first.q); }
};
/// The term of head `k`, counted from 0.
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
  if (by == spacing::official) {
    const long p = rule.alpha_of_official ? alpha : 8 * alibi_rule::alpha_parts, q = alibi_rule::alpha_parts * below;
    return head <= below ? alibi_term{ratio(-p, q), head} : alibi_term{ratio(-p, 2 * q), 2 * (head - below) - 1};
  }
  const long place = above == heads ? head : head <= above / 2 ? 2 * head : 2 * (head - above / 2) - 1;
  return {ratio(-alpha, alibi_rule::alpha_parts * above), place};
}
/// The exponent e of the slope 2^e of a head.
inline rational alibi_exponent(const alibi_rule& rule, std::size_t k) { return alibi_term_of(rule, k).exponent(); }

inline formula::traced alibi_slope(const alibi_rule& rule, std::size_t k) {
  return formula::power(formula::traced(2.0), alibi_exponent(rule, k));
}
/// Slopes as products of the first slope of their sequence, as in the published program: the power also raises the
/// rounding of that slope.
class alibi_products {
 public:
  formula::traced slope(const alibi_term& term) {
    std::vector<formula::traced>& all = by_first_[{term.first.p, term.first.q}];
    if (all.empty()) all.push_back(formula::power(formula::traced(2.0), term.first));
    while (all.size() < static_cast<std::size_t>(term.count)) all.push_back(all.back() * all.front());
    return all[static_cast<std::size_t>(term.count) - 1];
  }

 private:
  std::map<std::pair<long, long>, std::vector<formula::traced>> by_first_{};
};

/// The places of a query, its key and the last key in attention.
struct alibi_pair {
  formula::traced_integer query, key, last;
};
/// The bias of a pair: m (j - i), or -m |i - j| if `both` directions count by their distance.
inline formula::traced alibi_bias(const formula::traced& slope, bool both, const alibi_pair& places) {
  const formula::traced_integer apart = places.key - places.query, none = formula::traced_integer::constant(0);
  return slope * to_real(both ? none - magnitude_of(apart) : apart);
}
/// m j in place of m (j - i), from which rows differ by a constant; -m |i - j| if `both` is true.
inline formula::traced alibi_bias_of_key(const formula::traced& slope, bool both, const alibi_pair& places) {
  return both ? alibi_bias(slope, both, places) : slope * to_real(places.key);
}
/// m (j - i), computed through m last. The index of a key is at most `last`, from either end. So the error is larger
/// than that of m j and of m (j - last), and larger than that of a logit that is rounded with one of these. Where the
/// logit itself has a less precise format, m (j - i) charges for this, as for a kernel that adds in f32.
inline formula::traced alibi_law_of_key(const formula::traced& slope, const alibi_pair& places) {
  const auto product = [&](const formula::traced_integer& c) { return slope * to_real(c); };
  return (product(places.key) + product(places.last)) - (product(places.query) + product(places.last));
}

struct alibi {
  static constexpr std::string_view name = "alibi";
  static core::encoding_summary summary() {
    return {.what = "linear biases",
            .formula = "B_ij = -m_h (i - j), m_h = 2^(-8 h / H) of head h = 1 ... H, H a power of two",
            .sources = {{"Press, Smith and Lewis 2022", "https://arxiv.org/abs/2108.12409"}}};
  }
  static constexpr const char* source = "Press, Smith and Lewis 2022, arXiv 2108.12409, section 3";

  using traced = formula::traced;
  /// The steps that variants replace.
  struct scheme : attention_scheme, recorded_scheme<scheme> {
    std::function<traced(const alibi_rule& rule, std::size_t head)> slope = alibi_slope;
    std::function<traced(const traced& m, const traced& c)> product = [](const traced& m, const traced& c) {
      return m * c;
    };
    std::function<traced(const traced& slope, bool both, const alibi_pair& places)> attended = alibi_bias;
  };
  static scheme algorithm(accuracy_class c) {
    scheme steps;
    if (c == accuracy_class::linear) steps.attended = alibi_bias_of_key;
    return steps;
  }

  static core::operation slopes_declaration() {
    return {
        .name = "alibi/slopes",
        .source = source,
        // A slope is a power: it has the relative accuracy of its logarithm.
        .outputs =
            {{.name = "slopes", .axes = {"h"}, .meaning = "slope of each head", .scale = core::error_scale::relative}},
        .attributes =
            {integer("heads", {8, 1, 2, 3, 4, 5, 6, 7, 12, 16, 40, 71, 112}, {1, 1024}, "how many heads there are",
                     "h"),
             integer("all_heads", {0, 12, 40, 1024}, {0, 1024},
                     "how many heads the model has; 0: the heads of the call are its last ones"),
             integer("first_head", {0, 1, 7, 30}, {0, 1023},
                     "which head of the model is the first head of the call, counted from 0"),
             choice("rule", {"official", "naive", "mpt"},
                    "how slopes are chosen for H heads: as Press et al. do, as 2^(-alpha_max h / H), or as MPT does"),
             real("alpha_max", {8, 4, 16}, {1.0 / alibi_rule::alpha_parts, 64},
                  "-log2 of the smallest slope by the rules naive and mpt; a multiple of 1/16"),
             since({0, 2}, flag("alpha_of_official", false, "whether alpha_max counts for the rule official, too"))},
        .independent = {},
        .conflict = [](const core::attributes& settings, const core::axis_sizes&) -> std::string {
          const double parts = core::setting<double>(settings, "alpha_max") * alibi_rule::alpha_parts;
          if (parts != std::floor(parts)) return "attribute 'alpha_max' must be a multiple of 1/16";
          const slice_of_heads slice(settings);
          return slice.first + slice.heads <= slice.all
                     ? ""
                     : "first_head + heads is " + std::to_string(slice.first + slice.heads) + ": more than the " +
                           std::to_string(slice.all) + " heads of the model";
        }};
  }
  static core::operation bias_declaration() {
    return {
        .name = "alibi/bias",
        .source = source,
        .inputs = with_pair_positions({core::parameter("slopes", {"h"}, "slope of each head")}),
        .outputs = {pair_bias_output(core::error_scale::relative)},  // one product of a slope and an exact integer
        .attributes = {choice(
                           "form", {"distance", "absolute", "key", "key_from_last"},
                           "what the slope multiplies for query i and key j: j - i, -|i - j|, j, or j - last_position"),
                       flag("causal", true, "whether keys after the query have the bias -inf"),
                       integer("last_position", {0, 7, 500}, {0, 0x1p31},
                               "position of the last key, which the form key_from_last counts from")},
        .independent = {"h", "n", "m"}};
  }
  static core::operation attention_declaration() {
    core::tensor_declaration slopes = core::parameter("slopes", {"h"}, "slope of each head");
    slopes.differentiable = false;  // as in kernels: alibi/bias has the gradients of slopes
    core::operation op = attention_of_places("alibi/attention", std::move(slopes), true,
                                             {.name = "bias", .meaning = "slopes times distances"});
    op.source = source;
    op.attributes.push_back(
        choice("form", {"distance", "absolute"},
               "what the slope multiplies for query i and key j: j - i, or -|i - j|, which differ after the query"));
    return op;
  }
  static std::vector<recorded_formula<scheme>> formulas() {
    return {{slopes_declaration(), slopes},
            {pair_operation(bias_declaration()), bias},
            {attention_declaration(), attention, {accuracy_class::sequential, accuracy_class::linear}}};
  }

 private:
  /// The heads of a call of alibi/slopes among those of the model.
  struct slice_of_heads {
    std::int64_t heads, all, first;

    explicit slice_of_heads(const core::attributes& settings)
        : heads(core::setting<std::int64_t>(settings, "heads")),
          all(core::setting<std::int64_t>(settings, "all_heads")),
          first(core::setting<std::int64_t>(settings, "first_head")) {
      if (all == 0) all = first + heads;
    }
  };
  static formula::program slopes(const scheme& steps, const formula::program_sizes& call);
  static formula::program bias(const scheme& steps, const formula::program_sizes& call);
  static formula::program attention(const scheme& steps, const formula::program_sizes& call);
};

inline formula::program alibi::slopes(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const slice_of_heads slice(in.settings());
  const alibi_rule rule{in.setting<std::string>("rule"), in.setting<double>("alpha_max"),
                        static_cast<std::size_t>(slice.all), in.setting<bool>("alpha_of_official")};
  std::vector<traced> all;
  alibi_products products;
  for (std::int64_t k = 0; k < slice.heads; ++k) {
    const auto head = static_cast<std::size_t>(slice.first + k);
    const traced slope = covering(steps.slope(rule, head), [&] { return products.slope(alibi_term_of(rule, head)); });
    all.push_back(reshaped(slope, {1}));
  }
  return in.finish(joined(all, 0));
}

inline formula::program alibi::bias(const scheme& steps, const formula::program_sizes& call) {
  using index = formula::traced_integer;
  recorded_pairs pairs(call);
  const index query = pairs.query(), key = pairs.key(), none = index::constant(0);
  const auto last = [&] { return index::constant(pairs.setting<std::int64_t>("last_position")); };
  const auto form = pairs.setting<std::string>("form");
  const index c = form == "distance"   ? key - query
                  : form == "absolute" ? none - magnitude_of(query - key)
                  : form == "key"      ? key
                                       : key - last();
  const traced b = steps.product(pairs["slopes"], to_real(c)), hidden(-std::numeric_limits<double>::infinity());
  return pairs.finish(pairs.setting<bool>("causal") ? either(less(query, key), hidden, b) : b);
}

inline formula::program alibi::attention(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const traced slopes = reshaped(in["slopes"], {in.size("h"), 1, 1});
  const bool both = !in.setting<bool>("causal") && in.setting<std::string>("form") == "absolute",
             is_law_of_key =
                 call.for_what == formula::purpose::law && call.algorithm == accuracy_class::linear && !both;
  return in.finish(attended_by_places(steps, in, [&](const recorded_places& places) {
    const alibi_pair pair{places.query_numbers(), places.key_numbers(), places.last_key()};
    return is_law_of_key ? alibi_law_of_key(slopes, pair) : steps.attended(slopes, both, pair);
  }));
}

}  // namespace assay::reference::encodings
