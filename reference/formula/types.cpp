// The type of a node, given the types of its inputs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "reference/formula/types_of_nodes.hpp"

namespace assay::reference::formula {
namespace {

using core::failure;
using core::result;
using namespace types_of;
using list = std::vector<std::int64_t>;

constexpr std::size_t most_factors = 512;  // each is walked along with the others

result<array_type> elementwise(const types& in, std::initializer_list<number_kind> allowed, number_kind made) {
  if (const auto ok = require_kinds(in, allowed); !ok) return tl::make_unexpected(ok.error());
  if (const auto ok = require_one_kind(in); !ok) return tl::make_unexpected(ok.error());
  auto s = broadcast_shape(in);
  if (!s) return tl::make_unexpected(s.error());
  return array_type{made, std::move(*s)};
}

result<array_type> leaf(const node& n) {
  switch (n.what) {
    case op::input: {
      if (n.text.empty()) return failure("an input has a name");
      auto s = shape_from(n.integers[2]);
      if (!s) return tl::make_unexpected(s.error());
      return array_type{static_cast<number_kind>(n.integer(1)), std::move(*s)};
    }
    case op::data: {
      auto s = shape_from(n.integers[1]);
      if (!s) return tl::make_unexpected(s.error());
      const auto kind = static_cast<number_kind>(n.integer(0));
      if (elements_of(*s) != n.values.size())
        return failure(fmt::format("{} values for {} elements", n.values.size(), elements_of(*s)));
      const auto is_right = [kind](double x) {
        if (kind == number_kind::integer) return std::fabs(x) <= 0x1p53 && std::floor(x) == x;
        return kind == number_kind::real || x == 0.0 || x == 1.0;
      };
      if (!std::all_of(n.values.begin(), n.values.end(), is_right))
        return failure(fmt::format("a value is no {}", name_of(kind)));
      return array_type{kind, std::move(*s)};
    }
    case op::fraction: {
      constexpr std::int64_t limit = std::int64_t{1} << 53;
      const std::int64_t p = n.integer(0), q = n.integer(1);
      if (p <= -limit || p >= limit || q <= 0 || q >= limit)
        return failure("its numerator must lie below 2^53 in magnitude, and its denominator between 0 and 2^53");
      return array_type{};
    }
    case op::integer:
      return array_type{number_kind::integer, {}};
    case op::boolean:
      return array_type{number_kind::boolean, {}};
    case op::iota: {
      auto s = shape_from(n.integers[0]);
      if (!s) return tl::make_unexpected(s.error());
      return array_type{number_kind::integer, std::move(*s)};
    }
    default:
      return array_type{};
  }
}

result<array_type> cast_or_choice(const node& n, const types& in) {
  if (n.what == op::where) {
    if (in[0]->kind != number_kind::boolean) return failure("its condition is no boolean");
    if (in[1]->kind != in[2]->kind) return failure("its branches are of two kinds");
    auto s = broadcast_shape(in);
    if (!s) return tl::make_unexpected(s.error());
    return array_type{in[1]->kind, std::move(*s)};
  }
  if (n.what == op::is_nan) return elementwise(in, {number_kind::real}, number_kind::boolean);
  if (n.what == op::to_integer) return elementwise(in, {number_kind::boolean}, number_kind::integer);
  if (n.what == op::index_number) return elementwise(in, {number_kind::integer}, number_kind::real);
  return elementwise(in, {number_kind::integer, number_kind::boolean}, number_kind::real);
}

result<array_type> reduced(const node& n, const array_type& x) {
  const bool takes_truths = n.what == op::any || n.what == op::all;
  if (x.kind != (takes_truths ? number_kind::boolean : number_kind::real))
    return failure(fmt::format("takes no {}", name_of(x.kind)));
  array_type made{x.kind, {}};
  const list& axes = n.integers[0];
  if (axes.empty() || !std::is_sorted(axes.begin(), axes.end()) ||
      std::adjacent_find(axes.begin(), axes.end()) != axes.end())
    return failure("its axes must be distinct and ascend");
  for (const std::int64_t axis : axes)
    if (const auto ok = axis_within(axis, x.shape); !ok) return tl::make_unexpected(ok.error());
  for (std::size_t k = 0; k < x.shape.size(); ++k) {
    if (!std::binary_search(axes.begin(), axes.end(), static_cast<std::int64_t>(k)))
      made.shape.push_back(x.shape[k]);
    else if (x.shape[k] == 0 && (n.what == op::mean || n.what == op::largest || n.what == op::largest_share))
      return failure(fmt::format("there is no {} of no elements", row_of(n.what).name));
  }
  return made;
}

result<array_type> contracted(const node& n, const types& in) {
  if (const auto ok = require_kinds({in[0], in[1]}, {number_kind::real}); !ok) return tl::make_unexpected(ok.error());
  if (n.what == op::contract_where && *in[2] != array_type{number_kind::boolean, in[0]->shape})
    return failure("its mask is no array of booleans of the shape of its first input");
  const auto letters = contraction_of(n.text);
  if (!letters) return tl::make_unexpected(letters.error());
  std::array<std::size_t, 128> sizes{};
  std::string seen;
  for (const auto& [operand, t] : {std::pair(&letters->x, in[0]), std::pair(&letters->y, in[1])}) {
    if (operand->size() != t->shape.size()) return failure(fmt::format("'{}' for {} axes", *operand, t->shape.size()));
    for (std::size_t k = 0; k < operand->size(); ++k) {
      std::size_t& size = sizes[static_cast<std::size_t>((*operand)[k])];
      if (seen.find((*operand)[k]) != std::string::npos && size != t->shape[k])
        return failure(fmt::format("'{}' is {} and {}", (*operand)[k], size, t->shape[k]));
      seen += (*operand)[k];
      size = t->shape[k];
    }
  }
  list shape;
  for (const char letter : letters->result)
    shape.push_back(static_cast<std::int64_t>(sizes[static_cast<std::size_t>(letter)]));
  auto s = shape_from(shape);
  if (!s) return tl::make_unexpected(s.error());
  if (n.what == op::contract_at && *in[2] != array_type{number_kind::boolean, *s})
    return failure("its mask is no array of booleans of the shape of what it gives");
  return array_type{number_kind::real, std::move(*s)};
}

// Exponents are below 2^32 in magnitude.
result<array_type> frequencies(const node& n, const array_type& base) {
  constexpr std::int64_t limit = std::int64_t{1} << 31;
  const std::int64_t first = n.integer(0), count = n.integer(1), steps = n.integer(2);
  if (base.kind != number_kind::real) return failure("its bases are real numbers");
  if (first < 0 || first >= limit || count < 0 || count >= limit || steps <= 0 || steps >= limit)
    return failure("first and count must not be below 0, steps must be above 0, and all must be below 2^31");
  list sizes(base.shape.begin(), base.shape.end());
  sizes.push_back(count);
  auto s = shape_from(sizes);
  if (!s) return tl::make_unexpected(s.error());
  return array_type{number_kind::real, std::move(*s)};
}

// Tables and places along the last axes, or cotangents and places.
result<array_type> interpolated(const node& n, const types& in) {
  if (const auto ok = require_kinds(in, {number_kind::real}); !ok) return tl::make_unexpected(ok.error());
  core::shape x = in[0]->shape, places = in[1]->shape;
  if (x.empty() || places.empty()) return failure("its tables and places must have an axis");
  if (n.what == op::interpolation_shares) {
    if (x != places) return failure("its cotangents are not of the shape of its places");
    places.back() = static_cast<std::size_t>(n.integer(0));
    return array_type{number_kind::real, std::move(places)};
  }
  x.back() = places.back();
  if (x != places) return failure("its tables and places differ beside the last axis");
  return array_type{number_kind::real, std::move(places)};
}

result<array_type> type_of_square_matrices(const types& in) {
  if (const auto ok = require_kinds(in, {number_kind::real}); !ok) return tl::make_unexpected(ok.error());
  const core::shape& s = in[0]->shape;
  if (s.size() < 2 || s[s.size() - 1] != s[s.size() - 2]) return failure("takes square matrices");
  for (const array_type* t : in)
    if (t->shape != s) return failure("its operands differ in shape");
  return *in[0];
}

result<array_type> along(const node& n, const types& in) {
  if (n.what == op::skew_exponential || n.what == op::skew_exponential_pullback) return type_of_square_matrices(in);
  if (n.what == op::interpolated || n.what == op::interpolation_slope || n.what == op::interpolation_shares)
    return interpolated(n, in);
  if (n.what == op::contract || n.what == op::contract_where || n.what == op::contract_at) return contracted(n, in);
  if (n.what == op::geometric_frequencies) return frequencies(n, *in[0]);
  if (n.what == op::largest_share) {
    const auto one = reduced(n, *in[0]);
    return one ? *in[0] : one;
  }
  const bool adds = n.what == op::cumulative_sum;
  if (n.what == op::less_heaviest && *in[0] != *in[1]) return failure("its weights are not of its shape");
  if (n.what == op::cumulative_difference && *in[0] != *in[1]) return failure("its operands differ in shape");
  if (in[0]->kind == number_kind::boolean || (in[0]->kind == number_kind::integer && !adds))
    return failure(fmt::format("takes no {}", name_of(in[0]->kind)));
  if (const auto axis = axis_within(n.integer(0), in[0]->shape); !axis) return tl::make_unexpected(axis.error());
  if (n.what != op::cumulative_sum_twice) return *in[0];
  array_type both = *in[0];
  const std::size_t rank = both.shape.size();
  if (rank < 2 || static_cast<std::size_t>(n.integer(0)) + 1 != rank || both.shape[rank - 2] != 1)
    return failure("takes single rows along the last axis");
  both.shape[rank - 2] = 2;
  return both;
}

result<void> check_power(const node& n) {
  constexpr std::int64_t limit = std::int64_t{1} << 31;
  const std::int64_t p = n.integer(0), q = n.integer(1);
  if (p <= -limit || p >= limit || q <= 0 || q >= limit || std::gcd(p, q) != 1)
    return failure("p and q must be coprime, below 2^31 in magnitude, and q above 0");
  return {};
}

}  // namespace

std::size_t elements_of(const core::shape& s) {
  return std::accumulate(s.begin(), s.end(), std::size_t{1}, std::multiplies<>());
}

result<contraction> contraction_of(const std::string& text) {
  const std::size_t comma = text.find(','), arrow = text.find("->");
  const auto is_wrong = [&] { return failure(fmt::format("'{}' is not of the form \"nd,md->nm\"", text)); };
  if (comma == std::string::npos || arrow == std::string::npos || comma > arrow) return is_wrong();
  contraction c{text.substr(0, comma), text.substr(comma + 1, arrow - comma - 1), text.substr(arrow + 2)};
  for (const std::string* part : {&c.x, &c.y, &c.result}) {
    std::string sorted = *part;
    std::sort(sorted.begin(), sorted.end());
    const auto is_letter = [](char x) { return (x >= 'a' && x <= 'z') || (x >= 'A' && x <= 'Z'); };
    if (!std::all_of(sorted.begin(), sorted.end(), is_letter) || sorted.size() > most_axes ||
        std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
      return is_wrong();
  }
  const auto has = [](const std::string& part, char x) { return part.find(x) != std::string::npos; };
  for (const char x : c.x + c.y)
    if (has(c.x, x) != has(c.y, x) && !has(c.result, x))
      return failure(fmt::format("'{}' of one input alone is not in the result: sum it before", x));
  for (const char x : c.result)
    if (!has(c.x, x) && !has(c.y, x)) return failure(fmt::format("'{}' is in no input", x));
  return c;
}

result<array_type> type_of(const node& n, const types& in) {
  using enum number_kind;
  switch (row_of(n.what).kind) {
    case family::leaf:
      return leaf(n);
    case family::real_function:
      if (n.what == op::power)
        if (const auto ok = check_power(n); !ok) return tl::make_unexpected(ok.error());
      if (n.what == op::sum_of_products && (in.size() % 2 != 0 || in.size() > most_factors))
        return failure(fmt::format("it takes pairs of factors, and at most {} of them", most_factors));
      return elementwise(in, {real}, real);
    case family::arithmetic:
      return elementwise(in, {real, integer}, in.front()->kind);
    case family::integer_function:
      return elementwise(in, {integer}, integer);
    case family::comparison:
      return elementwise(in, {real, integer}, boolean);
    case family::logic:
      return elementwise(in, {boolean}, boolean);
    case family::cast_or_choice:
      return cast_or_choice(n, in);
    case family::movement:
      return moved(n, in);
    case family::scattering:
      return scattered(n, in);
    case family::reduction:
      return reduced(n, *in.front());
    case family::along_axis:
      return along(n, in);
    case family::loop:
      return scanned(n, in);
  }
  return core::failure("no operator");
}

}  // namespace assay::reference::formula
