// The laws of the gradient of T5's relative bias by its table.
#include <algorithm>
#include <cmath>
#include <limits>

#include "properties/encodings/t5_bias/laws/cases.hpp"
#include "properties/encodings/t5_bias/laws/laws.hpp"
#include "reference/oracle.hpp"

namespace assay::properties::encodings::t5_bias {
namespace {

/// How the elements of a case are shared among its heads.
struct per_head {
  per_head(const test_case& c, const numbers& grad_table, std::size_t all_pairs)
      : buckets(static_cast<std::size_t>(map_of(c).buckets)),
        heads(grad_table.size() / buckets),
        pairs(heads ? all_pairs / heads : 0) {}
  std::size_t buckets, heads, pairs;
};

// Every cotangent goes to one bucket: the gradients of a head add up to its cotangents.
void check_partition(experiment& e) {
  const numbers grad(e.call(), "grad_table");
  const given_numbers cotangents(e.c, "grad_bias");
  const per_head of(e.c, grad, cotangents.size());
  for (std::size_t k = 0; k < of.heads; ++k)
    e.equal(sum_of(cotangents, k * of.pairs, (k + 1) * of.pairs), sum_of(grad, k * of.buckets, (k + 1) * of.buckets),
            "head {}: the sums of cotangents and of gradients", k);
}

// Whatever the cotangents are, the unused bucket gets none of them.
void check_unused_gradient(experiment& e) {
  e.needs(map_of(e.c).bidirectional);
  const numbers grad(e.call(), "grad_table");
  for (std::size_t k = 0; k < grad.shape[0]; ++k)
    e.equal(exactly(0), exactly(grad(k, grad.shape[1] / 2).value), "head {}: the gradient of the unused bucket", k);
}

// A table whose entries every format holds, none like its neighbours.
double uneven(std::size_t head, std::size_t bucket) {
  return static_cast<double>((29 * head + 13 * bucket) % 64) / 8.0 - 4.0;
}
double quarter_of_uneven(std::size_t head, std::size_t bucket) { return uneven(head, bucket) / 4; }

// Each cotangent goes to the bucket whose entry its pair has read: the bias is linear in the table, so that the table
// with its gradient is the bias with its cotangents.
void check_scatter(experiment& e) {
  const test_case c = with_table(e.c, uneven);
  const numbers bias(e.forward(c), "bias"), grad(e.call(c), "grad_table");
  const given_numbers table(c, "table"), cotangents(c, "grad_bias");
  const per_head of(c, grad, bias.size());
  for (std::size_t k = 0; k < of.heads; ++k) {
    approximate outer;  // entries are read, not computed: they have no error
    for (std::size_t p = k * of.pairs; p < (k + 1) * of.pairs; ++p) outer += exactly(bias.x[p]) * cotangents[p];
    e.equal(outer, inner_product(table, grad, k * of.buckets, (k + 1) * of.buckets),
            "head {}: bias with cotangents, and table with gradient", k);
  }
}

core::tensor drawn(core::dtype type, const core::shape& shape, core::counter_random& random, double low, double high) {
  core::tensor t = core::zeros(type, shape);
  for (double& x : t.values.storage()) x = core::round_to(type, random.uniform(low, high));
  return t;
}

// Attention with this bias, no key behind the query where one direction counts: the gradient of its bias.
const measured_call& bias_gradient(experiment& e, const test_case& c, core::tensor bias) {
  const std::vector<double> distances = distances_of(c);
  auto& x = bias.values.storage();
  for (std::size_t k = 0; k < x.size() && !map_of(c).bidirectional; ++k)
    if (distances[k % distances.size()] > 0) x[k] = -std::numeric_limits<double>::infinity();
  const core::shape s = bias.shape();
  core::counter_random random(c.seed);
  const core::dtype type = c.call.type;
  core::tensor values = drawn(type, {1, s[0], s[2], 1}, random, 1, 2);
  for (std::size_t k = 1; k < values.size(); k += 2) values.values.storage()[k] *= -1;  // gradients far from 0
  core::tensors inputs{{"q", drawn(type, {1, s[0], s[1], 1}, random, -1, 1)},
                       {"k", drawn(type, {1, s[0], s[2], 1}, random, -1, 1)},
                       {"v", std::move(values)},
                       {"grad_o", drawn(type, {1, s[0], s[1], 1}, random, 1, 2)},
                       {"bias", std::move(bias)}};
  return e.call(reference::find_operation("attention/output:vjp"), std::move(inputs), {{"scale", std::string("one")}});
}

// A constant on the whole table changes no weight of attention: behind it the gradients of a head add up to 0.
void check_dead_constant(experiment& e) {
  // Few keys: what rounding is allowed stays below the gradients in every format.
  const std::vector<std::size_t> kept = every(std::min<std::size_t>(sizes_of(e.c).at("m"), 4));
  const test_case few = with_inputs(e.c, core::restrict_axis(*e.c.call.operation, e.c.call.inputs, "m", kept));
  test_case c = with_table(few, quarter_of_uneven);
  const core::tensor& bias = e.forward(c).outputs.at("bias");
  e.needs(bias.size() > 0);
  const measured_call& logits = bias_gradient(e, c, bias);
  c.call.inputs.at("grad_bias") = logits.outputs.at("grad_bias");
  const numbers given(logits, "grad_bias"), grad(e.call(c), "grad_table");
  const per_head of(c, grad, given.size());
  for (std::size_t k = 0; k < of.heads; ++k) {
    cancelling_sum sum;
    for (std::size_t b = k * of.buckets; b < (k + 1) * of.buckets; ++b) sum.add(grad[b]);
    for (std::size_t p = k * of.pairs; p < (k + 1) * of.pairs; ++p) sum.value.error += given.allowed[p];
    e.equal(exactly(0), sum.value, sum.size, "head {}: behind attention the sum of the gradients of all buckets", k);
  }
}

}  // namespace

std::vector<property> gradient_laws() {
  const law_scope gradient{{"t5_bias/bias:vjp"}};
  std::vector<property> all{
      law("t5_partition", "gradients add up to the cotangents", gradient, {1, check_partition}),
      law("t5_scatter", "a cotangent goes to the bucket that its pair has read", gradient, {2, check_scatter}),
      law("t5_unused_gradient", "the unused bucket has no gradient", gradient, {1, check_unused_gradient})};
  if (reference::find_operation("attention/output:vjp") != nullptr)
    all.push_back(law("t5_dead_constant", "behind attention a constant on the table has no gradient", gradient,
                      {3, check_dead_constant}));
  return all;
}

}  // namespace assay::properties::encodings::t5_bias
