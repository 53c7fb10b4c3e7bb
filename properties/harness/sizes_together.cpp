#include "properties/harness/sizes_together.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

namespace assay::properties {
namespace {

constexpr std::size_t largest_size = std::size_t{1} << 24;  // the limit of conflict_within

struct move {
  std::string axis;
  std::size_t size;
  double distance;
};

// Sizes that a rule may demand of an axis of size `own`, from the sizes of other axes and the integer settings: the
// same number, half or twice as much, a multiple, a product, a quotient; or a number near its own size.
std::set<std::size_t> sizes_to_try(std::size_t own, const std::vector<std::size_t>& others) {
  std::set<std::size_t> all;
  for (std::size_t k = 0; k <= 8; ++k) all.insert({own + k, own - std::min(own, k)});
  for (const std::size_t v : others) {
    all.insert({v, 2 * v, v / 2, (v + 1) / 2, own / v * v, (own + v - 1) / v * v});
    for (const std::size_t w : others) all.insert({v * w, v / w, 2 * v * w});
  }
  return all;
}

// The moves of each axis that is no setting, the nearest first.
std::vector<move> moves_of(const core::operation& op, const core::axis_sizes& sizes, const core::attributes& settings,
                           const core::axis_sizes& requested, const size_domains& declared) {
  std::vector<move> all;
  for (const auto& [axis, own] : sizes) {
    if (core::attribute_of_axis(op, axis) != nullptr) continue;
    std::vector<std::size_t> others;
    for (const auto& [symbol, size] : sizes)
      if (symbol != axis && size > 0) others.push_back(size);
    for (const auto& [name, value] : settings)
      if (const auto* integer = std::get_if<std::int64_t>(&value); integer != nullptr && *integer > 0)
        others.push_back(static_cast<std::size_t>(*integer));
    const auto axis_domain = declared.find(axis);
    // Far more than any ratio: requested sizes are changed last.
    const double dear = requested.contains(axis) ? 1e3 : 0.0, from = static_cast<double>(std::max<std::size_t>(own, 1));
    for (const std::size_t size : sizes_to_try(own, others))
      if (size > 0 && size != own && size <= largest_size &&
          (axis_domain == declared.end() || axis_domain->second.holds(size)))
        all.push_back({axis, size, dear + std::fabs(std::log(static_cast<double>(size) / from))});
  }
  std::stable_sort(all.begin(), all.end(), [](const move& a, const move& b) { return a.distance < b.distance; });
  return all;
}

core::axis_sizes moved(core::axis_sizes sizes, const move& by) {
  sizes[by.axis] = by.size;
  return sizes;
}

}  // namespace

core::axis_sizes sizes_together(const core::operation& op, const core::attributes& settings,
                                const core::axis_sizes& sizes, const core::axis_sizes& requested,
                                const size_domains& declared, const sizes_fit& fit) {
  if (fit(sizes)) return sizes;
  const std::vector<move> moves = moves_of(op, sizes, settings, requested, declared);
  for (const move& one : moves)
    if (const core::axis_sizes once = moved(sizes, one); fit(once)) return once;
  std::optional<core::axis_sizes> best;
  double shortest = HUGE_VAL;
  for (const move& one : moves) {
    if (one.distance >= shortest) break;
    const core::axis_sizes once = moved(sizes, one);
    for (const move& other : moves_of(op, once, settings, requested, declared)) {
      if (one.distance + other.distance >= shortest) break;
      if (other.axis == one.axis) continue;
      core::axis_sizes twice = moved(once, other);
      if (!fit(twice)) continue;
      shortest = one.distance + other.distance;
      best = std::move(twice);
    }
  }
  return best.value_or(sizes);
}

core::axis_sizes sizes_together(const core::operation& op, const core::attributes& settings,
                                const core::axis_sizes& sizes, const core::axis_sizes& requested,
                                const size_domains& declared) {
  if (op.conflict == nullptr) return sizes;
  const core::attributes all = core::completed(op, settings);
  return sizes_together(op, settings, sizes, requested, declared,
                        [&](const core::axis_sizes& tried) { return op.conflict(all, tried).empty(); });
}

}  // namespace assay::properties
