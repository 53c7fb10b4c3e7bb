#include "properties/diagnosis/plain_arithmetic.hpp"

#include <cmath>
#include <numeric>

#include "properties/harness/verdict.hpp"
#include "reference/evaluate_in.hpp"

namespace assay::properties::plain_arithmetic {
namespace {

// The errors of outputs in their scales, paired with those of plain arithmetic, where these are a small part of the
// value. Where they are as large as the value, plain arithmetic gives any number. Its error is then y' - y for some y',
// and any other error has -y in it too, such as that of a row that is halved or turned by another angle. Nothing can be
// told there.
struct paired_errors {
  std::vector<double> actual, plain;
};
paired_errors errors_of(const probe& p, const core::tensors& plain) {
  constexpr double small = 0.25;
  paired_errors errors;
  for (const auto& [name, t] : plain) {
    const std::vector<double> scales = scales_of(*p.truth, name);
    const auto& actual = p.actual.at(name).values.storage();
    for (std::size_t i = 0; i < t.size(); ++i) {
      const double truth = p.truth_of(name, i), off = t.values.storage()[i] - truth, error = actual[i] - truth;
      if (!(std::fabs(off) <= small * std::fabs(truth))) continue;
      errors.plain.push_back(std::isfinite(off) ? off / scales[i] : 0.0);
      errors.actual.push_back(std::isfinite(error) ? error / scales[i] : 0.0);
    }
  }
  return errors;
}

// The call with its numbers in a narrow format: code that computes a stage in that format also converts its operands.
request with_narrow_inputs(request call, core::dtype narrow) {
  for (auto& [name, t] : call.inputs)
    if (t.type == call.type)
      for (double& x : t.values.storage()) x = core::round_to(narrow, x);
  return call;
}

}  // namespace

bool loses_otherwise(const probe& p, const core::precisions& formats) {
  const auto is_lost = [](double x, double truth) {
    return (x == 0.0 && truth != 0.0) || (!std::isfinite(x) && std::isfinite(truth));
  };
  const core::tensors plain = reference::evaluate_in(p.c.call, formats);
  std::size_t wrong = 0, lost = 0, lost_by_both = 0;
  for (const auto& [name, elements] : p.wrong)
    for (const std::size_t i : elements) {
      const double truth = p.truth_of(name, i);
      ++wrong;
      if (!is_lost(p.actual.at(name).values.storage()[i], truth)) continue;
      ++lost;
      lost_by_both += is_lost(plain.at(name).values.storage()[i], truth);
    }
  return 2 * lost > wrong && 2 * lost_by_both < lost;
}

double correlation_with(const core::precisions& formats, const std::optional<core::dtype>& narrow,
                        const std::vector<probe>& probes) {
  // Errors much smaller than those of plain arithmetic have another cause.
  constexpr double least = 0.3, deviations = 5, least_slope = 0.1;
  double sum = 0, elements = 0, products = 0, squares = 0;
  for (const probe& p : probes) {
    if (p.right) continue;
    const request call = narrow ? with_narrow_inputs(p.c.call, *narrow) : p.c.call;
    const auto [x, y] = errors_of(p, reference::evaluate_in(call, formats));
    const double xy = std::inner_product(x.begin(), x.end(), y.begin(), 0.0),
                 xx = std::inner_product(x.begin(), x.end(), x.begin(), 0.0),
                 yy = std::inner_product(y.begin(), y.end(), y.begin(), 0.0);
    const auto size = static_cast<double>(x.size());
    if (xx > 0 && yy > 0) sum += size * xy / std::sqrt(xx * yy);
    elements += size;
    products += xy;
    squares += yy;
  }
  if (!(products >= least_slope * squares)) return 0.0;
  return elements > 0 && sum >= least * elements && sum >= deviations * std::sqrt(elements) ? sum / elements : 0.0;
}

}  // namespace assay::properties::plain_arithmetic
