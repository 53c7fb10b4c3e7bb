// Sums from each place of a list on, S_j = x_j + ... + x_{n-1}, each algorithm written once for every reading. The
// terms are of one sign; one that is infinite reaches the sums that it stands in.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "reference/algorithms/segment_sums.hpp"

namespace assay::reference {

/// Sums and their adjoint, from the cotangents of S to those of x, as one block of a tape.
template <class R, class Sums, class Adjoint>
std::vector<adjoint<R>> taped_sums(const std::vector<adjoint<R>>& x, Sums sums, Adjoint pull) {
  std::vector<R> plain;
  std::vector<typename tape<R>::node> from;
  for (const adjoint<R>& term : x) plain.push_back(term.number), from.push_back(term.node);
  std::vector<adjoint<R>> out;
  const std::vector<R> s = sums(plain);
  const auto first = tape<R>::current().add_block(s.size(), [=](tape<R>& graph, std::span<const cotangent<R>> g) {
    std::vector<R> given;
    for (const cotangent<R>& y : g) given.push_back(y.by_magnitude());
    const std::vector<R> grad = pull(given);
    for (std::size_t l = 0; l < from.size(); ++l) graph.put(from[l], cotangent<R>(grad[l]));
  });
  for (std::size_t j = 0; j < s.size(); ++j) out.emplace_back(s[j], first + static_cast<unsigned>(j));
  return out;
}

/// grad x_l = sum of grad S_j over j <= l.
template <class R>
std::vector<R> suffix_sums_adjoint(const std::vector<R>& grad) {
  std::vector<R> out;
  accumulator<R> sum;
  for (const R& g : grad) {
    sum.add(g);
    out.push_back(sum.total());
  }
  return out;
}

/// The same as autograd has it behind a cumsum: all of them, less those behind l.
template <class R>
std::vector<R> suffix_sums_adjoint_by_total(const std::vector<R>& grad) {
  std::vector<R> out(grad.size());
  accumulator<R> sum;
  for (const R& g : grad) sum.add(g);
  for (std::size_t l = grad.size(); l-- > 0;) {
    out[l] = sum.total();
    sum.add(-grad[l]);
  }
  return out;
}

/// As defined, from the last term back. The allowance reading charges the partial sums from the last term on or those
/// from the first one on, whichever are more: see segment_sums.
template <class R>
std::vector<R> suffix_sums(const std::vector<R>& x) {
  if constexpr (is_adjoint<R>) {
    using number = typename R::underlying;
    return taped_sums<number>(x, suffix_sums<number>, suffix_sums_adjoint<number>);
  } else {
    std::vector<R> s = x;
    for (std::size_t j = s.size(); j-- > 1;) s[j - 1] = s[j - 1] + s[j];
    if constexpr (std::is_same_v<R, tracked>) {
      double inherited = 0, from_first = 0;  // the sums of x_j + ... + x_l over l > j
      for (std::size_t j = s.size(); j-- > 0; inherited += x[j].error) {
        const double later = j + 1 == x.size() ? 0.0 : finite_magnitude(x[j + 1].number);
        from_first += later + static_cast<double>(x.size() - 1 - j) * finite_magnitude(x[j].number);
        s[j] = {s[j].number, std::max(s[j].error, inherited + x[j].error + from_first)};
      }
    }
    return s;
  }
}

/// As published with prefix sums: all of them, less those before j.
template <class R>
std::vector<R> suffix_sums_by_prefix(const std::vector<R>& x) {
  if constexpr (is_adjoint<R>) {
    using number = typename R::underlying;
    return taped_sums<number>(x, suffix_sums_by_prefix<number>, suffix_sums_adjoint_by_total<number>);
  } else {
    std::vector<R> terms{R(0.0)}, s;
    terms.insert(terms.end(), x.begin(), x.end());
    const prefix_differences<R> sums(const_lane<R>(terms.data(), 1, terms.size()));
    for (std::size_t j = 0; j < x.size(); ++j) s.push_back(sums.between(x.size(), j));
    return s;
  }
}

/// The error bound of differences of prefix sums, which have no answer beside an infinite term.
template <class R>
std::vector<R> law_of_total_less_prefix(const std::vector<R>& x) {
  const bool infinite = std::any_of(x.begin(), x.end(), [](const R& term) { return std::isinf(to_double(term)); });
  return (infinite ? suffix_sums<R> : suffix_sums_by_prefix<R>)(x);
}

}  // namespace assay::reference
