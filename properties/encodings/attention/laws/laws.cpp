#include "properties/encodings/attention/laws/laws.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "properties/encodings/attention/laws/terms.hpp"
#include "properties/encodings/attention/laws/weighted_means.hpp"
#include "properties/laws/compared_calls.hpp"

namespace assay::properties::encodings::attention {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// The outputs of two calls, element by element.
outcome compare(const measured_call& expected, const tl::expected<measured_call, outcome>& actual, const char* what) {
  if (!actual) return actual.error();
  comparisons all;
  if (const auto wrong = compare_outputs(all, expected, *actual))
    return violated(fmt::format("{}: {}", what, *wrong), expected.outputs, actual->outputs);
  return all.result();
}

// A bias on a grid, so that adding whole numbers is exact; nothing where the dtype has no room for the sum.
std::optional<core::tensor> on_grid(const core::tensor& bias, const std::function<double(std::size_t)>& shift_of_row) {
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

// softmax(S + c) = softmax(S) for a number c of each row, in every output. It holds exactly while nothing that is no
// logit of the row competes with it: a null key, or a finite number that stands for the mask. Against the latter some
// numbers are beyond any such.
outcome check_row_constants(implementation& under_test, const test_case& c) {
  const core::tensor& bias = c.call.inputs.at("bias");
  const auto plain = on_grid(bias, [](std::size_t) { return 0.0; });
  const auto small = [](std::size_t row) { return static_cast<double>(row % 5) - 1.0; };
  const auto large = [](std::size_t row) { return row % 2 == 0 ? -25000.0 : 25000.0; };
  std::optional<core::tensor> shifted;
  if (c.seed % 2 == 0) shifted = on_grid(bias, large);
  if (!shifted) shifted = on_grid(bias, small);
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
  const core::shape shape = call->outputs.at("grad_bias").shape();
  const std::size_t keys = shape[2];
  comparisons all;
  for (std::size_t row = 0; row < shape[0] * shape[1]; ++row) {
    approximate sum;
    double magnitude = 0.0;
    for (std::size_t i = row * keys; i < (row + 1) * keys; ++i) {
      const approximate x = element(*call, "grad_bias", i);
      sum = sum + x;
      magnitude += std::fabs(x.value);
    }
    if (!agree(all, {0.0, 0.0}, sum, magnitude))
      return violated(fmt::format("row {} of grad_bias adds up to {:.9g}, allowed {:.3g}", row, sum.value, sum.error),
                      {}, call->outputs);
  }
  return all.result();
}

// Compares a call with one that has the given keys alone, or has them in another order: outputs that belong to a key
// move with it.
outcome compare_keys(const measured_call& whole, const tl::expected<measured_call, outcome>& chosen,
                     const core::operation& op, const std::vector<std::size_t>& keys, const char* what) {
  if (!chosen) return chosen.error();
  comparisons all;
  for (const auto& d : op.outputs) {
    const core::tensor &t = whole.outputs.at(d.name), &u = chosen->outputs.at(d.name);
    const auto axis = core::axis_of(d, "m");
    const auto from = axis ? taken(t.shape(), *axis, keys) : every(t.size());
    if (const auto wrong = compare_elements(all, d.name, whole, from, *chosen, every(u.size())))
      return violated(fmt::format("{}: {}", what, *wrong), whole.outputs, chosen->outputs);
  }
  return all.result();
}

// A key that is masked for every query counts for nothing: as if it were not there, and it has no gradients.
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
  const auto whole = measure(under_test, with_inputs(c, inputs));
  if (!whole) return whole.error();
  for (const auto& d : op.outputs) {
    const auto axis = core::axis_of(d, "m");
    if (!axis) continue;
    for (const std::size_t i : taken(whole->outputs.at(d.name).shape(), *axis, {masked}))
      if (const approximate x = element(*whole, d.name, i); !agree(approximate{}, x))
        return violated(
            fmt::format("key {} is masked for all queries, and {} of it is {:.9g}", masked, d.name, x.value), {},
            whole->outputs);
  }
  return compare_keys(*whole, measure(under_test, with_inputs(c, core::restrict_axis(op, inputs, "m", others))), op,
                      others, "without a key that is masked for all queries");
}

// Keys in another order: the same output, and their gradients in that order.
outcome check_key_order(implementation& under_test, const test_case& c) {
  const core::operation& op = *c.call.operation;
  const std::size_t keys = sizes_of(c).at("m");
  if (keys < 2) return {status::uninformative};
  std::vector<std::size_t> order = every(keys);
  std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(1 + c.seed % (keys - 1)), order.end());
  const auto before = measure(under_test, c);
  if (!before) return before.error();
  return compare_keys(*before, measure(under_test, with_inputs(c, core::restrict_axis(op, c.call.inputs, "m", order))),
                      op, order, "keys in another order");
}

