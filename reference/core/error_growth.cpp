#include "reference/core/error_growth.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "reference/core/operation.hpp"

namespace assay::core {
namespace {

// The largest finite |x|; 0 where there is none.
double largest_in(const tensor& t) {
  double largest = 0;
  for (const double x : t.values.storage())
    if (std::isfinite(x)) largest = std::max(largest, std::fabs(x));
  return largest;
}

// The smallest and the largest finite number; nothing where there is none.
std::optional<std::pair<double, double>> finite_range_of(const tensor& t) {
  std::pair<double, double> range{HUGE_VAL, -HUGE_VAL};
  for (const double x : t.values.storage())
    if (std::isfinite(x)) range = {std::min(range.first, x), std::max(range.second, x)};
  return range.first <= range.second ? std::optional(range) : std::nullopt;
}

double largest_distance(const tensor& query_positions, const tensor& key_positions) {
  const auto query = finite_range_of(query_positions), key = finite_range_of(key_positions);
  if (!query || !key) return 0;
  return std::max(std::fabs(query->second - key->first), std::fabs(key->second - query->first));
}

}  // namespace

double error_growth::value(const operation& op, const tensors& inputs, const axis_sizes& sizes) const {
  if (along) return static_cast<double>(size_with(op, sizes, *along));
  const auto [own, key] = places_of(op);
  ASSAY_EXPECTS(own != nullptr);
  if (key == nullptr) return largest_in(inputs.at(own->name));
  const tensor &own_positions = inputs.at(own->name), &key_positions = inputs.at(key->name);
  return quantity == with_position.quantity ? std::max(largest_in(own_positions), largest_in(key_positions))
                                            : largest_distance(own_positions, key_positions);
}

std::string error_growth::words(const operation& op, double x) const {
  return along ? fmt::format("{} = {}", axis_with(op, *along), x) : fmt::format(fmt::runtime(value_words), x);
}

}  // namespace assay::core
