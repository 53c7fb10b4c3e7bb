// Stick-breaking attention (Tan, Shen, Yang, Courville and Panda, "Scaling Stick-Breaking Attention: An Efficient
// Implementation and In-depth Study", ICLR 2025, arXiv 2410.17980): each key breaks its weight off the part that nearer
// keys have left, and there is no other position encoding,
//
//   a_ij = sigmoid(z_ij) prod_{j < l < i} (1 - sigmoid(z_il)),   r_i = prod_{l < i} (1 - sigmoid(z_il))     eq. (2)
//
// `sba/attention` uses these weights: o_i = sum_j a_ij v_j for z = scale q k^T, plus r_i v_i where `remainder` is
// "value", as in the released layer.
//
// Shapes: logits z and weights a [B, h, n, m], remainder r [B, h, n]; q [B, h, n, d], k [B, h, m, d], v [B, h, m, e], o
// [B, h, n, e]. Queries are the last of the keys: query i stands at key i + m - n. It sees the keys before it, and its
// own key with `attend_current`. A query that sees none has r = 1; the weight of a key that it does not see is 0, a
// constant.
//
// `softplus`: "exact"; "linear_above_15", as shawntan/stickbreaking-attention describes it, where softplus(z) is z for
// z > 15, so that a row may add up to 1 + 3e-7; "base2", as in its kernels (sb_varlen/softplus.py), which compare with
// 15 in units of log 2, 10.397, so that the sum may be 1 + 3e-5. There it is another function, with the slope 1, and no
// rounding. z = -inf: the key is transparent and has weight 0. z = +inf: the key takes all that is left, and older keys
// have exactly 0. NaN reaches its own key, older ones and r. Laws: sums of softplus from the query back are of class
// sequential. Products of sigmoid(-z), and log(1 + exp(z)) for softplus, are of class linear: both lose exp(z) beside
// 1. Sums computed as the total less prefix sums are of class cumsum.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "reference/kinds/attention.hpp"
#include "reference/kinds/softplus.hpp"

namespace assay::reference::encodings {

struct sba {
  static constexpr std::string_view name = "sba";
  static core::encoding_summary summary() {
    return {.what = "stick-breaking attention",
            .formula = "a_ij = sigmoid(z_ij) prod_{j<k<i} sigmoid(-z_ik)",
            .sources = {{"Tan et al. 2025", "https://arxiv.org/abs/2410.17980"}}};
  }

  /// The parts of the weights that have a format of their own.
  enum class stage { weights, softplus };

  using traced = formula::traced;
  /// Weights of keys [B, h, n, m], and the remainder, a column beside them.
  struct broken {
    traced weights, left;
  };
  /// The keys that are seen, and the softplus of a logit. Where the setting `softplus` makes it linear, it is the logit
  /// itself; then the key breaks off everything, but the remainder is still multiplied by exp(-z).
  struct stick {
    formula::traced_truth seen;
    formula::traced_integer factors, all_factors;  ///< number of factors in a weight, and in the remainder
    std::string softplus;
    std::size_t stage;  ///< stage of the softplus, which a program may keep in the dtype of the logits
    bool is_truth;

    /// `linear` where the setting `softplus` makes the softplus of z linear, else `exact`.
    [[nodiscard]] traced by_setting(const traced& z, const traced& linear, const traced& exact) const {
      if (softplus == "exact") return exact;
      const traced fifteen(15.0), above = softplus == "base2" ? fifteen * log(traced(2.0)) : fifteen;
      return either(less(above, z), linear, exact);
    }
    [[nodiscard]] traced share(const traced& z) const { return by_setting(z, traced(1.0), sigmoid(z)); }
    [[nodiscard]] traced left_by(const traced& z) const { return by_setting(z, exp(-z), sigmoid(-z)); }
    /// log sigmoid(z) = z - softplus(z)
    [[nodiscard]] traced log_share(const traced& z) const { return by_setting(z, traced(0.0), log_sigmoid(z)); }
    /// The softplus of logits; 0 for keys that are not seen.
    [[nodiscard]] traced softplus_by(const std::function<traced(const traced&)>& exact_softplus,
                                     const traced& z) const {
      const traced all = in_stage<traced>(stage, [&] { return by_setting(z, z, exact_softplus(z)); });
      return either(seen, all, traced(0.0));
    }
  };
  struct scheme : recorded_scheme<scheme> {
    std::function<traced(const traced& z)> softplus_of = [](const traced& z) { return softplus(z); };
    /// Sums from each key on, up to the query.
    std::function<traced(const traced& terms)> sums = [](const traced& x) { return sums_from_each_on(x, keys); };
    bool has_factors = false;  ///< products of sigmoids are right as well
    /// If set, it replaces all steps from the logits to the weights.
    std::function<broken(const traced& z, const stick& breaking)> weights{};
  };
  static scheme algorithm(accuracy_class c) {
    scheme steps;
    if (c == accuracy_class::linear) steps.softplus_of = log_of_sum, steps.has_factors = true;
    if (c == accuracy_class::cumsum) steps.sums = [](const traced& x) { return sums_from_each_on_by_total(x, keys); };
    return steps;
  }
  static std::vector<recorded_formula<scheme>> formulas() {
    const std::vector<accuracy_class> all{accuracy_class::sequential, accuracy_class::linear, accuracy_class::cumsum};
    return {{weights_declaration(), weights, all}, {attention_declaration(), attention, all}};
  }
  static constexpr std::size_t keys = 3;  ///< the axis of keys

