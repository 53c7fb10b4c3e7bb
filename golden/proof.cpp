#include "golden/proof.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/core/special_values.hpp"
#include "reference/error_bound.hpp"

namespace assay::golden {
namespace {

using core::infinity;

// x + y of non-negative numbers, rounded upwards. The rounding error of a sum is a double (Knuth 1969).
double add_upwards(double x, double y) {
  const double sum = x + y;
  if (!std::isfinite(sum)) return sum;
  const double part = sum - x;
  const double error = (x - (sum - part)) + (y - part);
  return error > 0.0 ? std::nextafter(sum, infinity) : sum;
}

// x rounded up to 8 significant bits, after a small margin is added.
double coarse_upwards(double x) {
  if (x == 0.0 || !std::isfinite(x)) return x;
  constexpr int bits = 8;
  const double shifted = x * (1.0 + 0x1p-20);
  if (!std::isfinite(shifted)) return infinity;
  const int quantum = std::max(std::ilogb(shifted) - (bits - 1), -1074);
  return std::ldexp(std::ceil(std::ldexp(shifted, -quantum)), quantum);
}

// The bound on |x - truth| under the union of the laws that a question is about.
double bound_of(question kind, const core::request& call, core::dtype storage, core::dtype compute,
                const reference::allowance& laws, std::size_t i, double truth) {
  using reference::accuracy_class;
  const auto k = [&](accuracy_class c) { return laws.k[static_cast<std::size_t>(c)].storage()[i]; };
  const auto bound_of_class = [&](accuracy_class c) {
    return reference::class_bound(c, storage, compute, k(c), truth);
  };
  const double bug = reference::bug_bound(storage, compute, k(reference::accuracy_classes.back()), truth);
  if (kind == question::bug) return bug;
  const double sequential = bound_of_class(accuracy_class::sequential);
  if (!reference::has_classes(*call.operation)) return std::min(bug, sequential);
  return std::min(bug, std::max(bound_of_class(accuracy_class::uniform), sequential));
}

// Writes every NaN with the same bits: compilers and processors differ.
void use_one_nan(core::tensor& t) {
  for (double& x : t.values.storage())
    if (std::isnan(x)) x = std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

std::string low_name(const std::string& output) { return output + ":low"; }

std::string allowance_name(const std::string& output, question kind, core::dtype storage, core::dtype arithmetic) {
  const std::string name = output + (kind == question::bug ? ":bug" : ":class");
  return arithmetic == storage ? name : name + "." + std::string(core::name_of(arithmetic));
}

std::vector<core::dtype> arithmetics_of(core::dtype storage) {
  if (storage == core::dtype::f16 || storage == core::dtype::bf16) return {storage, core::dtype::f32};
  return {storage};
}

std::vector<std::string> names_beside(const std::string& output, core::dtype storage) {
  std::vector<std::string> names{low_name(output)};
  for (const core::dtype arithmetic : arithmetics_of(storage))
    for (const question kind : questions) names.push_back(allowance_name(output, kind, storage, arithmetic));
  return names;
}

double largest_distance(core::dtype type, double y, double low, double bound) {
  const bool overflowed = std::isinf(y) && low != 0.0;
  if (std::isnan(y) || (std::isinf(y) && !overflowed)) return 0.0;
  if (std::isnan(bound) || std::isinf(bound)) return infinity;
  if (overflowed) return std::fabs(low) - bound > core::largest_finite(type) ? 0.0 : infinity;
  if (core::is_floating(type) && std::fabs(y + low) + bound >= core::largest_finite(type)) return infinity;
  return add_upwards(bound, std::fabs(low));
}

double allowed_distance(core::dtype type, double y, double low, double bound) {
  return coarse_upwards(largest_distance(type, y, low, bound));
}

core::result<proved_outputs> prove(const core::request& call, std::size_t rungs) {
  const auto truth = reference::certify(call, rungs, reference::proof::value_and_low);
  proved_outputs out;
  for (const auto& [name, c] : truth) {
    for (std::size_t i = 0; i < c.rung.size(); ++i) {
      if (c.rung[i] == reference::undecided)
        return core::failure("output " + name + core::index_text(c.rounded.shape(), i) + " is not decided at " +
                             std::to_string(reference::precision_digits[rungs - 1]) + " digits");
      ++out.elements_by_rung[c.rung[i] - reference::first_interval_rung];
    }
    core::tensor low{core::dtype::f64, c.low}, rounded = c.rounded;
    use_one_nan(rounded);
    out.tensors.emplace(name, std::move(rounded));
    out.tensors.emplace(low_name(name), std::move(low));
  }
  for (const core::dtype arithmetic : arithmetics_of(call.type)) {
    const auto laws = reference::allow(call, arithmetic);
    for (const auto& [name, c] : truth) {
      const core::dtype type = c.rounded.type;
      if (arithmetic != call.type && type != call.type) continue;
      const auto& y = c.rounded.values.storage();
      const auto& low = c.low.storage();
      for (const question kind : questions) {
        core::tensor allowance = core::zeros(core::dtype::f64, c.rounded.shape());
        for (std::size_t i = 0; i < y.size(); ++i)
          allowance.values.storage()[i] = allowed_distance(
              type, y[i], low[i], bound_of(kind, call, type, arithmetic, laws.at(name), i, c.truth(i)));
        out.tensors.emplace(allowance_name(name, kind, call.type, arithmetic), std::move(allowance));
      }
    }
  }
  return out;
}

}  // namespace assay::golden
