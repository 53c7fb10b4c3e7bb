#include "reference/formula/sketch.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <boost/math/statistics/univariate_statistics.hpp>

#include "reference/formula/tensors_of.hpp"
#include "reference/readings/sketched.hpp"

namespace assay::reference::formula {
namespace {

using magnitudes = std::map<std::string, std::vector<double>>;  // element by element, the magnitudes of its experiments

magnitudes experiments_of(const program& p, const core::tensors& inputs, const core::precisions& compute,
                          const std::vector<std::string>& stages, std::uint64_t seed) {
  const computing_in format(compute);
  sketched::seed(seed);
  magnitudes all;
  const auto lifts = lifted<sketched>(p, inputs);
  const auto made = interpreter<sketched>(p, lifts, stages).run();
  for (const program::output& o : p.outputs())
    if (const auto* numbers = std::get_if<reals<sketched>>(&made.at(o.name)))
      for (const sketched& x : *numbers)
        for (const double change : x.change) all[o.name].push_back(std::fabs(change));
  return all;
}

}  // namespace

std::optional<std::map<std::string, xt::xarray<double>>> sketch_of(const program& p, const core::tensors& inputs,
                                                                   const core::precisions& compute,
                                                                   const std::vector<std::string>& stages,
                                                                   std::size_t experiments) {
  constexpr std::size_t most_numbers = std::size_t{1} << 18, most_of_outputs = std::size_t{1} << 16;
  for (node_id k = 0; k < p.nodes().size(); ++k)
    if (elements_of(p.type_of(k).shape) > most_numbers) return std::nullopt;
  std::size_t elements_of_outputs = 0;
  for (const program::output& o : p.outputs()) elements_of_outputs += elements_of(p.type_of(o.node).shape);
  if (elements_of_outputs > most_of_outputs) return std::nullopt;
  std::vector<magnitudes> runs(experiments / sketched::experiments);
  try {
    tbb::parallel_for(std::size_t{0}, runs.size(),
                      [&](std::size_t k) { runs[k] = experiments_of(p, inputs, compute, stages, k); });
  } catch (const undecided_integer&) {
    return std::nullopt;
  }
  const double u = core::unit_roundoff(compute.unit());
  std::map<std::string, xt::xarray<double>> all;
  for (const program::output& o : p.outputs()) {
    if (!runs.front().contains(o.name)) continue;
    xt::xarray<double> k = xt::zeros<double>(p.type_of(o.node).shape);
    for (std::size_t i = 0; i < k.size(); ++i) {
      std::vector<double> seen;
      for (const magnitudes& run : runs) {
        const auto first = run.at(o.name).begin() + static_cast<std::ptrdiff_t>(i * sketched::experiments);
        seen.insert(seen.end(), first, first + sketched::experiments);
      }
      const bool is_number = std::ranges::none_of(seen, [](double x) { return std::isnan(x); });
      k.storage()[i] = is_number ? boost::math::statistics::median(seen) / u : std::numeric_limits<double>::quiet_NaN();
    }
    all.emplace(o.name, std::move(k));
  }
  return all;
}

}  // namespace assay::reference::formula
