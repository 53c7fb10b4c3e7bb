#include "reference/scatter.hpp"

#include <tbb/parallel_for.h>

#include <cmath>

#include "reference/evaluate_in.hpp"
#include "reference/readings/rounded.hpp"

namespace assay::reference {
namespace {

using errors = std::map<std::string, std::vector<double>>;

errors errors_of(const core::tensors& outputs, const certified_outputs& truth, double unit) {
  errors all;
  for (const auto& [name, c] : truth) {
    const auto& values = outputs.at(name).values.storage();
    std::vector<double>& e = all[name];
    e.reserve(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double off = c.error_of(values[i], i);
      e.push_back(std::isfinite(off) ? off * unit : std::numeric_limits<double>::quiet_NaN());
    }
  }
  return all;
}

}  // namespace

std::vector<double> scatter::deviations() const {
  std::vector<double> all(to_nearest.size(), 0.0);
  for (const std::vector<double>& run : at_random)
    for (std::size_t i = 0; i < all.size(); ++i) all[i] += run[i] * run[i];
  for (double& x : all) x = std::sqrt(x / static_cast<double>(at_random.size()));
  return all;
}

std::map<std::string, scatter> scatter_of(const core::request& call, const core::precisions& compute, accuracy_class c,
                                          const certified_outputs& truth, std::size_t runs) {
  core::request in_doubles = call;  // outputs are not rounded to storage
  in_doubles.type = core::dtype::f64;
  // The format that replaces f64 has fewer digits.
  const double coarser =
      compute.unit() == core::dtype::f64 ? std::ldexp(core::unit_roundoff(core::dtype::f64), coarse_precision) : 1.0;
  std::vector<errors> found(runs + 1);
  tbb::parallel_for(std::size_t{0}, found.size(), [&](std::size_t k) {
    found[k] = errors_of(evaluate_in(in_doubles, k == runs ? compute : compute.at_random(k), c), truth,
                         k == runs ? 1.0 : coarser);
  });
  std::map<std::string, scatter> all;
  for (auto& [name, to_nearest] : found.back()) all[name].to_nearest = std::move(to_nearest);
  found.pop_back();
  for (errors& run : found)
    for (auto& [name, e] : run) all[name].at_random.push_back(std::move(e));
  return all;
}

}  // namespace assay::reference
