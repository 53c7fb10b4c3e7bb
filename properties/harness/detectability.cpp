#include "properties/harness/detectability.hpp"

#include <algorithm>
#include <cmath>

#include "properties/harness/verdict.hpp"

namespace assay::properties {
namespace {

constexpr int largest_exponent = 80;

core::tensors truth_of(const expectation& e) {
  core::tensors truth;
  for (const auto& [name, c] : e.truth) truth.emplace(name, c.rounded);
  return truth;
}

// The smallest k for which the verdict catches the error at one element, with both signs, although an ulp of rounding
// error counteracts it; nothing if there is none.
std::optional<int> caught_from(const expectation& e, core::tensors& outputs, const std::string& name, std::size_t i,
                               double scale) {
  double& x = outputs.at(name).values.storage()[i];
  const double right = x, unit = core::unit_roundoff(e.call.type) * scale;
  const auto caught = [&](int k) {
    bool both = true;
    for (const double sign : {1.0, -1.0}) {
      const double wrong = core::round_to(e.call.type, right + sign * (std::ldexp(unit, k) - 2 * unit));
      x = std::isfinite(wrong) ? wrong : right;
      both = both && !judge(e, outputs).passed;
    }
    x = right;
    return both;
  };
  // For a small scale the exponents reach errors as large in absolute terms as those at a scale of 1.
  int low = 1,
      high = (core::largest_finite(e.call.type) < 1e6 ? 30 : largest_exponent) - std::min(0, std::ilogb(scale));
  while (high > low && !std::isfinite(core::round_to(e.call.type, std::fabs(right) + std::ldexp(unit, high)))) --high;
  if (!caught(high)) return std::nullopt;
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (caught(middle))
      high = middle;
    else
      low = middle + 1;
  }
  return high;
}

// The element whose allowance is widest in units of its scale, where an error hides best. Only elements with a finite
// truth count, and only if some finite answer is wrong there (at dead positions every finite derivative is right).
std::optional<std::size_t> widest_element(const expectation& e, const std::string& name,
                                          const std::vector<double>& scales) {
  const auto& truth = e.truth.at(name).rounded.values.storage();
  const auto laws = all_laws(e);
  const auto& k = laws->at(name).k.back().storage();
  std::optional<std::size_t> widest;
  double most = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    if (!std::isfinite(truth[i]) || !std::isfinite(k[i])) continue;
    const double width = allowed_error(e.call.type, e.compute, k[i], truth[i]) / scales[i];
    if (!widest || width > most) {
      widest = i;
      most = width;
    }
  }
  return widest;
}

}  // namespace

std::vector<detectable_error> detectable_errors(const core::operation& op, core::dtype type, std::uint64_t seed,
                                                std::size_t cases) {
  std::vector<detectable_error> all;
  for (const family& f : families_of(op)) {
    if (f.holds_nan) continue;
    std::map<std::string, detectable_error> by_output;
    for (const auto& d : op.outputs) by_output[d.name] = {d.name, f.name, 1, 0};
    for (std::size_t k = 0; k < cases + (cases + 3) / 4; ++k) {
      const extent size{k < cases ? lengths::short_ones : lengths::around_blocks};
      const test_case c = make_case({&op, type, f.name, seed + k, size}, f);
      const core::precisions compute = description{}.precisions_of(op, type);
      const auto expected = expect(c.call, compute);
      core::tensors outputs = truth_of(*expected);
      for (auto& [name, cell] : by_output) {
        const std::vector<double> scales = scales_of(*expected, name);
        const auto i = widest_element(*expected, name, scales);
        if (!i) continue;
        ++cell.cases;
        const auto from = caught_from(*expected, outputs, name, *i, scales[*i]);
        cell.log2_error = from && cell.log2_error ? std::optional(std::max(*from, *cell.log2_error)) : std::nullopt;
      }
    }
    for (auto& [name, cell] : by_output)
      if (cell.cases > 0) all.push_back(std::move(cell));
  }
  return all;
}

}  // namespace assay::properties
