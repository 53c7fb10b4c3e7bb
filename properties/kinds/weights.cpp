// Wrong and right ways from the logits of a row to its weights, and the law that the weights add up to 1.
#include <algorithm>
#include <cmath>

#include "properties/kinds/attention.hpp"
#include "reference/core/special_values.hpp"
#include "reference/oracle.hpp"

namespace assay::properties {
namespace weights {
namespace {

// The last axis, and the shape of one column for all rows.
struct row_axis {
  std::int64_t axis;
  core::shape one;
  explicit row_axis(const core::shape& s) : axis(static_cast<std::int64_t>(s.size()) - 1), one(s) { one.back() = 1; }
};
}  // namespace

traced sum_of_rows(const traced& x) {
  const row_axis rows(shape_of(x));
  return reshaped(summed(x, {rows.axis}), rows.one);
}
traced largest_of_rows(const traced& x) {
  const row_axis rows(shape_of(x));
  return reshaped(detach(largest_along(x, rows.axis)), rows.one);
}
traced hidden_as(double x, const traced& logits, const traced_truth& seen) { return either(seen, logits, traced(x)); }
traced masked(const traced& logits, const traced_truth& seen) { return hidden_as(-core::infinity, logits, seen); }
traced seen_alone(const traced& all, const traced_truth& seen) { return hidden_as(0.0, all, seen); }

void block_by_block(const traced& logits, const traced_truth& seen, std::size_t block,
                    const std::function<void(const traced& s, const traced_truth& is_seen)>& f) {
  const auto axis = static_cast<std::size_t>(row_axis(shape_of(logits)).axis);
  for (std::size_t first = 0, keys = shape_of(logits).back(); first < keys; first += block) {
    const std::size_t last = std::min(first + block, keys);
    f(between(logits, axis, first, last), between(seen, axis, first, last));
  }
}

traced over_sum(const traced& all, const traced_truth& seen) {
  const traced seen_values = seen_alone(all, seen);
  return seen_alone(seen_values / sum_of_rows(seen_values), seen);
}
traced less_largest(const traced& logits, const traced_truth& seen) {
  const traced all = masked(logits, seen);
  return all - largest_of_rows(all);
}

traced without_shift(const traced& logits, const traced_truth& seen) { return over_sum(exp(logits), seen); }

traced with_padded_keys(const traced& logits, const traced_truth& seen) {
  const std::size_t padding = (4 - shape_of(logits).back() % 4) % 4;
  if (padding == 0) return over_sum(exp(less_largest(logits, seen)), seen);
  const traced shift = larger(largest_of_rows(masked(logits, seen)), traced(0.0));
  const traced all = seen_alone(exp(logits - shift), seen);
  traced sum = sum_of_rows(all);
  for (std::size_t k = 0; k < padding; ++k) sum = sum + exp(-shift);
  return seen_alone(all / sum, seen);
}

traced masked_after_softmax(const traced& logits, const traced_truth& seen) {
  const traced zeros = hidden_as(0.0, logits, seen), all = exp(zeros - largest_of_rows(zeros));
  return seen_alone(all / sum_of_rows(all), seen);
}

traced never_rescaled(const traced& logits, const traced_truth& seen) {
  traced shift(-core::infinity);
  std::vector<traced> all;
  block_by_block(masked(logits, seen), seen, 1, [&](const traced& s, const traced_truth&) {
    shift = larger(shift, detach(s));
    all.push_back(exp(s - shift));
  });
  return over_sum(joined(all, shape_of(logits).size() - 1), seen);
}

traced cut_at_zero(const traced& logits, const traced_truth& seen) {
  const traced x = less_largest(logits, seen);
  return over_sum(either(less(x, traced(0.0)), exp(x), traced(0.0)), seen);
}

traced online_softmax(const traced& logits, const traced_truth& seen) {
  const traced nothing(-core::infinity), zero(0.0);
  traced shift = nothing, sum = zero;
  block_by_block(masked(logits, seen), seen, 1, [&](const traced& s, const traced_truth& is_seen) {
    const traced before = shift;
    shift = larger(shift, detach(s));
    sum = either(equal(before, nothing), zero, sum * exp(before - shift)) + either(is_seen, exp(s - shift), zero);
  });
  return seen_alone(exp(logits - shift) / sum, seen);
}

traced by_log_sum_exp(const traced& logits, const traced_truth& seen) {
  const traced x = less_largest(logits, seen), sum = sum_of_rows(seen_alone(exp(x), seen));
  return seen_alone(exp(x - log(sum)), seen);
}

traced masked_before_sum(const traced& logits, const traced_truth& seen) {
  const traced shift = largest_of_rows(masked(logits, seen));
  return over_sum(exp(hidden_as(0.0, logits, seen) - shift), seen);
}

traced guarded_softmax(const traced& logits, const traced_truth& seen) {
  const traced x = less_largest(logits, seen);
  return over_sum(either(less(traced(0.0), x), traced(1.0), exp(x)), seen);
}

}  // namespace weights

namespace {

// The mean of ones is 1, or 0 if the query has no key. Without a bias among the inputs each query sees itself.
void check_sum_of_weights(experiment& e) {
  test_case ones = e.c;
  for (double& x : ones.call.inputs.at("v").values.storage()) x = 1.0;
  const numbers mean(e.call(ones), "o");
  std::vector<bool> has_key;  // for the queries of a row
  if (const auto bias = ones.call.inputs.find("bias"); bias != ones.call.inputs.end())
    for (const std::span<double> row : rows_of(bias->second))
      has_key.push_back(std::any_of(row.begin(), row.end(), [](double x) { return !std::isinf(x); }));
  for (std::size_t index = 0; index < mean.size(); ++index) {
    const std::size_t query = index / mean.shape[3];
    const bool seen = !ones.call.inputs.contains("bias") || (!has_key.empty() && has_key[query % has_key.size()]);
    e.equal(exactly(seen), mean[index], "head {}: the mean of ones at query {}", query / mean.shape[2],
            query % mean.shape[2]);
  }
}

}  // namespace

property law_of_weights() {
  // The families of every encoding whose numbers are finite.
  const std::vector<std::string> finite{"mild",          "causal",          "masked_inside",  "linear_bias",
                                        "one_key_wins",  "far_keys",        "rows_apart",     "equal_logits",
                                        "no_bias",       "equal_values",    "gates_near_one", "gates_near_zero",
                                        "constant_gate", "infinite_inside", "no_decay",       "wide"};
  const auto attends = [](const core::operation& op) {
    // With a sink the weights add up to less than 1, and values of pairs are added to those of keys.
    const bool has_softmax = std::ranges::any_of(op.stages, [](const auto& s) { return s.name == "softmax"; });
    return op.is_forward() && has_softmax && op.input("q") && op.input("k") && op.input("v") && op.output("o") &&
           op.outputs.size() == 1 && !op.input("sink") && !op.input("table_v");
  };
  return law("weights_sum", "the weights of a query add up to 1", {{}, finite, attends}, {1, check_sum_of_weights});
}

}  // namespace assay::properties
