// Converts the elements of views, in row-major order, to numbers of another type. It serves operations that do not
// compute in the type of their inputs.
#pragma once

#include <vector>

#include "optimized/views.hpp"

namespace assay::optimized {

template <class Number = double, class T, std::size_t Rank>
std::vector<Number> numbers_of(const view<T, Rank>& v) {
  std::vector<Number> all;
  all.reserve(v.size());
  for_each_element(v, [&](const T& x) { all.push_back(static_cast<Number>(x)); });
  return all;
}

/// Rounds the numbers to the elements of v.
template <class Number, class T, std::size_t Rank>
void store(const std::vector<Number>& numbers, const view<T, Rank>& v) {
  auto from = numbers.begin();
  for_each_element(v, [&](T& x) { x = static_cast<T>(*from++); });
}

}  // namespace assay::optimized
