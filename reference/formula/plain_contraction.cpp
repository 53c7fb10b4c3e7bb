#include "reference/formula/plain_contraction.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace assay::reference::formula {
namespace {

// The additions of one sum wait for one another, so this number of sums is computed side by side.
constexpr std::size_t side_by_side = 8;

template <class Number>
std::optional<std::vector<Number>> native(const reals<rounded>& x) {
  std::vector<Number> all(x.size());
  for (std::size_t k = 0; k < x.size(); ++k) {
    all[k] = static_cast<Number>(x[k].number);
    if (static_cast<double>(all[k]) != x[k].number && !std::isnan(x[k].number)) return std::nullopt;
  }
  return all;
}

template <class Number>
std::optional<reals<rounded>> contracted_in(const reals<rounded>& x, const reals<rounded>& y,
                                            const contracted_places& places, const contraction_masks& masks) {
  auto left = native<Number>(x);
  const auto right = native<Number>(y);
  if (!left || !right) return std::nullopt;
  if (masks.terms != nullptr) {
    const bool is_finite = std::ranges::all_of(*right, [](Number z) { return std::isfinite(z); });
    for (std::size_t k = 0; k < left->size(); ++k) {
      if (bool((*masks.terms)[k])) continue;
      if (!is_finite || boost::indeterminate((*masks.terms)[k])) return std::nullopt;
      (*left)[k] = Number(0);
    }
  }
  std::vector<std::size_t> wanted;
  wanted.reserve(places.first.size());
  for (std::size_t k = 0; k < places.first.size(); ++k)
    if (masks.sums == nullptr || !bool(!(*masks.sums)[k])) wanted.push_back(k);
  reals<rounded> made(places.first.size());
  for (std::size_t first = 0; first < wanted.size(); first += side_by_side) {
    const std::size_t count = std::min(side_by_side, wanted.size() - first);
    std::array<Number, side_by_side> sums{};
    std::array<const Number*, side_by_side> xs{}, ys{};
    for (std::size_t s = 0; s < side_by_side; ++s) {
      const auto& [a, b] = places.first[wanted[first + std::min(s, count - 1)]];
      xs[s] = left->data() + a;
      ys[s] = right->data() + b;
    }
    for (const auto& [a, b] : places.within)
      for (std::size_t s = 0; s < side_by_side; ++s) sums[s] += xs[s][a] * ys[s][b];
    for (std::size_t s = 0; s < count; ++s) made[wanted[first + s]] = rounded(static_cast<double>(sums[s]));
  }
  return made;
}

}  // namespace

std::optional<reals<rounded>> contracted_natively(const reals<rounded>& x, const reals<rounded>& y,
                                                  const contracted_places& places, const contraction_masks& masks) {
  if (detail::seed_of_roundings || places.within.empty()) return std::nullopt;
  switch (arithmetic_of_sums().type) {
    case core::dtype::f32:
      return contracted_in<float>(x, y, places, masks);
    case core::dtype::f64:
      return contracted_in<double>(x, y, places, masks);
    default:
      return std::nullopt;
  }
}

}  // namespace assay::reference::formula
