// The laws of the gradient of T5's relative bias by its table.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "properties/encodings/t5_bias/laws/cases.hpp"
#include "properties/encodings/t5_bias/laws/laws.hpp"

namespace assay::properties::encodings::t5_bias {
namespace {

// Every cotangent goes to one bucket: the gradients of a head add up to its cotangents.
outcome check_partition(implementation& under_test, const test_case& c) {
  const auto call = measure(under_test, c);
  if (!call) return call.error();
  const numbers grad(*call, "grad_table");
  const auto& cotangents = c.call.inputs.at("grad_bias").values.storage();
  const auto buckets = static_cast<std::size_t>(map_of(c).buckets), heads = grad.x.size() / buckets;
  comparisons all;
  for (std::size_t k = 0, pairs = heads ? cotangents.size() / heads : 0; k < heads; ++k) {
    double given = 0, received = 0, allowed = 0;
    for (std::size_t p = k * pairs; p < (k + 1) * pairs; ++p) {
      given += cotangents[p];
      allowed += 0x1p-44 * std::fabs(cotangents[p]);
    }
    for (std::size_t b = k * buckets; b < (k + 1) * buckets; ++b) {
      received += grad.x[b];
      allowed += grad.allowed[b];
    }
    if (!all.agree(given, received, allowed))
      return violated(
          fmt::format("head {}: cotangents add up to {:.9g}, gradients to {:.9g}, allowed difference {:.3g}", k, given,
                      received, allowed),
          {}, call->outputs);
  }
  return all.result();
}

// Whatever the cotangents are, the unused bucket gets none of them.
outcome check_unused_gradient(implementation& under_test, const test_case& c) {
  if (!map_of(c).bidirectional) return {status::uninformative};
  const auto call = measure(under_test, c);
  if (!call) return call.error();
  const core::tensor& grad = call->outputs.at("grad_table");
  const std::size_t buckets = grad.shape()[1];
  comparisons all;
  for (std::size_t k = 0; k < grad.shape()[0]; ++k)
    if (const double x = grad.values.storage()[k * buckets + buckets / 2]; !all.agree(0.0, x, 0.0))
      return violated(fmt::format("head {}: the unused bucket has the gradient {}", k, x), {}, call->outputs);
  return all.result();
}

// A table whose entries every format holds, none like its neighbours.
double uneven(std::size_t head, std::size_t bucket) {
  return static_cast<double>((29 * head + 13 * bucket) % 64) / 8.0 - 4.0;
}

// Each cotangent goes to the bucket whose entry its pair has read: the bias is linear in the table, so that the table
// with its gradient is the bias with its cotangents.
outcome check_scatter(implementation& under_test, const test_case& c) {
  const core::operation& forward = reference::forward_of(*c.call.operation);
  if (!under_test.describe().offers(forward.name, c.call.type)) return {status::unsupported};
  const test_case pulling = with_table(c, uneven);
  test_case pushing = pulling;
  pushing.call.operation = &forward;
  pushing.call.inputs.erase("grad_bias");
  const auto pulled = measure(under_test, pulling);
  if (!pulled) return pulled.error();
  const auto pushed = measure(under_test, pushing);
  if (!pushed) return pushed.error();
  const numbers grad(*pulled, "grad_table");
  const auto& bias = pushed->outputs.at("bias").values.storage();
  const auto& cotangents = c.call.inputs.at("grad_bias").values.storage();
  const auto buckets = static_cast<std::size_t>(map_of(c).buckets), heads = grad.x.size() / buckets;
  comparisons all;
  for (std::size_t k = 0, pairs = heads ? cotangents.size() / heads : 0; k < heads; ++k) {
    double outer = 0, inner = 0, allowed = 0;
    for (std::size_t p = k * pairs; p < (k + 1) * pairs; ++p) {
      outer += bias[p] * cotangents[p];
      allowed += 0x1p-44 * std::fabs(bias[p] * cotangents[p]);
    }
    for (std::size_t b = 0; b < buckets; ++b) {
      inner += uneven(k, b) * grad.x[k * buckets + b];
      allowed += std::fabs(uneven(k, b)) * grad.allowed[k * buckets + b];
    }
    if (!all.agree(outer, inner, allowed))
      return violated(fmt::format("head {}: table with gradient is {:.9g}, bias with cotangents {:.9g}, allowed "
                                  "difference {:.3g}",
                                  k, inner, outer, allowed),
                      pushed->outputs, pulled->outputs);
  }
  return all.result();
}

core::tensor drawn(core::dtype type, const core::shape& shape, core::counter_random& random, double low, double high) {
  core::tensor t = core::zeros(type, shape);
  for (double& x : t.values.storage()) x = core::round_to(type, random.uniform(low, high));
  return t;
}

// Attention with this bias, no key behind the query where one direction counts: the gradient of its bias.
tl::expected<measured_call, outcome> bias_gradient(implementation& under_test, const test_case& c, core::tensor bias) {
  const std::vector<double> distances = distances_of(c);
  auto& x = bias.values.storage();
  for (std::size_t k = 0; k < x.size() && !map_of(c).bidirectional; ++k)
    if (distances[k % distances.size()] > 0) x[k] = -std::numeric_limits<double>::infinity();
  const core::shape sizes = bias.shape();
  core::counter_random random(c.seed);
  test_case attending = c;
  attending.call.operation = reference::find_operation("attention/output:vjp");
  attending.call.attributes = core::completed(*attending.call.operation, {{"scale", std::string("one")}});
  core::tensor values = drawn(c.call.type, {1, sizes[0], sizes[2], 1}, random, 1, 2);
  for (std::size_t k = 1; k < values.size(); k += 2) values.values.storage()[k] *= -1;  // gradients far from 0
  attending.call.inputs = {{"q", drawn(c.call.type, {1, sizes[0], sizes[1], 1}, random, -1, 1)},
                           {"k", drawn(c.call.type, {1, sizes[0], sizes[2], 1}, random, -1, 1)},
                           {"v", std::move(values)},
                           {"grad_o", drawn(c.call.type, {1, sizes[0], sizes[1], 1}, random, 1, 2)},
                           {"bias", std::move(bias)}};
  return measure(under_test, attending);
}

// A constant on the whole table changes no weight of attention: behind it the gradients of a head add up to 0.
outcome check_dead_constant(implementation& under_test, const test_case& c) {
  const core::operation& forward = reference::forward_of(*c.call.operation);
  for (const std::string& name : {forward.name, std::string("attention/output:vjp")})
    if (!under_test.describe().offers(name, c.call.type)) return {status::unsupported};
  // Few keys: what rounding is allowed stays below the gradients in every format.
  const std::vector<std::size_t> kept = every(std::min<std::size_t>(sizes_of(c).at("m"), 4));
  const test_case few = with_inputs(c, core::restrict_axis(*c.call.operation, c.call.inputs, "m", kept));
  test_case point = with_table(few, [](std::size_t head, std::size_t bucket) { return uneven(head, bucket) / 4; });
  test_case pulling = point;
  point.call.operation = &forward;
  point.call.inputs.erase("grad_bias");
  const auto bias = measure(under_test, point);
  if (!bias) return bias.error();
  if (bias->outputs.at("bias").size() == 0) return {status::uninformative};
  const auto logits = bias_gradient(under_test, point, bias->outputs.at("bias"));
  if (!logits) return logits.error();
  pulling.call.inputs.at("grad_bias") = logits->outputs.at("grad_bias");
  const auto call = measure(under_test, pulling);
  if (!call) return call.error();
  const numbers grad(*call, "grad_table"), given(*logits, "grad_bias");
  const auto buckets = static_cast<std::size_t>(map_of(c).buckets), heads = grad.x.size() / buckets;
  comparisons all;
  for (std::size_t k = 0, pairs = given.x.size() / heads; k < heads; ++k) {
    double sum = 0, magnitude = 0, allowed = 0;
    for (std::size_t b = k * buckets; b < (k + 1) * buckets; ++b) {
      sum += grad.x[b];
      magnitude += std::fabs(grad.x[b]);
      allowed += grad.allowed[b] + 0x1p-50 * std::fabs(grad.x[b]);
    }
    for (std::size_t p = k * pairs; p < (k + 1) * pairs; ++p) allowed += given.allowed[p];
    if (!all.agree(0.0, sum, allowed, magnitude))
      return violated(
          fmt::format("head {}: behind attention the gradients of all buckets add up to {:.9g} instead of 0, "
                      "allowed {:.3g}",
                      k, sum, allowed),
          logits->outputs, call->outputs);
  }
  return all.result();
}

}  // namespace

std::vector<property> gradient_laws() {
  const char* gradient = "t5_bias/bias:vjp";
  std::vector<property> all{
      t5_law(gradient, "t5_partition", "gradients add up to the cotangents", check_partition),
      t5_law(gradient, "t5_scatter", "a cotangent goes to the bucket that its pair has read", check_scatter, 2),
      t5_law(gradient, "t5_unused_gradient", "the unused bucket has no gradient", check_unused_gradient)};
  if (reference::find_operation("attention/output:vjp") != nullptr)
    all.push_back(t5_law(gradient, "t5_dead_constant", "behind attention a constant on the table has no gradient",
                         check_dead_constant, 3));
  return all;
}

}  // namespace assay::properties::encodings::t5_bias
