// Recipes of forgetting attention that differ from the right one in one place: what its mutants are made of.
#pragma once

#include <limits>

#include "properties/faults/several_encodings.hpp"
#include "reference/algorithms/scans.hpp"
#include "reference/encodings/fox.hpp"

namespace assay::properties::encodings::fox {

using unchanged_fox = unchanged<reference::encodings::fox>;

/// The correct recipe with D_ij = entry(a, i, j) for j <= i.
template <class R>
reference::encodings::fox::recipe<R> with_entry(R (*entry)(reference::const_lane<R> a, std::size_t i, std::size_t j)) {
  reference::encodings::fox::recipe<R> how;
  how.sums = [entry](reference::const_lane<R> a, R* out) {
    for (std::size_t i = 0; i < a.size(); ++i)
      for (std::size_t j = 0; j <= i; ++j) out[i * a.size() + j] = entry(a, i, j);
  };
  return how;
}

/// a_first + ... + a_{last - 1}
template <class R>
R sum_of(reference::const_lane<R> a, std::size_t first, std::size_t last) {
  R sum(0.0);
  for (std::size_t l = first; l < last; ++l) sum = sum + a[l];
  return sum;
}

}  // namespace assay::properties::encodings::fox
