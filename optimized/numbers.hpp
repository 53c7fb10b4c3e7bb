// Elements of views as numbers in double, in row-major order, for what is computed in double whatever its inputs are.
#pragma once

#include <vector>

#include "optimized/views.hpp"

namespace assay::optimized {

template <class T, std::size_t Rank>
std::vector<double> numbers_of(const view<T, Rank>& v) {
  std::vector<double> all;
  all.reserve(v.size());
  for_each_element(v, [&](const T& x) { all.push_back(static_cast<double>(x)); });
  return all;
}

/// Rounds them to the elements of v.
template <class T, std::size_t Rank>
void store(const std::vector<double>& numbers, const view<T, Rank>& v) {
  auto from = numbers.begin();
  for_each_element(v, [&](T& x) { x = static_cast<T>(*from++); });
}

}  // namespace assay::optimized
