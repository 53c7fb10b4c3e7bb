#include "properties/laws/attention.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "properties/laws/measured.hpp"

namespace assay::properties {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

bool is_attention(const core::operation& op, core::derivative kind) {
  return op.name.starts_with("attention/") && op.kind() == kind;
}

std::vector<std::size_t> every(std::size_t size) {
  std::vector<std::size_t> all(size);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// The outputs of two calls, element by element.
outcome compare(const measured_call& expected, const tl::expected<measured_call, outcome>& actual, const char* what) {
  if (!actual) return actual.error();
  for (const auto& [name, t] : expected.outputs)
    if (const auto wrong = compare_elements(name, expected, every(t.size()), *actual, every(t.size())))
      return violated(fmt::format("{}: {}", what, *wrong), expected.outputs, actual->outputs);
  return {};
}

// A bias on a grid, so that adding small whole numbers is exact.
std::optional<core::tensor> on_grid(const core::tensor& bias, double shift_of_row(std::size_t)) {
  core::tensor moved = bias;
  const std::size_t keys = bias.shape()[2];
  for (std::size_t i = 0; i < bias.size(); ++i) {
    double& x = moved.values.storage()[i];
    if (!std::isfinite(x)) continue;
    const double exact = std::nearbyint(x * 8) / 8, shifted = exact + shift_of_row(i / keys);
    if (core::round_to(bias.type, exact) != exact || core::round_to(bias.type, shifted) != shifted) return std::nullopt;
    x = shifted;
  }
  return moved;
}

// softmax(S + c) = softmax(S) for a number c of each row.
outcome check_row_constants(implementation& under_test, const test_case& c) {
  const auto plain = on_grid(c.call.inputs.at("bias"), [](std::size_t) { return 0.0; });
  const auto shifted =
      on_grid(c.call.inputs.at("bias"), [](std::size_t row) { return static_cast<double>(row % 5) - 1.0; });
  if (!plain || !shifted || plain->size() == 0) return {status::uninformative};
  core::tensors inputs = c.call.inputs, other = c.call.inputs;
  inputs.at("bias") = *plain;
  other.at("bias") = *shifted;
  const auto before = measure(under_test, with_inputs(c, std::move(inputs)));
  if (!before) return before.error();
  return compare(*before, measure(under_test, with_inputs(c, std::move(other))),
                 "a number added to each row of logits");
}

// No direction that is constant along a row has a gradient: sum over j of grad bias_ij = 0.
outcome check_gradient_rows(implementation& under_test, const test_case& c) {
  const auto call = measure(under_test, c);
  if (!call) return call.error();
  const core::tensor& grad = call->outputs.at("grad_bias");
  const std::size_t keys = grad.shape()[2];
  bool informative = false;
  for (std::size_t first = 0; first < grad.size(); first += keys) {
    double sum = 0, allowed = 0, magnitude = 0;
    for (std::size_t i = first; i < first + keys; ++i) {
      const double x = grad.values.storage()[i];
      sum += x;
      magnitude += std::fabs(x);
      allowed += call->allowed.at("grad_bias")[i];
    }
    if (!std::isfinite(allowed)) continue;
    informative = informative || magnitude > allowed;
    if (!(std::fabs(sum) <= allowed + 0x1p-50 * magnitude))
      return violated(fmt::format("row {} of grad_bias adds up to {:.9g}, allowed {:.3g}", first / keys, sum, allowed),
                      {}, call->outputs);
  }
  return {informative ? status::passed : status::uninformative};
}

// A key that is masked for every query counts for nothing: as if it were not there.
outcome check_masked_keys(implementation& under_test, const test_case& c) {
  const core::operation& op = *c.call.operation;
  const std::size_t keys = sizes_of(c).at("m");
  if (keys < 2) return {status::uninformative};
  const std::size_t masked = core::counter_random(c.seed).below(keys);
  core::tensors inputs = c.call.inputs;
  auto& bias = inputs.at("bias").values.storage();
  std::vector<std::size_t> others = every(keys);
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(masked));
  for (std::size_t first = 0; first < bias.size(); first += keys) {
    if (std::all_of(others.begin(), others.end(), [&](std::size_t j) { return bias[first + j] == -infinity; }))
      return {status::uninformative};  // no key would be left
    bias[first + masked] = -infinity;
  }
  const auto before = measure(under_test, with_inputs(c, core::restrict_axis(op, inputs, "m", others)));
  if (!before) return before.error();
  return compare(*before, measure(under_test, with_inputs(c, std::move(inputs))),
                 "a key that is masked for all queries");
}

// Keys in another order: the same output.
outcome check_key_order(implementation& under_test, const test_case& c) {
  const std::size_t keys = sizes_of(c).at("m");
  if (keys < 2) return {status::uninformative};
  std::vector<std::size_t> order = every(keys);
  std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(1 + c.seed % (keys - 1)), order.end());
  const auto before = measure(under_test, c);
  if (!before) return before.error();
  return compare(*before,
                 measure(under_test, with_inputs(c, core::restrict_axis(*c.call.operation, c.call.inputs, "m", order))),
                 "keys in another order");
}

// A weighted mean lies between the least and the largest value that the query may see.
outcome check_mean(implementation& under_test, const test_case& c) {
  const auto call = measure(under_test, c);
  if (!call) return call.error();
  const core::axis_sizes sizes = sizes_of(c);
  const std::size_t n = sizes.at("n"), m = sizes.at("m"), e = sizes.at("e"), heads = sizes.at("h");
  const auto& v = c.call.inputs.at("v").values.storage();
  const auto& bias = c.call.inputs.at("bias").values.storage();
  const auto& o = call->outputs.at("o").values.storage();
  for (std::size_t at = 0; at < o.size(); ++at) {
    const std::size_t head = at / (n * e), i = at / e % n;
    double least = infinity, largest = -infinity;
    for (std::size_t j = 0; j < m; ++j)
      if (bias[((head % heads) * n + i) * m + j] != -infinity) {
        least = std::min(least, v[(head * m + j) * e + at % e]);
        largest = std::max(largest, v[(head * m + j) * e + at % e]);
      }
    const double allowed = call->allowed.at("o")[at];
    if (least <= largest && std::isfinite(o[at]) && (o[at] < least - allowed || o[at] > largest + allowed))
      return violated(
          fmt::format("o at flat index {} is {:.9g}, outside the values [{:.9g}, {:.9g}]", at, o[at], least, largest),
          {}, call->outputs);
  }
  return {o.empty() || m == 0 ? status::uninformative : status::passed};
}

property law(const char* name, const char* summary, outcome (*check)(implementation&, const test_case&),
             core::derivative kind, std::size_t calls) {
  property p{name, summary, [kind](const core::operation& op) { return is_attention(op, kind); }, check};
  p.calls = calls;
  p.families = {"mild", "causal", "masked_inside", "linear_bias", "one_key_wins", "far_keys", "equal_values"};
  return p;
}

}  // namespace

std::vector<property> attention_laws() {
  return {law("attention_row_constants", "a number added to a row of the bias changes nothing", check_row_constants,
              core::derivative::none, 2),
          law("attention_gradient_rows", "every row of the bias's gradient adds up to 0", check_gradient_rows,
              core::derivative::vjp, 1),
          law("attention_masked_keys", "a key masked for all queries counts for nothing", check_masked_keys,
              core::derivative::none, 2),
          law("attention_key_order", "keys in another order give the same output", check_key_order,
              core::derivative::none, 2),
          law("attention_mean", "outputs lie between the least and the largest value seen", check_mean,
              core::derivative::none, 1)};
}

}  // namespace assay::properties
