// The coordinates that a matrix connects. Its exponential is computed by parts, with exact zeros between them.
#pragma once

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "reference/algorithms/skew_exponential.hpp"
#include "reference/readings/ball.hpp"
#include "reference/readings/enclosure.hpp"
#include "reference/readings/value.hpp"

namespace assay::reference::connected_coordinates {

inline bool is_exact_zero(const value& x) { return x.number == 0; }
inline bool is_exact_zero(const enclosure& x) { return x.is_zero(); }
template <class Number>
bool is_exact_zero(const ball<Number>& x) {
  return x.is_exact_zero();
}
inline bool is_undefined(const value& x) { return is_nan(x) || is_infinite(x); }
inline bool is_undefined(const enclosure& x) { return x.is_nan() || x.is_infinite(); }
template <class Number>
bool is_undefined(const ball<Number>& x) {
  return x.is_nan() || x.is_infinite();
}
inline value not_a_number(const value&) { return value(std::numeric_limits<double>::quiet_NaN()); }
inline enclosure not_a_number(const enclosure&) { return enclosure::nan(); }
template <class Number>
ball<Number> not_a_number(const ball<Number>&) {
  return ball<Number>::nan();
}

// For each coordinate, the first of the coordinates that X connects with it.
template <class R>
std::vector<std::size_t> connected(const square_matrix<R>& x, std::size_t b) {
  std::vector<std::size_t> part(b);
  std::iota(part.begin(), part.end(), std::size_t{0});
  for (std::size_t i = 0; i < b; ++i)
    for (std::size_t j = i + 1; j < b; ++j)
      if (part[i] != part[j] && !is_exact_zero(x[i * b + j])) {
        const std::size_t from = std::max(part[i], part[j]), to = std::min(part[i], part[j]);
        std::replace(part.begin(), part.end(), from, to);
      }
  return part;
}

// Exponentiates each part of the coordinates by itself; dense(x, n) gives the exponential of one part.
template <class R, class Dense>
square_matrix<R> by_parts(const square_matrix<R>& x, std::size_t b, Dense dense) {
  if (std::any_of(x.begin(), x.end(), [](const R& y) { return is_undefined(y); }))
    return square_matrix<R>(b * b, not_a_number(R(0.0)));
  square_matrix<R> r = identity_matrix<R>(b);
  const std::vector<std::size_t> part = connected(x, b);
  for (std::size_t first = 0; first < b; ++first) {
    std::vector<std::size_t> members;
    for (std::size_t i = first; i < b; ++i)
      if (part[i] == first) members.push_back(i);
    if (members.size() < 2) continue;
    square_matrix<R> own;
    for (const std::size_t i : members)
      for (const std::size_t j : members) own.push_back(x[i * b + j]);
    const square_matrix<R> turned = dense(own, members.size());
    for (std::size_t i = 0; i < members.size(); ++i)
      for (std::size_t j = 0; j < members.size(); ++j) r[members[i] * b + members[j]] = turned[i * members.size() + j];
  }
  return r;
}
// L(X, G) by parts; dense() gives L(X, G) of all coordinates together. For two coordinates that X connects with no
// other, it is G. Between parts where G is 0, it is 0.
template <class R, class Dense>
square_matrix<R> slope_by_parts(const square_matrix<R>& x, const square_matrix<R>& g, std::size_t b, Dense dense) {
  for (const auto* m : {&x, &g})
    if (std::any_of(m->begin(), m->end(), [](const R& y) { return is_undefined(y); }))
      return square_matrix<R>(b * b, not_a_number(R(0.0)));
  const std::vector<std::size_t> part = connected(x, b);
  std::vector<std::size_t> size(b, 0);
  for (const std::size_t p : part) ++size[p];
  std::vector<bool> is_reached(b * b, false);  // by parts
  for (std::size_t k = 0; k < b * b; ++k)
    if (!is_exact_zero(g[k])) is_reached[part[k / b] * b + part[k % b]] = true;
  std::optional<square_matrix<R>> slope;
  square_matrix<R> r;
  for (std::size_t k = 0; k < b * b; ++k) {
    const std::size_t p = part[k / b], q = part[k % b];
    if (!is_reached[p * b + q]) {
      r.push_back(R(0.0));
    } else if (size[p] == 1 && size[q] == 1) {
      r.push_back(g[k]);
    } else {
      if (!slope) slope = dense();
      r.push_back((*slope)[k]);
    }
  }
  return r;
}

}  // namespace assay::reference::connected_coordinates
