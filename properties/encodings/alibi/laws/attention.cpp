// The laws of linear biases behind a softmax. One asks an implementation's biases and its attention; the other one its
// attention alone, with biases that every format holds exactly.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "properties/encodings/alibi/laws/cases.hpp"
#include "properties/encodings/alibi/laws/laws.hpp"

namespace assay::properties::encodings::alibi {
namespace {

const core::operation* attention() { return reference::find_operation("attention/output"); }

core::tensor drawn(core::dtype type, const core::shape& shape, core::counter_random& random, double low, double high) {
  core::tensor t = core::zeros(type, shape);
  for (double& x : t.values.storage()) x = core::round_to(type, random.uniform(low, high));
  return t;
}

// How far logits with the biases of two calls may lie apart, but for a number of each row: e^2d - 1, d the largest sum
// of what the two are allowed, bounds the sum of what all weights of a query may change by.
double change_of_weights(const measured_call& x, const measured_call& y) {
  double furthest = 0;
  const numbers of_x(x, "bias"), of_y(y, "bias");
  for (std::size_t k = 0; k < of_x.x.size(); ++k)
    if (std::isfinite(of_x.x[k])) furthest = std::max(furthest, of_x.allowed[k] + of_y.allowed[k]);
  return std::expm1(2 * furthest);
}

// The case with the first few tokens as queries and keys: farther on, the roundings of the key forms hide the weights.
test_case near_the_first(test_case c) {
  std::vector<double> tokens(2 + c.seed % 7);
  std::iota(tokens.begin(), tokens.end(), 0.0);
  for (const char* name : {"query_position", "key_position"})
    c.call.inputs.at(name) = core::make_tensor(core::dtype::i64, {tokens.size()}, tokens);
  return c;
}

// Causal attention does not tell the forms apart: they differ by a number of each row.
outcome check_forms(implementation& under_test, const test_case& drawn_case) {
  if (!under_test.describe().offers("attention/output", drawn_case.call.type)) return {status::unsupported};
  if (drawn_case.call.inputs.at("slopes").size() == 0) return {status::uninformative};
  const test_case c = near_the_first(drawn_case);
  const auto& chosen = setting<std::string>(c, "form");
  const std::string form = chosen == "distance" ? "key" : chosen;
  const auto distance = measure(under_test, in_form(c, "distance", true));
  if (!distance) return distance.error();
  const auto other = measure(under_test, in_form(c, form, true));
  if (!other) return other.error();
  const core::shape sizes = distance->outputs.at("bias").shape();
  core::counter_random random(c.seed);
  test_case attending = c;
  attending.call.operation = attention();
  attending.call.attributes = core::completed(*attention(), {});
  attending.call.inputs = {{"q", drawn(c.call.type, {1, sizes[0], sizes[1], 2}, random, -1, 1)},
                           {"k", drawn(c.call.type, {1, sizes[0], sizes[2], 2}, random, -1, 1)},
                           {"v", drawn(c.call.type, {1, sizes[0], sizes[2], 2}, random, 0.5, 2)},
                           {"bias", distance->outputs.at("bias")}};
  const auto x = measure(under_test, attending);
  if (!x) return x.error();
  attending.call.inputs.at("bias") = other->outputs.at("bias");
  const auto y = measure(under_test, attending);
  if (!y) return y.error();
  const double of_biases = 2 * change_of_weights(*distance, *other);  // no value is above 2
  const numbers o(*x, "o"), p(*y, "o");
  comparisons all;
  for (std::size_t i = 0; i < o.x.size(); ++i)
    if (const double allowed = o.allowed[i] + p.allowed[i] + of_biases; !all.agree(o.x[i], p.x[i], allowed))
      return violated(
          fmt::format("causal attention with forms distance and {}: o at flat index {} is {:.9g} and {:.9g}, "
                      "allowed difference {:.3g}",
                      form, i, o.x[i], p.x[i], allowed),
          x->outputs, y->outputs);
  return all.result();
}

/// Causal attention whose logits are the linear bias -m t alone, t the distance of a query from a key, for keys 0, 1,
/// ... and queries at the last of them: the weight of the key at distance t is (1 - e^-m) e^-mt / (1 - e^-m(i+1)).
struct geometric_weights {
  double m;      ///< the slope
  double query;  ///< i
  [[nodiscard]] double keys() const { return query + 1; }
  [[nodiscard]] double weight(double t) const {
    return t < 0 ? 0.0 : std::expm1(-m) * std::exp(-m * t) / std::expm1(-m * keys());
  }
  /// The mean distance: 1 / (e^m - 1) of all there could be, less what those before the first key would add.
  [[nodiscard]] double mean() const { return without_end() - keys() / std::expm1(m * keys()); }
  [[nodiscard]] double without_end() const { return 1 / std::expm1(m); }
};

/// A case of attention with linear biases alone. Column c of v holds the distance of each key from the last one where c
/// is even, and picks out one key where it is odd.
struct linear_attention {
  linear_attention(const test_case& c, const core::axis_sizes& sizes)
      : n(sizes.at("n")), m(sizes.at("m")), e(sizes.at("e")), heads(sizes.at("h")), seed(c.seed), replaced(c) {
    auto& inputs = replaced.call.inputs;
    for (double& x : inputs.at("q").values.storage()) x = 0.0;
    auto& bias = inputs.at("bias").values.storage();
    for (std::size_t k = 0; k < bias.size(); ++k) {
      const geometric_weights row = weights(k / (n * m), k / m % n);
      const double distance = row.query - static_cast<double>(k % m);
      bias[k] = distance < 0 ? -std::numeric_limits<double>::infinity() : -row.m * distance;
      exact = exact && core::round_to(c.call.type, bias[k]) == bias[k];
    }
    auto& v = inputs.at("v").values.storage();
    for (std::size_t k = 0; k < v.size(); ++k) v[k] = value(k / e % m, k % e);
  }
  [[nodiscard]] geometric_weights weights(std::size_t head, std::size_t i) const {
    return {std::ldexp(1.0, -1 - static_cast<int>((seed + head) % 8)), static_cast<double>(std::max(m + i, n) - n)};
  }
  [[nodiscard]] bool is_mean(std::size_t column) const { return (seed / 8 + column) % 2 == 0; }
  [[nodiscard]] std::size_t picked(std::size_t column) const { return (seed / 16 + column) % m; }
  [[nodiscard]] double value(std::size_t key, std::size_t column) const {
    if (is_mean(column)) return static_cast<double>(m - 1 - key);
    return key == picked(column) ? 1.0 : 0.0;
  }
  [[nodiscard]] double output(const geometric_weights& row, std::size_t column) const {
    if (is_mean(column)) return static_cast<double>(m - 1) - row.query + row.mean();
    return row.weight(row.query - static_cast<double>(picked(column)));
  }
  std::size_t n, m, e, heads;
  std::uint64_t seed;
  test_case replaced;
  bool exact = true;  ///< all biases are numbers of the format
};

outcome check_closed_form(implementation& under_test, const test_case& c) {
  const core::axis_sizes sizes = sizes_of(c);
  if (sizes.at("m") == 0) return {status::uninformative};
  const linear_attention linear(c, sizes);
  if (!linear.exact) return {status::uninformative};
  const auto call = measure(under_test, linear.replaced);
  if (!call) return call.error();
  const numbers o(*call, "o");
  comparisons all;
  for (std::size_t at = 0; at < o.x.size(); ++at) {
    const std::size_t i = at / linear.e % linear.n, head = at / (linear.e * linear.n) % linear.heads;
    const geometric_weights row = linear.weights(head, i);
    const double wanted = linear.output(row, at % linear.e);
    // The closed form is evaluated in f64: four roundings of its largest term.
    const double rounding = 0x1p-50 * (linear.is_mean(at % linear.e) ? row.without_end() : wanted);
    if (!all.agree(wanted, o.x[at], o.allowed[at] + rounding))
      return violated(
          fmt::format("a bias of {} a token alone, query at {}: o at flat index {} is {:.9g} instead of {:.9g}", -row.m,
                      row.query, at, o.x[at], wanted),
          {}, call->outputs);
  }
  return all.result();
}

}  // namespace

std::vector<property> attention_laws() {
  if (attention() == nullptr) return {};
  property closed{"alibi_closed_form", "with linear biases alone the weights of attention are geometric",
                  [](const core::operation& op) { return op.name == "attention/output"; }, check_closed_form};
  closed.families = {"mild", "causal", "linear_bias"};
  return {
      law_of("alibi_attention_forms", "causal attention does not tell the forms apart", check_forms, "alibi/bias", 4),
      std::move(closed)};
}

}  // namespace assay::properties::encodings::alibi
