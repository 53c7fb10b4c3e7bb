// Operators of programs on matrices [..., b, b], in a reading.
#pragma once

#include <cstddef>
#include <utility>

#include "reference/algorithms/skew_exponential.hpp"
#include "reference/formula/arrays.hpp"

namespace assay::reference::formula {

/// f(matrices...) for the matrices at the same place of all operands.
template <class R, class F, class... Operands>
reals<R> mapped_matrices(std::size_t b, F f, const reals<R>& x, const Operands&... others) {
  reals<R> made;
  made.reserve(x.size());
  for (std::size_t first = 0; first < x.size(); first += b * b) {
    const auto matrix = [&](const reals<R>& all) {
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
      return square_matrix<R>(begin, begin + static_cast<std::ptrdiff_t>(b * b));
    };
    for (R& y : f(matrix(x), matrix(others)...)) made.push_back(std::move(y));
  }
  return made;
}

/// These operators occur in no text; only programs from texts are sketched, or have gradients that are differentiated.
template <class R>
reals<R> exponentials(const reals<R>& x, std::size_t b) {
  if constexpr (exponentiates_matrices<R>)
    return mapped_matrices<R>(
        b, [b](const square_matrix<R>& own) { return skew_exponential(own, b); }, x);
  else
    throw core::contract_violation("no exponential of matrices in this reading");
}
template <class R>
reals<R> back_through_exponentials(const reals<R>& x, const reals<R>& g, const reals<R>& terms, std::size_t b) {
  if constexpr (exponentiates_matrices<R> && !carries_derivatives<R>)
    return mapped_matrices<R>(
        b,
        [b](const square_matrix<R>& own, const square_matrix<R>& to, const square_matrix<R>& own_terms) {
          return back_through_exponential(own, to, own_terms, b);
        },
        x, g, terms);
  else
    throw core::contract_violation("no derivative of exponentials of matrices in this reading");
}

}  // namespace assay::reference::formula
