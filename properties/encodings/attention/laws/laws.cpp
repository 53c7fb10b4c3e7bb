#include "properties/encodings/attention/laws/laws.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "properties/encodings/attention/laws/rows_without_keys.hpp"
#include "properties/encodings/attention/laws/terms.hpp"
#include "properties/encodings/attention/laws/weighted_means.hpp"
#include "reference/core/special_values.hpp"

namespace assay::properties::encodings::attention {
namespace {

using core::infinity;

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
void check_row_constants(experiment& e) {
  const core::tensor& bias = e.c.call.inputs.at("bias");
  const auto plain = on_grid(bias, [](std::size_t) { return 0.0; });
  const auto small = [](std::size_t row) { return static_cast<double>(row % 5) - 1.0; };
  const auto large = [](std::size_t row) { return row % 2 == 0 ? -25000.0 : 25000.0; };
  std::optional<core::tensor> shifted;
  if (e.c.seed % 2 == 0) shifted = on_grid(bias, large);
  if (!shifted) shifted = on_grid(bias, small);
  e.needs(plain && shifted && plain->size() > 0);
  test_case before = e.c, after = e.c;
  before.call.inputs.at("bias") = *plain;
  after.call.inputs.at("bias") = *shifted;
  const measured_call& expected = e.call(before);
  e.equal(expected, e.call(after), "a number added to each row of logits");
}

// No direction that is constant along a row has a gradient: sum over j of grad bias_ij = 0.
void check_gradient_rows(experiment& e) {
  const numbers grad(e.call(), "grad_bias");
  const std::size_t keys = grad.shape[2];
  for (std::size_t row = 0; row < grad.shape[0] * grad.shape[1]; ++row) {
    cancelling_sum sum;
    for (std::size_t i = row * keys; i < (row + 1) * keys; ++i) sum.add(grad[i]);
    e.equal(exactly(0), sum.value, sum.size, "the sum of row {} of grad_bias", row);
  }
}

// Compares a call with one that has the given keys alone, or has them in another order: outputs that belong to a key
// move with it.
void compare_keys(experiment& e, const measured_call& whole, const core::tensors& inputs,
                  const std::vector<std::size_t>& keys, const char* what) {
  const core::operation& op = *e.c.call.operation;
  const measured_call& chosen = e.call(with_inputs(e.c, core::restrict_axis(op, inputs, "m", keys)));
  e.equal_along("m", whole, keys, chosen, every(keys.size()), experiment::without_axis::equal, what);
}

// A key that is masked for every query counts for nothing: as if it were not there, and it has no gradients.
void check_masked_keys(experiment& e) {
  const core::operation& op = *e.c.call.operation;
  const std::size_t keys = sizes_of(e.c).at("m");
  e.needs(keys > 1);
  const std::size_t masked = core::counter_random(e.c.seed).below(keys);
  core::tensors inputs = e.c.call.inputs;
  auto& bias = inputs.at("bias").values.storage();
  std::vector<std::size_t> others = every(keys);
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(masked));
  for (std::size_t first = 0; first < bias.size(); first += keys) {
    // Some key must be left.
    e.needs(std::any_of(others.begin(), others.end(), [&](std::size_t j) { return bias[first + j] != -infinity; }));
    bias[first + masked] = -infinity;
  }
  const measured_call& whole = e.call(with_inputs(e.c, inputs));
  for (const auto& d : op.outputs)
    if (const auto axis = core::axis_of(d, "m"))
      e.zero(d.name, whole, taken(whole.outputs.at(d.name).shape(), *axis, {masked}), 0.0,
             fmt::format("key {}, masked for all queries", masked));
  compare_keys(e, whole, inputs, others, "without a key that is masked for all queries");
}

// Keys in another order: the same output, and their gradients in that order.
void check_key_order(experiment& e) {
  const std::size_t keys = sizes_of(e.c).at("m");
  e.needs(keys > 1);
  std::vector<std::size_t> order = every(keys);
  std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(1 + e.c.seed % (keys - 1)), order.end());
  compare_keys(e, e.call(), e.c.call.inputs, order, "keys in another order");
}

// A weighted mean lies between the least and the largest value that the query may see.
void check_mean(experiment& e) {
  const numbers o(e.call(), "o");
  const core::axis_sizes sizes = sizes_of(e.c);
  const std::size_t n = sizes.at("n"), m = sizes.at("m"), width = sizes.at("e"), heads = sizes.at("h");
  const auto& v = e.c.call.inputs.at("v").values.storage();
  const auto& bias = e.c.call.inputs.at("bias").values.storage();
  for (std::size_t at = 0; at < o.size(); ++at) {
    const std::size_t head = at / (n * width), i = at / width % n;
    double least = infinity, largest = -infinity;
    for (std::size_t j = 0; j < m; ++j)
      if (bias[((head % heads) * n + i) * m + j] != -infinity) {
        least = std::min(least, v[(head * m + j) * width + at % width]);
        largest = std::max(largest, v[(head * m + j) * width + at % width]);
      }
    if (least > largest) continue;  // no key
    e.within(least, largest, o[at], "the nearest of the values [{:.9g}, {:.9g}], and o at flat index {}", least,
             largest, at);
  }
}

}  // namespace

std::vector<property> laws() {
  const std::vector<std::string> families{"mild",         "causal",   "masked_inside", "linear_bias",
                                          "one_key_wins", "far_keys", "equal_values",  "no_bias"};
  const law_scope output{{"attention/output"}, families}, gradients{{"attention/output:vjp"}, families},
      both{{"attention/*"}, families};
  std::vector<property> all{
      law("attention_row_constants", "a number added to a row of the bias changes nothing", both,
          {2, check_row_constants}),
      law("attention_gradient_rows", "every row of the bias's gradient adds up to 0", gradients,
          {1, check_gradient_rows}),
      law("attention_masked_keys", "a key masked for all queries counts for nothing", both, {2, check_masked_keys}),
      law("attention_key_order", "keys in another order give the same output", both, {2, check_key_order}),
      law("attention_mean", "outputs lie between the least and the largest value seen", output, {1, check_mean}),
      law("attention_four_terms", "the terms of absolute positions may stand in the logits or in the bias", both,
          {2, check_four_terms}),
      law("attention_rows_without_keys", "a query without a key gives 0 or NaN, and other queries do not notice", both,
          {2, check_rows_without_keys})};
  for (property& p : weighted_mean_laws()) all.push_back(std::move(p));
  return all;
}

}  // namespace assay::properties::encodings::attention
