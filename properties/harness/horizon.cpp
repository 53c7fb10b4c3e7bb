#include "properties/harness/horizon.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "properties/harness/case.hpp"
#include "properties/harness/runner.hpp"
#include "properties/harness/verdict.hpp"

namespace assay::properties {
namespace {

// The largest error, in units of its scale, at each token, over all outputs with a time axis.
std::vector<double> errors_by_token(const expectation& expected, const core::tensors& outputs, std::size_t tokens) {
  std::vector<double> worst(tokens, 0.0);
  for (const auto& d : expected.call.operation->outputs) {
    const auto axis = core::axis_of(d, expected.call.operation->recurrent->time_axis);
    if (!axis) continue;
    const core::tensor& t = outputs.at(d.name);
    const reference::certified& truth = expected.truth.at(d.name);
    const std::vector<double> scales = scales_of(expected, d.name);
    const core::shape s = t.shape();
    const std::size_t inner = core::stride_of(s, *axis);
    for (std::size_t i = 0; i < t.size(); ++i) {
      const double error = std::fabs(truth.error_of(t.values.storage()[i], i));
      double& largest = worst[(i / inner) % tokens];
      const double relative = error / scales[i];
      // A NaN among the outputs ends every horizon.
      largest = std::isnan(relative) ? std::numeric_limits<double>::infinity() : std::max(largest, relative);
    }
  }
  return worst;
}

}  // namespace

test_case horizon_case(const description& about, const core::operation& op, core::dtype type, std::size_t tokens,
                       std::uint64_t seed) {
  return make_case(mild_key_for(about, op, type, seed, {lengths::exactly, tokens}));
}

tl::expected<horizon, call_failure> measure_horizon(implementation& under_test, const test_case& c) {
  const std::size_t tokens = sizes_of(c).at(c.call.operation->recurrent->time_axis);
  ASSAY_EXPECTS(tokens > 0);
  if (!within_domain(under_test.describe(), c))
    return tl::make_unexpected(call_failure{fault::unsupported, "outside the declared domain"});
  const call_result outputs = under_test.evaluate(c.call);
  if (!outputs) return tl::make_unexpected(outputs.error());
  const auto expected = expect(c.call, under_test.describe().precisions_of(c.call));
  const std::vector<double> errors = errors_by_token(*expected, *outputs, tokens);

  horizon h{tokens, {}, 0.0, judge(*expected, *outputs)};
  for (std::size_t n = 1, power = 1; n <= tokens; ++n) {
    h.largest_error = std::max(h.largest_error, errors[n - 1]);
    if (n != power) continue;
    h.error_at_power.push_back(h.largest_error);
    power *= 2;
  }
  return h;
}

void record_horizon(check_result& r, const test_case& c, const horizon& h) {
  if (h.judged.passed) widen_class(r, c, h.judged);
  const double ulp = std::ldexp(1.0, 1 - core::format_of(r.type).precision);
  const auto record = [&](std::size_t tokens, double error) {
    error_there& there = r.by_growth[std::bit_floor(tokens)];
    there.farthest = std::max(there.farthest, static_cast<double>(tokens));
    there.digits_farthest = std::max(there.digits_farthest, static_cast<double>(tokens));
    there.digits_ulp = std::max(there.digits_ulp, error / ulp);
  };
  for (std::size_t k = 0; k < h.error_at_power.size(); ++k) record(std::size_t{1} << k, h.error_at_power[k]);
  record(h.measured, h.largest_error);
}

}  // namespace assay::properties
