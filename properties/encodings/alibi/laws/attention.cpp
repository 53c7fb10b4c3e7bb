// The laws of linear biases behind a softmax. One asks an implementation's biases and its attention; the other one its
// attention alone, with biases that every format holds exactly.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "properties/encodings/alibi/laws/cases.hpp"
#include "properties/encodings/alibi/laws/laws.hpp"
#include "reference/oracle.hpp"

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
double change_of_weights(const numbers& x, const numbers& y) {
  double furthest = 0;
  for (std::size_t k = 0; k < x.size(); ++k)
    if (std::isfinite(x.x[k])) furthest = std::max(furthest, x.allowed[k] + y.allowed[k]);
  return std::expm1(2 * furthest);
}

// The case with the first few tokens as queries and keys: farther on, the roundings of the key forms hide the weights.
test_case near_the_first(const test_case& c) {
  std::vector<double> tokens(2 + c.seed % 7);
  std::iota(tokens.begin(), tokens.end(), 0.0);
  return among(c, tokens);
}

// Causal attention does not tell the forms apart: they differ by a number of each row.
void check_forms(experiment& e) {
  const core::dtype type = e.c.call.type;
  e.needs_operation("attention/output");
  e.needs(e.c.call.inputs.at("slopes").size() > 0);
  const test_case c = near_the_first(e.c);
  const measured_call &distance = e.call(in_form(c, "distance", true)),
                      &other = e.call(in_form(c, other_form(c), true));
  const core::shape sizes = distance.outputs.at("bias").shape();
  core::counter_random random(c.seed);
  core::tensors inputs{{"q", drawn(type, {1, sizes[0], sizes[1], 2}, random, -1, 1)},
                       {"k", drawn(type, {1, sizes[0], sizes[2], 2}, random, -1, 1)},
                       {"v", drawn(type, {1, sizes[0], sizes[2], 2}, random, 0.5, 2)},
                       {"bias", distance.outputs.at("bias")}};
  const numbers o(e.call(attention(), inputs), "o");
  inputs.at("bias") = other.outputs.at("bias");
  const numbers p(e.call(attention(), inputs), "o");
  const approximate of_biases{0.0, 2 * change_of_weights({distance, "bias"}, {other, "bias"})};  // no value is above 2
  for (std::size_t i = 0; i < o.size(); ++i)
    e.equal(o[i] + of_biases, p[i], "causal attention with the forms distance and {}, o at flat index {}",
            other_form(c), i);
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

void check_closed_form(experiment& e) {
  const core::axis_sizes sizes = sizes_of(e.c);
  e.needs(sizes.at("m") > 0);
  const linear_attention linear(e.c, sizes);
  e.needs(linear.exact);
  const numbers o(e.call(linear.replaced), "o");
  for (std::size_t at = 0; at < o.size(); ++at) {
    const std::size_t i = at / linear.e % linear.n, head = at / (linear.e * linear.n) % linear.heads;
    const geometric_weights row = linear.weights(head, i);
    const double wanted = linear.output(row, at % linear.e);
    // The closed form is evaluated in f64: four roundings of its largest term.
    const double rounding = 0x1p-50 * (linear.is_mean(at % linear.e) ? row.without_end() : wanted);
    e.equal({wanted, rounding}, o[at], "a bias of {} a token alone, query at {}: o at flat index {}", -row.m, row.query,
            at);
  }
}

}  // namespace

std::vector<property> attention_laws() {
  if (attention() == nullptr) return {};
  return {law("alibi_attention_forms", "causal attention does not tell the forms apart", of("alibi/bias"),
              {4, check_forms}),
          law("alibi_closed_form", "with linear biases alone the weights of attention are geometric",
              {{"attention/output"}, {"mild", "causal", "linear_bias"}}, {1, check_closed_form})};
}

}  // namespace assay::properties::encodings::alibi
