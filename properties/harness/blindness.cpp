#include "properties/harness/blindness.hpp"

#include <algorithm>
#include <boost/math/statistics/univariate_statistics.hpp>
#include <cmath>

#include "properties/harness/sized_key.hpp"
#include "properties/harness/suspicion.hpp"
#include "properties/harness/verdict.hpp"
#include "reference/evaluate_in.hpp"
#include "reference/scatter.hpp"

namespace assay::properties {
namespace {

// Whether the operation has pairs of tokens and keys, or of tokens: an output has both axes, or queries, keys and
// values are given.
bool has_pairs(const core::operation& op) {
  const std::string token = core::axis_with(op, core::axis_role::token);
  const auto count = [](const core::tensor_declaration& d, const std::string& axis) {
    return axis.empty() ? 0 : std::ranges::count(d.axes, axis);
  };
  const auto is_wide = [&](const core::tensor_declaration& d) {
    return std::ranges::any_of(
        d.axes, [&](const std::string& axis) { return core::role_of(op, axis) == core::axis_role::width; });
  };
  return !core::axis_with(op, core::axis_role::key).empty() ||
         std::ranges::any_of(op.outputs, [&](const auto& d) { return count(d, token) > 1; }) ||
         std::ranges::count_if(op.inputs, [&](const auto& d) { return count(d, token) == 1 && is_wide(d); }) > 2;
}

}  // namespace

std::vector<blindness> blindness_of(const request& call, const core::precisions& compute) {
  constexpr double faint = 1e-3;
  const reference::certified_outputs truth = reference::truth_of(call);
  const reference::allowances allowed = reference::allow(call, compute);
  const core::tensors plain = reference::evaluate_in(call, compute);
  const auto scattered =
      reference::scatter_of(call, compute, reference::algorithms_of(*call.operation).back(), truth, scatter_runs);
  std::vector<blindness> all;
  for (const auto& [name, c] : truth) {
    const auto& right = c.rounded.values.storage();
    const auto& k = allowed.at(name).k.back().storage();
    const auto error_at = [&](std::size_t i, double x) { return std::fabs((x - right[i]) - c.low.storage()[i]); };
    double most = 0.0;
    blindness b{name};
    for (std::size_t i = 0; i < right.size(); ++i) {
      if (!std::isfinite(right[i]) || !std::isfinite(k[i])) continue;
      most = std::max(most, std::fabs(right[i]));
      if (const double off = error_at(i, plain.at(name).values.storage()[i]); std::isfinite(off))
        b.plain_error = std::max(b.plain_error, off);
    }
    const std::vector<double> unsuspicious = statistical_bounds(scattered.at(name), c, compute.unit());
    std::vector<double> ratios, statistical;
    for (std::size_t i = 0; i < right.size(); ++i) {
      if (!std::isfinite(right[i]) || std::isnan(k[i]) || std::fabs(right[i]) <= faint * most || most == 0.0) continue;
      const double allowance = allowed_error(call.type, compute, k[i], right[i]);
      const auto passes = [&](double x) { return error_at(i, x) <= allowance ? 1.0 : 0.0; };
      ratios.push_back(allowance / b.plain_error);
      const double not_suspicious = std::min(allowance, unsuspicious[i] + core::half_ulp(c.rounded.type, right[i]));
      statistical.push_back(not_suspicious / b.plain_error);
      b.zero_unsuspicious += error_at(i, 0.0) <= not_suspicious ? 1.0 : 0.0;
      b.zero += passes(0.0);
      b.other_sign += passes(-right[i]);
      const std::size_t next = i + 1 < right.size() ? i + 1 : 0;
      if (right[next] != right[i]) b.neighbour += passes(right[next]);
    }
    if (ratios.empty()) continue;
    b.elements = ratios.size();
    for (double* share : {&b.zero, &b.other_sign, &b.neighbour, &b.zero_unsuspicious})
      *share /= static_cast<double>(b.elements);
    b.largest = *std::ranges::max_element(ratios);
    b.median = boost::math::statistics::median(ratios);
    b.statistical = boost::math::statistics::median(statistical);
    all.push_back(std::move(b));
  }
  return all;
}

case_key usual_key(const core::operation& op, core::dtype type, std::uint64_t seed) {
  const std::size_t tokens = has_pairs(reference::forward_of(op)) ? 128 : 4096;
  return mild_key(op, type,
                  {{core::axis_role::batch, 1},
                   {core::axis_role::head, 2},
                   {core::axis_role::token, tokens},
                   {core::axis_role::key, 128},
                   {core::axis_role::width, 64},
                   {core::axis_role::pairs, 32}},
                  {}, "", seed);
}

}  // namespace assay::properties
