// Operators of programs that add elements up, or go along an axis, in a reading.
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "reference/algorithms/cumulative_sums.hpp"
#include "reference/algorithms/interpolation.hpp"
#include "reference/formula/ball_contraction.hpp"
#include "reference/formula/plain_contraction.hpp"
#include "reference/formula/rows.hpp"

namespace assay::reference::formula {

/// The total of a sum without products, with at most this number of additions. Where stages differ, a term may be cast
/// before it is added.
template <class R>
R total_of_terms(const accumulator<R>& sum, double additions) {
  if constexpr (requires { sum.total_of_terms(additions); })
    return stages_differ() ? sum.total_by(additions + 1.0) : sum.total_of_terms(additions);
  else
    return sum.total();
}
/// The total of a sum of products, each of which is rounded, too.
template <class R>
R total_of_products(const accumulator<R>& sum, double additions) {
  if constexpr (requires { sum.total_by(additions); })
    return sum.total_by(additions + 1.0);
  else
    return sum.total();
}

template <class R>
R reduced_row(op what, const reals<R>& x, std::size_t first, const reduced_rows& rows) {
  if (what == op::log_sum_exp) return log_sum_exp_of(rows.row(x, first));
  if (what == op::largest) {
    R most = x[first + rows.within.front()];
    for (std::size_t k = 1; k < rows.within.size(); ++k) most = larger(most, x[first + rows.within[k]]);
    return most;
  }
  accumulator<R> sum;
  for (const std::size_t offset : rows.within)
    if (!adds_nothing(x[first + offset])) sum.add(x[first + offset]);
  const R total = total_of_terms(sum, rows.additions);
  return what == op::sum ? total : total / reference::from_integer<R>(static_cast<double>(rows.within.size()));
}
template <class R>
reals<R> reduced(op what, const reals<R>& x, const reduced_rows& rows) {
  reals<R> made;
  made.reserve(rows.first.size());
  for (const std::size_t first : rows.first) made.push_back(reduced_row(what, x, first, rows));
  return made;
}
truths reduced(op what, const truths& x, const reduced_rows& rows);

template <class R>
reals<R> with_shares_of_largest(reals<R> x, const reduced_rows& rows) {
  for (const std::size_t first : rows.first) {
    const std::vector<R> row = shares_of_largest(rows.row(x, first));
    for (std::size_t i = 0; i < row.size(); ++i) x[first + rows.within[i]] = row[i];
  }
  return x;
}

/// softmax or a cumulative sum
template <class R>
reals<R> along_rows(op what, reals<R> x, const rows_along& rows) {
  for (std::size_t r = 0; r < rows.count; ++r) {
    const auto element = [&](std::size_t i) -> R& { return x[rows.first(r) + i * rows.step]; };
    std::vector<R> row;
    row.reserve(rows.size);
    for (std::size_t i = 0; i < rows.size; ++i) row.push_back(element(i));
    row = what == op::softmax                  ? softmax_of(row)
          : what == op::cumulative_sum         ? reference::cumulative_sums(row)
          : what == op::cumulative_sum_by_rest ? cumulative_sums_by_rest(row)
                                               : cumulative_sums_from_total(row);
    for (std::size_t i = 0; i < rows.size; ++i) element(i) = std::move(row[i]);
  }
  return x;
}
integers cumulative_sums(integers x, const rows_along& rows);
/// Each row of the last axis, twice.
template <class R>
reals<R> rows_twice(const reals<R>& x, const rows_along& rows) {
  reals<R> made;
  made.reserve(2 * x.size());
  for (std::size_t r = 0; r < 2 * rows.count; ++r)
    made.insert(made.end(), x.begin() + static_cast<std::ptrdiff_t>(r / 2 * rows.size),
                x.begin() + static_cast<std::ptrdiff_t>((r / 2 + 1) * rows.size));
  return made;
}
template <class R>
reals<R> differences_along(const reals<R>& x, const reals<R>& y, const rows_along& rows) {
  reals<R> made = x;
  for (std::size_t r = 0; r < rows.count; ++r) {
    cumulative_difference<R> all;
    for (std::size_t i = 0; i < rows.size; ++i) {
      const std::size_t index = rows.first(r) + i * rows.step;
      made[index] = all.with(x[index], y[index]);
    }
  }
  return made;
}

/// The rows of x, and the places that belong to them.
struct interpolated_rows {
  std::size_t count, size, places;
  interpolated_rows(const core::shape& x, const core::shape& p)
      : count(elements_of({p.begin(), p.end() - 1})), size(x.back()), places(p.back()) {}
};
/// Tables at their places, or their slopes there.
template <class R>
reals<R> interpolated(op what, const reals<R>& z, const reals<R>& p, const interpolated_rows& rows) {
  reals<R> made;
  made.reserve(p.size());
  for (std::size_t k = 0; k < p.size(); ++k) {
    const interpolated_table<R> table(z.data() + k / rows.places * rows.size, rows.size);
    made.push_back(what == op::interpolated ? table.value(p[k]) : table.slope(p[k]));
  }
  return made;
}
/// The cotangents of tables with `size` positions, from the cotangents of their places: the transpose of interpolation.
template <class R>
reals<R> shared_by_places(const reals<R>& g, const reals<R>& p, const interpolated_rows& rows, std::size_t size) {
  reals<R> made;
  made.reserve(rows.count * size);
  for (std::size_t r = 0; r < rows.count; ++r) {
    std::vector<accumulator<R>> sums(size);
    for (std::size_t k = r * rows.places; size > 0 && k < (r + 1) * rows.places; ++k)
      if (!adds_nothing(g[k]))
        place_in_table<R>(p[k], size).share([&](std::size_t index, const R& share) {
          if (!adds_nothing(g[k], share)) sums[index].add_product(g[k], share);
        });
    for (const accumulator<R>& sum : sums) made.push_back(total_of_products(sum, static_cast<double>(rows.places)));
  }
  return made;
}

/// The most terms that are added at one place one after the other: axis by axis, as in sums.
double additions_of_scattering(const node& n, const core::shape& indices);
/// The most additions for this number of terms. Programs scatter terms one after the other: where the sum becomes so
/// large that a short format stops adding, the number of additions axis by axis is no bound.
template <class R>
double additions_at_a_place(double axis_by_axis, std::size_t terms) {
  if constexpr (computes_in_formats<R>)
    if (static_cast<double>(terms) * arithmetic_of_sums().u > 0.125) return static_cast<double>(terms);
  return axis_by_axis;
}
/// Whether terms are rounded to a shorter format before they are added.
template <class R>
bool sums_are_shorter() {
  if constexpr (computes_in_formats<R>) return arithmetic_of_sums().u > arithmetic().u;
  return false;
}
/// x plus the sums of the terms at each place, in any order. Nothing is rounded where a term is added to a zero.
template <class R>
std::vector<R> scattered_sums(const std::vector<R>& x, const std::vector<R>& added, const std::vector<place>& places,
                              double additions) {
  std::vector<std::vector<std::size_t>> reaching(x.size());
  for (std::size_t k = 0; k < places.size(); ++k) reaching[places[k].element].push_back(k);
  std::vector<R> made;
  made.reserve(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (adds_nothing(x[i]) && reaching[i].size() == 1 && !sums_are_shorter<R>()) {
      made.push_back(added[reaching[i].front()]);
      continue;
    }
    accumulator<R> sum;
    bool is_nothing = true;
    const auto add = [&](const R& term) {
      if (adds_nothing(term)) return;
      sum.add(term);
      is_nothing = false;
    };
    add(x[i]);
    for (const std::size_t k : reaching[i]) add(added[k]);
    made.push_back(is_nothing ? x[i] : total_of_terms(sum, additions_at_a_place<R>(additions, reaching[i].size())));
  }
  return made;
}

/// The number of sums that are added up term by term beside each other: each addition waits for the one before, and the
/// other sums fill the time.
template <class R>
inline constexpr std::size_t sums_side_by_side = computes_in_formats<R>&& std::is_trivially_copyable_v<R> ? 4 : 1;

/// add(sum, place_in_x, place_in_y) is called for each pair of terms. `mask` says where the result has a sum; elsewhere
/// it is 0.
template <class R, class Add>
reals<R> sums_of_products(const contracted_places& places, const truths* mask, Add add) {
  std::vector<std::size_t> wanted;
  for (std::size_t k = 0; k < places.first.size(); ++k)
    if (mask == nullptr || !bool(!(*mask)[k])) wanted.push_back(k);
  reals<R> made(places.first.size(), R(0.0));
  for (std::size_t first = 0; first < wanted.size(); first += sums_side_by_side<R>) {
    const std::size_t count = std::min(sums_side_by_side<R>, wanted.size() - first);
    std::array<accumulator<R>, sums_side_by_side<R>> sums{};
    std::array<contracted_places::pair, sums_side_by_side<R>> begins{};
    for (std::size_t s = 0; s < count; ++s) begins[s] = places.first[wanted[first + s]];
    for (const auto& [a, b] : places.within)
      for (std::size_t s = 0; s < count; ++s) add(sums[s], begins[s][0] + a, begins[s][1] + b);
    for (std::size_t s = 0; s < count; ++s) made[wanted[first + s]] = total_of_products(sums[s], places.additions);
  }
  return made;
}

/// `mask` says where the result has a sum; elsewhere it is 0.
template <class R>
reals<R> contracted(const reals<R>& x, const reals<R>& y, const contracted_places& places,
                    const truths* mask = nullptr) {
  if constexpr (requires { contracted_by_bounds(x, y, places, mask); })
    if (auto made = contracted_by_bounds(x, y, places, mask)) return std::move(*made);
  if (places.within.size() == 1) {
    reals<R> made;
    made.reserve(places.first.size());
    for (const auto& [a, b] : places.first)
      made.push_back(mask != nullptr && bool(!(*mask)[made.size()]) ? R(0.0) : x[a] * y[b]);
    return made;
  }
  if constexpr (std::is_same_v<R, rounded>)
    if (auto made = contracted_natively(x, y, places, {.sums = mask})) return std::move(*made);
  return sums_of_products<R>(places, mask, [&](accumulator<R>& sum, std::size_t a, std::size_t b) {
    if (!adds_nothing(x[a], y[b])) sum.add_product(x[a], y[b]);
  });
}

/// The same over the terms that a mask of the places in x lets in. A term that it keeps out is no zero: even infinity
/// times it adds nothing.
template <class R>
reals<R> contracted_where(const reals<R>& x, const reals<R>& y, const truths& mask, const contracted_places& places) {
  if constexpr (requires { contracted_by_bounds(x, y, places); }) {
    reals<R> masked = x;
    bool is_known = true;
    for (std::size_t k = 0; k < x.size(); ++k) {
      is_known = is_known && !boost::indeterminate(mask[k]);
      if (bool(!mask[k])) masked[k] = R(0.0);
    }
    if (is_known)
      if (auto made = contracted_by_bounds(masked, y, places)) return std::move(*made);
  }
  if constexpr (std::is_same_v<R, rounded>)
    if (auto made = contracted_natively(x, y, places, {.terms = &mask})) return std::move(*made);
  return sums_of_products<R>(places, nullptr, [&](accumulator<R>& sum, std::size_t a, std::size_t b) {
    if (boost::indeterminate(mask[a]))
      sum.add(either(mask[a], x[a] * y[b], R(0.0)));
    else if (bool(mask[a]) && !adds_nothing(x[a], y[b]))
      sum.add_product(x[a], y[b]);
  });
}

}  // namespace assay::reference::formula