  /// Three kinds of sums up to the query: from each key on, from the key after each key on, and of all keys.
  struct sums_of_keys {
    traced from_own, from_next, total;
    explicit sums_of_keys(const traced& sums);
  };
  /// exp(z - sum). Arithmetic subtracts the sum that includes the key's own softplus, as kernels do, unless this is
  /// infinity less infinity. Proofs keep all digits of log sigmoid(z).
  static broken by_sums(const scheme& steps, const traced& z, const stick& breaking);

 private:
  static core::operation weights_declaration();
  static core::operation attention_declaration();
  static traced softplus_of_law(const traced& z);
  static broken with_factors(const broken& all, const traced& z, const stick& breaking);
  /// z, or 0 where z is infinite.
  static traced finite(const traced& z) {
    return either(equal(magnitude_of(z), traced(std::numeric_limits<double>::infinity())), traced(0.0), z);
  }
  static stick stick_of(const recorded_call& in, std::size_t softplus_stage);
  static broken broken_by(const scheme& steps, bool is_law, const traced& z, const stick& breaking);
  static formula::program weights(const scheme& steps, const formula::program_sizes& call);
  static formula::program attention(const scheme& steps, const formula::program_sizes& call);
};

inline core::operation sba::weights_declaration() {
  const auto relative = [](const char* called, std::vector<std::string> axes, const char* meaning) {
    return core::tensor_declaration{.name = called,
                                    .axes = std::move(axes),
                                    .meaning = meaning,
                                    .domain = {.low = 0.0},
                                    .scale = core::error_scale::relative};
  };
  return {.name = "sba/weights",
          .source = "Tan et al. 2025, arXiv 2410.17980, eq. (2)",
          .inputs = {{.name = "z",
                      .axes = {"B", "h", "n", "m"},
                      .meaning = "logits, queries by keys; -inf: the key is transparent",
                      .domain = {.minus_infinity = true},
                      .summed_over_time = true,
                      .role = core::input_role::logit}},
          .outputs = {relative("a", {"B", "h", "n", "m"}, "weights, queries by keys"),
                      relative("r", {"B", "h", "n"}, "what a query leaves")},
          .attributes = {flag("attend_current", false, "whether a query sees its own key"),
                         choice("softplus", {"exact", "linear_above_15", "base2"},
                                "what softplus is for large z: log(1 + exp(z)), z above 15, or z above 15 log 2")},
          .stages = {{.name = "weights", .meaning = "sums of softplus, and exponentials"},
                     {.name = "softplus", .meaning = "softplus of the logits, as the sums take it", .narrow = true}},
          .grows_with = core::with_keys,
          .independent = {"B", "h"},
          .named_only = true};
}
inline core::operation sba::attention_declaration() {
  const core::operation weights = weights_declaration();
  core::operation attention = attention_operation("sba/attention", "m");
  attention.source = weights.source;
  attention.outputs.front().meaning = "sums of the values by their weights";
  attention.outputs.push_back(weights.outputs.back());
  attention.attributes.insert(attention.attributes.end(), weights.attributes.begin(), weights.attributes.end());
  attention.attributes.push_back(choice("remainder", {"drop", "value"},
                                        "where the rest of the weights goes: nowhere, or to the query's own value"));
  attention.stages[static_cast<std::size_t>(attention_stage::softmax)] = weights.stages.front();
  attention.stages.push_back(weights.stages.back());
  attention.grows_with = weights.grows_with;
  attention.independent = weights.independent;
  attention.named_only = weights.named_only;
  return attention;
}

inline sba::sums_of_keys::sums_of_keys(const traced& sums) {
  core::shape one = shape_of(sums);
  const std::size_t m = one.back();
  one.back() = 1;
  const traced all = formula::joined({sums, broadcast(traced(0.0), one)}, keys);
  from_own = sums, from_next = between(all, keys, 1, m + 1), total = between(all, keys, 0, 1);
}

/// softplus whose slope may also be 1 - y, as in automatic differentiation of y = sigmoid(-z).
inline sba::traced sba::softplus_of_law(const traced& z) {
  const traced x = finite(z);
  return with_slope(softplus(z), x, covering(sigmoid(x), [&] { return traced(1.0) - sigmoid(-x); }));
}

/// The errors of products of sigmoids: 4 u for each sigmoid, 1 u for each product, and the errors of the logits.
inline sba::broken sba::with_factors(const broken& all, const traced& z, const stick& breaking) {
  const traced x = finite(z), error = x - without_error(x), none(0.0);
  const sums_of_keys sums(sums_from_each_on(either(breaking.seen, without_error(sigmoid(x)) * error, none), keys));
  // The relative error of k factors is r_k = (1 + 4 u) r_{k-1} + 5 u, less the part that the other ways already charge.
  const auto off = [&](const traced& y, const traced& error_of_log, const formula::traced_integer& factors) {
    using integer = formula::traced_integer;
    const integer roundings = clamp(factors * integer::constant(4) - integer::constant(4), 0, 1 << 30);
    return covering(y, [&] {
      const traced exact = without_error(y), grown = exp(off_by(none, index_number(roundings))) - traced(1.0);
      const traced made = exact + exact * (error_of_log + traced(1.25) * grown);
      return either(less(integer::constant(0), factors), made, y);
    });
  };
  return {off(all.weights, without_error(sigmoid(-x)) * error - sums.from_next, breaking.factors),
          off(all.left, sums.total, breaking.all_factors)};
}

inline sba::broken sba::by_sums(const scheme& steps, const traced& z, const stick& breaking) {
  const traced none(0.0), infinite(std::numeric_limits<double>::infinity());
  const sums_of_keys sums(steps.sums(breaking.softplus_by(steps.softplus_of, z)));
  // Kernels that work in base two multiply z and the sum with log2 e, a constant and a product, each of which rounds.
  const auto less_sum = [](const traced& x, const traced& sum) {
    const auto in_base_two = [](const traced& y) { return rounded_once(rounded_once(y)); };
    return covering(x - sum, [&] { return in_base_two(x) - in_base_two(sum); });
  };
  const traced exponent = breaking.is_truth ? breaking.log_share(z) - sums.from_next
                                            : either(equal(z, infinite), -sums.from_next, less_sum(z, sums.from_own));
  return {either(breaking.seen, exp(exponent), none), exp(less_sum(none, sums.total))};
}

inline sba::stick sba::stick_of(const recorded_call& in, std::size_t softplus_stage) {
  const std::size_t n = in.size("n"), m = in.size("m"), own = in.setting<bool>("attend_current") ? 1 : 0;
  std::vector<bool> is_seen;
  std::vector<std::int64_t> factors, all_factors;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t behind = i + m + own, seen = behind > n ? std::min(behind - n, m) : 0;
    all_factors.push_back(static_cast<std::int64_t>(seen));
    for (std::size_t j = 0; j < m; ++j) {
      is_seen.push_back(j < seen);
      factors.push_back(static_cast<std::int64_t>(j < seen ? seen - j : 0));
    }
  }
  return {seen_of(in, is_seen),
          formula::known_integers({n, m}, factors),
          formula::known_integers({n, 1}, all_factors),
          in.setting<std::string>("softplus"),
          softplus_stage,
          in.is_truth()};
}

