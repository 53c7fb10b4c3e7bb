#include "properties/encodings/attention/laws/weighted_means.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "properties/laws/compared_calls.hpp"
#include "reference/oracle.hpp"

namespace assay::properties::encodings::attention {
namespace {

// The sizes of q [B, h, n, d] and v [B, h, m, e].
struct sizes {
  std::size_t rows, heads, queries, keys, width, value_width;
  explicit sizes(const test_case& c) {
    const core::shape q = c.call.inputs.at("q").shape(), v = c.call.inputs.at("v").shape();
    heads = q[1];
    rows = q[0] * heads;
    queries = q[2], width = q[3];
    keys = v[2], value_width = v[3];
  }
};

// Whether query i of a row has a key. Without a bias among the inputs it has itself.
bool has_key(const test_case& c, const sizes& s, std::size_t row, std::size_t i) {
  const auto bias = c.call.inputs.find("bias");
  if (bias == c.call.inputs.end()) return true;
  const auto first =
      bias->second.values.storage().begin() + static_cast<std::ptrdiff_t>((row % s.heads * s.queries + i) * s.keys);
  return std::any_of(first, first + static_cast<std::ptrdiff_t>(s.keys), [](double x) { return !std::isinf(x); });
}

// The weights of a query add up to 1: the mean of ones is 1, and 0 where it has no key.
outcome check_sum_of_weights(implementation& under_test, const test_case& c) {
  core::tensors inputs = c.call.inputs;
  for (double& x : inputs.at("v").values.storage()) x = 1.0;
  const auto call = measure(under_test, with_inputs(c, std::move(inputs)));
  if (!call) return call.error();
  const sizes s(c);
  comparisons all;
  for (std::size_t at = 0; at < call->outputs.at("o").size(); ++at) {
    const std::size_t row = at / (s.queries * s.value_width), i = at / s.value_width % s.queries;
    const approximate one{has_key(c, s, row, i) ? 1.0 : 0.0, 0.0}, mean = element(*call, "o", at);
    if (!agree(all, one, mean))
      return violated(fmt::format("head {}: the mean of ones is {:.9g} at query {}, not {} within {:.3g}", row,
                                  mean.value, i, one.value, mean.error),
                      {}, call->outputs);
  }
  return all.result();
}

// grad v_j = sum over i of P_ij g_i, so the gradients of the values of a head add up to the cotangents of its queries.
std::string wrong_values(comparisons& all, const test_case& c, const sizes& s, const measured_call& call,
                         std::size_t row) {
  const auto& g = c.call.inputs.at("grad_o").values.storage();
  for (std::size_t e = 0; e < s.value_width; ++e) {
    approximate given, received;
    double scale = 0.0;
    for (std::size_t i = 0; i < s.queries; ++i) {
      if (!has_key(c, s, row, i)) continue;
      const double x = g[(row * s.queries + i) * s.value_width + e];
      given = given + approximate{x, 0.0};
      scale += std::fabs(x);
    }
    for (std::size_t j = 0; j < s.keys; ++j)
      received = received + element(call, "grad_v", (row * s.keys + j) * s.value_width + e);
    if (!agree(all, given, received, scale))
      return fmt::format(
          "cotangents of component {} add up to {:.9g}, gradients of the values to {:.9g}, allowed "
          "difference {:.3g}",
          e, given.value, received.value, given.error + received.error);
  }
  return "";
}

// Logits hold q . k alone: (t q, k / t) gives the same o for every t, so sum q . grad q = sum k . grad k.
std::string wrong_logits(comparisons& all, const test_case& c, const sizes& s, const measured_call& call,
                         std::size_t row) {
  double scale = 0.0;
  const auto pairing = [&](const char* input, std::size_t tokens) {
    const auto& x = c.call.inputs.at(input).values.storage();
    approximate sum;
    double size = 0.0;
    for (std::size_t i = row * tokens * s.width; i < (row + 1) * tokens * s.width; ++i) {
      if (x[i] == 0.0) continue;  // whatever its gradient is
      const approximate product = approximate{x[i], 0.0} * element(call, std::string("grad_") + input, i);
      sum = sum + product;
      size += std::fabs(product.value);
    }
    scale = std::max(scale, size);
    return sum;
  };
  const approximate of_queries = pairing("q", s.queries), of_keys = pairing("k", s.keys);
  if (agree(all, of_queries, of_keys, scale)) return "";
  return fmt::format("queries with their gradients give {:.9g}, keys {:.9g}, allowed difference {:.3g}",
                     of_queries.value, of_keys.value, of_queries.error + of_keys.error);
}

// Two identities of the gradients of each head, whatever is added to its logits. In bf16 arithmetic the allowances
// leave hardly a digit of the second.
outcome check_gradients(implementation& under_test, const test_case& c) {
  const auto call = measure(under_test, c);
  if (!call) return call.error();
  const sizes s(c);
  comparisons all;
  for (std::size_t row = 0; row < s.rows; ++row)
    for (const auto wrong : {wrong_values, wrong_logits})
      if (const std::string text = wrong(all, c, s, *call, row); !text.empty())
        return violated(fmt::format("head {}: {}", row, text), {}, call->outputs);
  return all.result();
}

property law(const char* name, const char* summary, outcome (*check)(implementation&, const test_case&),
             core::derivative kind) {
  property p{name, summary, {}, check};
  p.applies = [kind](const core::operation& op) {
    const core::operation& forward = reference::forward_of(op);
    return op.kind() == kind && forward.input("q") && forward.input("k") && forward.input("v") && forward.output("o");
  };
  // Of every encoding those whose numbers are finite.
  p.families = {"mild",          "causal",          "masked_inside",  "linear_bias",
                "one_key_wins",  "far_keys",        "rows_apart",     "equal_logits",
                "no_bias",       "equal_values",    "gates_near_one", "gates_near_zero",
                "constant_gate", "infinite_inside", "no_decay",       "wide"};
  return p;
}

}  // namespace

std::vector<property> weighted_mean_laws() {
  return {law("weights_sum", "the weights of a query add up to 1", check_sum_of_weights, core::derivative::none),
          law("weights_gradients", "gradients of values add up to the cotangents, those of queries and keys balance",
              check_gradients, core::derivative::vjp)};
}

}  // namespace assay::properties::encodings::attention