// A weighted mean lies between the least and the largest value that the query may see.
outcome check_mean(implementation& under_test, const test_case& c) {
  const auto call = measure(under_test, c);
  if (!call) return call.error();
  const core::axis_sizes sizes = sizes_of(c);
  const std::size_t n = sizes.at("n"), m = sizes.at("m"), e = sizes.at("e"), heads = sizes.at("h");
  const auto& v = c.call.inputs.at("v").values.storage();
  const auto& bias = c.call.inputs.at("bias").values.storage();
  comparisons all;
  for (std::size_t at = 0; at < call->outputs.at("o").size(); ++at) {
    const std::size_t head = at / (n * e), i = at / e % n;
    double least = infinity, largest = -infinity;
    for (std::size_t j = 0; j < m; ++j)
      if (bias[((head % heads) * n + i) * m + j] != -infinity) {
        least = std::min(least, v[(head * m + j) * e + at % e]);
        largest = std::max(largest, v[(head * m + j) * e + at % e]);
      }
    if (least > largest) continue;  // no key
    const approximate o = element(*call, "o", at);
    const double nearest = o.value > largest ? largest : o.value >= least ? o.value : least;
    if (!agree(all, {nearest, 0.0}, o, largest - least))
      return violated(
          fmt::format("o at flat index {} is {:.9g}, outside the values [{:.9g}, {:.9g}]", at, o.value, least, largest),
          {}, call->outputs);
  }
  return all.result();
}

bool is_attention(const core::operation& op) { return op.name.starts_with("attention/"); }

property law(const char* name, const char* summary, outcome (*check)(implementation&, const test_case&),
             bool (*applies)(const core::operation&), std::size_t calls) {
  property p{name, summary, applies, check};
  p.calls = calls;
  p.families = {"mild",         "causal",   "masked_inside", "linear_bias",
                "one_key_wins", "far_keys", "equal_values",  "no_bias"};
  return p;
}

}  // namespace

std::vector<property> laws() {
  const auto output = [](const core::operation& op) { return is_attention(op) && op.is_forward(); };
  const auto gradients = [](const core::operation& op) { return is_attention(op) && op.is_vjp(); };
  std::vector<property> laws{
      law("attention_row_constants", "a number added to a row of the bias changes nothing", check_row_constants,
          is_attention, 2),
      law("attention_gradient_rows", "every row of the bias's gradient adds up to 0", check_gradient_rows, gradients,
          1),
      law("attention_masked_keys", "a key masked for all queries counts for nothing", check_masked_keys, is_attention,
          2),
      law("attention_key_order", "keys in another order give the same output", check_key_order, is_attention, 2),
      law("attention_mean", "outputs lie between the least and the largest value seen", check_mean, output, 1),
      law("attention_four_terms", "the terms of absolute positions may stand in the logits or in the bias",
          check_four_terms, is_attention, 2)};
  for (property& p : weighted_mean_laws()) laws.push_back(std::move(p));
  return laws;
}

}  // namespace assay::properties::encodings::attention