inline sba::broken sba::broken_by(const scheme& steps, bool is_law, const traced& z, const stick& breaking) {
  if (steps.weights) return steps.weights(z, breaking);
  if (!steps.has_factors || !is_law) return by_sums(steps, z, breaking);
  scheme law = steps;
  law.softplus_of = softplus_of_law;
  return with_factors(by_sums(law, z, breaking), z, breaking);
}

inline formula::program sba::weights(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const traced z = in["z"];
  const stick breaking = stick_of(in, static_cast<std::size_t>(stage::softplus));
  const auto [weights, left] = in_stage<traced>(
      stage::weights, [&] { return broken_by(steps, call.for_what == formula::purpose::law, z, breaking); });
  return in.finish_all({weights, reshaped(left, {in.size("B"), in.size("h"), in.size("n")})});
}

inline formula::program sba::attention(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const traced q = in["q"], k = in["k"], v = in["v"];
  const std::size_t n = in.size("n"), m = in.size("m"), without_key = n - std::min(n, m);
  const stick breaking = stick_of(in, attention_stages().size());
  const traced z = in_stage<traced>(attention_stage::scores, [&] {
    return factor_of_logits(in.setting<std::string>("scale"), in.size("d")) *
           contracted_at(breaking.seen, q, k, "bhid,bhjd->bhij");
  });
  const auto softmax = static_cast<std::size_t>(attention_stage::softmax);
  const auto [weights, left] =
      in_stage<traced>(softmax, [&] { return broken_by(steps, call.for_what == formula::purpose::law, z, breaking); });
  const traced o = in_stage<traced>(attention_stage::output, [&] {
    const traced sum = contracted_where(breaking.seen, taken_from(softmax, weights), v, "bhij,bhjc->bhic");
    if (in.setting<std::string>("remainder") == "drop") return sum;
    const core::shape before{in.size("B"), in.size("h"), without_key, in.size("e")};
    const traced own = formula::joined({broadcast(traced(0.0), before), between(v, 2, m - (n - without_key), m)}, 2);
    return sum + taken_from(softmax, left) * own;
  });
  return in.finish_all({o, reshaped(left, {in.size("B"), in.size("h"), n})});
}

}  // namespace assay::reference::encodings
