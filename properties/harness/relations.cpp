#include "properties/harness/relations.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <numeric>

namespace assay::properties {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

// "n" or "2 r".
std::optional<multiple_of_axis> parse_multiple(std::string_view text) {
  constexpr std::size_t most = 1024;
  text = trimmed(text);
  multiple_of_axis all;
  if (const auto end = text.find_first_not_of("0123456789"); end != 0 && end != std::string_view::npos) {
    const auto read = std::from_chars(text.data(), text.data() + end, all.times);
    if (read.ec != std::errc() || all.times == 0 || all.times > most) return std::nullopt;
    text = trimmed(text.substr(end));
  }
  const auto is_symbol = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text.front())) != 0 ||
      !std::all_of(text.begin(), text.end(), is_symbol))
    return std::nullopt;
  all.axis = std::string(text);
  return all;
}

// The number from 1 on that is wanted and nearest to `first`. Nothing if none is near enough.
std::optional<std::size_t> nearest_number(std::size_t first, const std::function<bool(std::size_t)>& wanted) {
  constexpr std::size_t tried = 4096;
  for (std::size_t away = 0; away < tried; ++away) {
    if (first > away && wanted(first - away)) return first - away;
    if (away > 0 && wanted(first + away)) return first + away;
  }
  return std::nullopt;
}

// Moves two sizes until the relation holds; false if this is not allowed. For an equality their product stays about the
// same.
bool settle(const axis_relation& r, std::size_t& left, std::size_t& right, const size_allowed& allowed) {
  const auto is_allowed = [&](std::size_t l, std::size_t s) {
    return allowed(r.left.axis, l) && allowed(r.right.axis, s);
  };
  const std::size_t common = std::gcd(r.left.times, r.right.times), left_step = r.right.times / common,
                    right_step = r.left.times / common;
  if (r.equal) {
    const double mean = std::sqrt(static_cast<double>(left) / static_cast<double>(left_step) *
                                  static_cast<double>(right) / static_cast<double>(right_step));
    const auto k = nearest_number(std::max<std::size_t>(static_cast<std::size_t>(mean), 1),
                                  [&](std::size_t x) { return is_allowed(x * left_step, x * right_step); });
    if (k) left = *k * left_step, right = *k * right_step;
    return k.has_value();
  }
  if (left_step == right_step && is_allowed(right, left)) {
    std::swap(left, right);
    return true;
  }
  const auto fits = [&](std::size_t l, std::size_t s) { return l * right_step <= s * left_step && is_allowed(l, s); };
  if (const auto l = nearest_number(std::max<std::size_t>(right * left_step / right_step, 1),
                                    [&](std::size_t x) { return fits(x, right); })) {
    left = *l;
    return true;
  }
  const auto s =
      nearest_number((left * right_step + left_step - 1) / left_step, [&](std::size_t x) { return fits(left, x); });
  if (s) right = *s;
  return s.has_value();
}

}  // namespace

std::string multiple_of_axis::text() const { return times == 1 ? axis : std::to_string(times) + " " + axis; }

bool axis_relation::holds(const core::axis_sizes& sizes) const {
  const auto l = sizes.find(left.axis), r = sizes.find(right.axis);
  if (l == sizes.end() || r == sizes.end()) return true;
  const std::size_t left_part = left.times * l->second, right_part = right.times * r->second;
  return equal ? left_part == right_part : left_part <= right_part;
}

std::string axis_relation::text() const { return left.text() + (equal ? " = " : " <= ") + right.text(); }

std::optional<axis_relation> parse_relation(std::string_view text) {
  for (const std::string_view sign : {"<=", ">=", "="}) {
    const auto position = text.find(sign);
    if (position == std::string_view::npos) continue;
    auto left = parse_multiple(text.substr(0, position)), right = parse_multiple(text.substr(position + sign.size()));
    if (!left || !right || left->axis == right->axis) return std::nullopt;
    if (sign == ">=") std::swap(left, right);
    return axis_relation{std::move(*left), std::move(*right), sign == "="};
  }
  return std::nullopt;
}

core::axis_sizes related(core::axis_sizes sizes, const std::vector<axis_relation>& relations,
                         const size_allowed& allowed) {
  const core::axis_sizes as_given = sizes;
  for (std::size_t round = 0; round <= relations.size(); ++round) {
    const auto broken =
        std::find_if(relations.begin(), relations.end(), [&](const axis_relation& r) { return !r.holds(sizes); });
    if (broken == relations.end()) return sizes;
    for (const axis_relation& r : relations)
      if (!r.holds(sizes) && !settle(r, sizes.at(r.left.axis), sizes.at(r.right.axis), allowed)) return as_given;
  }
  return as_given;
}

std::vector<multiple_of_axis> tied_to(const std::string& axis, const std::vector<axis_relation>& relations) {
  std::vector<multiple_of_axis> all;
  for (const axis_relation& r : relations) {
    if (!r.equal) continue;
    if (r.left.axis == axis && r.right.times == 1) all.push_back({r.right.axis, r.left.times});
    if (r.right.axis == axis && r.left.times == 1) all.push_back({r.left.axis, r.right.times});
  }
  return all;
}

}  // namespace assay::properties
