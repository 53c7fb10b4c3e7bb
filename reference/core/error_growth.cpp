#include "reference/core/error_growth.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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

double largest_distance(const tensor& query_positions, const tensor& key_positions) {
  const auto &query = query_positions.values.storage(), &key = key_positions.values.storage();
  if (query.empty() || key.empty()) return 0;
  const auto [first_query, last_query] = std::minmax_element(query.begin(), query.end());
  const auto [first_key, last_key] = std::minmax_element(key.begin(), key.end());
  return std::max(std::fabs(*last_query - *first_key), std::fabs(*last_key - *first_query));
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
