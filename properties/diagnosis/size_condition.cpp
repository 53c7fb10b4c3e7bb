#include "properties/diagnosis/size_condition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "properties/harness/relations.hpp"

namespace assay::properties {
namespace {

// Sizes below the bound, at it, and behind it, in whole blocks and at distances that are no multiples of a block.
std::vector<std::size_t> around(const size_condition& c) {
  const std::size_t b = c.bound, k = c.period, base = k + c.rest;
  switch (c.is) {
    case size_form::more:
      return {b, b / 2, 1, b + 1, b + 2, whole_blocks_above(2 * b), 2 * b + 3};
    case size_form::less:
      return {b, b + 1, 2 * b + 1, b - 1, b / 2, 1};
    default:
      return {base, base + 2 * k, base + 3 * k, base + 1, base + k - 1, base + k + 1, base + 2 * k + k / 2};
  }
}

bool holds_of(size_form is, std::size_t x, std::size_t y, std::size_t bound) {
  switch (is) {
    case size_form::equal:
      return x == y && x > bound;
    case size_form::unequal:
      return x != y;
    case size_form::smaller:
      return x < y;
    case size_form::product:
      return x * y > bound;
    default:
      return x <= y;
  }
}

// Sizes on both sides of the bound, with one of the axes short, or both equally long.
std::vector<core::axis_sizes> products(const size_condition& c) {
  std::vector<core::axis_sizes> all;
  const auto root = static_cast<std::size_t>(std::sqrt(static_cast<double>(c.bound)));
  for (const std::size_t x : {std::size_t{2}, std::size_t{3}, std::max<std::size_t>(root, 1)})
    for (const std::size_t y : {c.bound / x, c.bound / x + 1}) {
      if (y == 0) continue;
      all.push_back({{c.axis, x}, {c.other, y}});
      all.push_back({{c.axis, y}, {c.other, x}});
    }
  return all;
}

}  // namespace

std::size_t whole_blocks_above(std::size_t size) { return std::max<std::size_t>(std::bit_ceil(size + 1), 64); }

bool size_condition::holds(const core::axis_sizes& sizes) const {
  const std::size_t x = sizes.at(axis);
  switch (is) {
    case size_form::more:
      return x > bound;
    case size_form::less:
      return x < bound;
    case size_form::multiple_plus:
      return x % period == rest;
    case size_form::no_multiple:
      return x % period != 0;
    default:
      return holds_of(is, x, times * sizes.at(other), bound);
  }
}

std::string size_condition::words() const {
  const std::string compared = times == 1 ? other : fmt::format("{} {}", times, other);
  switch (is) {
    case size_form::more:
      return fmt::format("{} is more than {}", axis, bound);
    case size_form::less:
      return bound <= 2 ? fmt::format("{} = {}", axis, bound - 1) : fmt::format("{} is less than {}", axis, bound);
    case size_form::multiple_plus:
      if (period == 2) return fmt::format("{} is {}", axis, rest == 0 ? "even" : "odd");
      return rest == 0 ? fmt::format("{} is a multiple of {}", axis, period)
                       : fmt::format("{} is {} more than a multiple of {}", axis, rest, period);
    case size_form::no_multiple:
      return fmt::format("{} is no multiple of {}", axis, period);
    case size_form::equal:
      return bound == 0 ? fmt::format("{} = {}", axis, compared) : fmt::format("{} = {} > {}", axis, compared, bound);
    case size_form::unequal:
      return fmt::format("{} is not {}", axis, compared);
    case size_form::smaller:
      return fmt::format("{} is less than {}", axis, compared);
    case size_form::at_most:
      return fmt::format("{} is at most {}", axis, compared);
    case size_form::product:
      return fmt::format("{} {} is more than {}", axis, other, bound);
  }
  return "";
}

std::vector<core::axis_sizes> size_condition::samples() const {
  if (is == size_form::product) return products(*this);
  if (has_two_axes()) {
    auto all = compared_sizes(axis, other, middle, times);
    if (bound > 0) all.push_back({{axis, bound}, {other, bound}});
    if (is == size_form::equal) all.push_back({{axis, bound + 1}, {other, bound + 1}});
    return all;
  }
  std::vector<core::axis_sizes> all;
  for (const std::size_t size : around(*this))
    if (size > 0) all.push_back({{axis, size}});
  return all;
}

std::vector<core::axis_sizes> compared_sizes(const std::string& axis, const std::string& other, std::size_t middle,
                                             std::size_t times) {
  std::vector<core::axis_sizes> all;
  for (const std::size_t k : {middle, middle + 3})
    for (const std::size_t other_size = times * k;
         const auto& [x, y] :
         {std::pair{other_size, k}, {other_size, k + 1}, {other_size + 1, k}, {other_size, 2 * k}, {2 * other_size, k}})
      all.push_back({{axis, x}, {other, y}});
  return all;
}

std::string words_of(const std::vector<size_condition>& all) {
  std::string text;
  for (std::size_t i = 0; i < all.size(); ++i)
    text += (i == 0 ? "" : i + 1 == all.size() ? " and " : ", ") + all[i].words();
  return text;
}

std::string relation_in_words(const std::vector<size_condition>& all) {
  if (all.size() != 1 || (all[0].is != size_form::unequal && all[0].is != size_form::smaller)) return "";
  const axis_relation without{{all[0].other, all[0].times}, {all[0].axis}, all[0].is == size_form::unequal};
  return fmt::format(" (the relation \"{}\" of a domain leaves them out)", without.text());
}

}  // namespace assay::properties
