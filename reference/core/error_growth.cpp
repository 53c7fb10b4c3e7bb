#include "reference/core/error_growth.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace assay::core {
namespace {

using sizes_by_symbol = std::map<std::string, std::size_t>;

double size_along(const sizes_by_symbol& sizes, const std::string& symbol) {
  return static_cast<double>(sizes.at(symbol));
}

// The largest finite |x|; 0 where there is none.
double largest_in(const tensors& inputs, const std::string& name) {
  double largest = 0;
  for (const double x : inputs.at(name).values.storage())
    if (std::isfinite(x)) largest = std::max(largest, std::fabs(x));
  return largest;
}

double largest_distance(const tensors& inputs, const sizes_by_symbol&) {
  if (inputs.contains("distance")) return largest_in(inputs, "distance");
  const auto &query = inputs.at("query_position").values.storage(), &key = inputs.at("key_position").values.storage();
  if (query.empty() || key.empty()) return 0;
  const auto [first_query, last_query] = std::minmax_element(query.begin(), query.end());
  const auto [first_key, last_key] = std::minmax_element(key.begin(), key.end());
  return std::max(std::fabs(*last_query - *first_key), std::fabs(*last_key - *first_query));
}

}  // namespace

std::string error_growth::words(double x) const { return fmt::format(fmt::runtime(at), x); }

const error_growth with_tokens{"number of tokens", "n = {}", true,
                               [](const tensors&, const sizes_by_symbol& sizes) { return size_along(sizes, "n"); }};
const error_growth with_keys{"number of keys", "m = {}", true,
                             [](const tensors&, const sizes_by_symbol& sizes) { return size_along(sizes, "m"); }};
const error_growth with_position{
    "largest position", "position {}", false,
    [](const tensors& inputs, const sizes_by_symbol&) { return largest_in(inputs, "position"); }};
const error_growth with_distance{"largest distance", "distance {}", false, largest_distance};
const error_growth with_state{"largest |s|", "|s| = {}", false,
                              [](const tensors& inputs, const sizes_by_symbol&) { return largest_in(inputs, "s"); }};

}  // namespace assay::core
