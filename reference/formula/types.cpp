// What a node is, given those that it takes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "reference/formula/program.hpp"

namespace assay::reference::formula {
namespace {

using core::failure;
using core::result;
using types = std::vector<const array_type*>;
using list = std::vector<std::int64_t>;

result<core::shape> shape_from(const list& sizes) {
  if (sizes.size() > most_axes) return failure(fmt::format("at most {} axes, and not {}", most_axes, sizes.size()));
  core::shape s;
  std::size_t elements = 1;
  bool is_empty = false;
  for (const std::int64_t size : sizes) {
    if (size < 0 || static_cast<std::uint64_t>(size) > most_elements) return failure(fmt::format("a size of {}", size));
    s.push_back(static_cast<std::size_t>(size));
    is_empty = is_empty || size == 0;
    if (size > 0) elements = elements > most_elements ? elements : elements * s.back();
  }
  if (!is_empty && elements > most_elements) return failure(fmt::format("more than {} elements", most_elements));
  return s;
}

// As NumPy broadcasts.
result<core::shape> broadcast_shape(const types& in) {
  core::shape s;
  for (const array_type* t : in) {
    const core::shape& other = t->shape;
    if (other.size() > s.size()) s.insert(s.begin(), other.size() - s.size(), 1);
    for (std::size_t k = 0; k < other.size(); ++k) {
      std::size_t& size = s[s.size() - other.size() + k];
      if (size != other[k] && size != 1 && other[k] != 1)
        return failure(fmt::format("the shapes of its inputs do not broadcast: {} and {}", size, other[k]));
      if (size == 1) size = other[k];
    }
  }
  return shape_from(list(s.begin(), s.end()));
}

result<void> require_kinds(const types& in, std::initializer_list<number_kind> allowed) {
  for (const array_type* t : in)
    if (std::find(allowed.begin(), allowed.end(), t->kind) == allowed.end())
      return failure(fmt::format("takes no {}", name_of(t->kind)));
  return {};
}
result<void> require_one_kind(const types& in) {
  for (const array_type* t : in)
    if (t->kind != in.front()->kind)
      return failure(fmt::format("its inputs are {} and {}", name_of(in.front()->kind), name_of(t->kind)));
  return {};
}

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
    case op::fraction: {
      constexpr std::int64_t limit = std::int64_t{1} << 53;
      const std::int64_t p = n.integer(0), q = n.integer(1);
      if (p <= -limit || p >= limit || q <= 0 || q >= limit)
        return failure("its numerator lies below 2^53 in magnitude, and its denominator between");
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
  return elementwise(in, {number_kind::integer, number_kind::boolean}, number_kind::real);
}

result<std::size_t> axis_within(std::int64_t axis, const core::shape& s) {
  if (axis < 0 || static_cast<std::size_t>(axis) >= s.size())
    return failure(fmt::format("axis {} of an array with {} axes", axis, s.size()));
  return static_cast<std::size_t>(axis);
}

result<array_type> sliced(const node& n, const array_type& x) {
  array_type made{x.kind, {}};
  for (const list& l : n.integers)
    if (l.size() != x.shape.size()) return failure(fmt::format("needs one number for each of {} axes", x.shape.size()));
  for (std::size_t k = 0; k < x.shape.size(); ++k) {
    const auto size = static_cast<std::int64_t>(x.shape[k]);
    const std::int64_t start = n.integers[0][k], stop = n.integers[1][k], step = n.integers[2][k];
    const bool is_within = step > 0   ? start >= 0 && start <= size && stop >= 0 && stop <= size
                           : step < 0 ? start >= 0 && start < size && stop >= -1 && stop < size
                                      : false;
    if (!is_within || step > size + 1 || step < -size - 1)
      return failure(fmt::format("start {}, stop {}, step {} of an axis of {}", start, stop, step, size));
    const std::int64_t length = step > 0 ? (stop - start + step - 1) / step : (start - stop - step - 1) / -step;
    made.shape.push_back(static_cast<std::size_t>(std::max<std::int64_t>(length, 0)));
  }
  return made;
}

result<array_type> concatenated(const node& n, const types& in) {
  if (const auto ok = require_one_kind(in); !ok) return tl::make_unexpected(ok.error());
  array_type made = *in.front();
  const auto axis = axis_within(n.integer(0), made.shape);
  if (!axis) return tl::make_unexpected(axis.error());
  for (std::size_t k = 1; k < in.size(); ++k) {
    core::shape other = in[k]->shape;
    if (other.size() != made.shape.size()) return failure("its inputs have not the same number of axes");
    made.shape[*axis] += other[*axis];
    other[*axis] = made.shape[*axis];
    if (other != made.shape) return failure(fmt::format("the shapes of its inputs differ beside axis {}", *axis));
  }
  return made;
}

result<array_type> gathered(const node& n, const types& in) {
  const array_type &x = *in[0], &index = *in[1];
  if (index.kind != number_kind::integer) return failure("its indices are no integers");
  const auto axis = axis_within(n.integer(0), x.shape);
  if (!axis) return tl::make_unexpected(axis.error());
  array_type made = x;
  if (n.what == op::gather || n.what == op::scatter_add) {
    const auto at = made.shape.erase(made.shape.begin() + static_cast<std::ptrdiff_t>(*axis));
    made.shape.insert(at, index.shape.begin(), index.shape.end());
    return made;
  }
  if (index.shape.size() == x.shape.size()) made.shape[*axis] = index.shape[*axis];
  if (index.shape != made.shape) return failure(fmt::format("the shape of its indices differs beside axis {}", *axis));
  return made;
}

result<array_type> updated(const node& n, const types& in) {
  if (const auto ok = require_one_kind(in); !ok) return tl::make_unexpected(ok.error());
  const core::shape &x = in[0]->shape, &part = in[1]->shape;
  if (part.size() != x.size() || n.integers[0].size() != x.size())
    return failure(fmt::format("the part and its start have {} axes", x.size()));
  for (std::size_t k = 0; k < x.size(); ++k) {
    const std::int64_t start = n.integers[0][k];
    if (start < 0 || start > static_cast<std::int64_t>(x[k]) || part[k] > x[k] - static_cast<std::size_t>(start))
      return failure(fmt::format("the part reaches beyond axis {}", k));
  }
  return *in[0];
}

// x, to which what a gather of x with these indices would take is added.
result<array_type> scattered(const node& n, const types& in) {
  if (const auto ok = require_kinds({in[0], in[2]}, {number_kind::real}); !ok) return tl::make_unexpected(ok.error());
  const auto taken = gathered(n, {in[0], in[1]});
  if (!taken) return taken;
  if (taken->shape != in[2]->shape) return failure("what is added has not the shape that its indices take of x");
  return *in[0];
}

result<array_type> moved(const node& n, const types& in) {
  const array_type& x = *in.front();
  switch (n.what) {
    case op::reshape: {
      auto s = shape_from(n.integers[0]);
      if (!s) return tl::make_unexpected(s.error());
      if (elements_of(*s) != elements_of(x.shape)) return failure("as many elements as before");
      return array_type{x.kind, std::move(*s)};
    }
    case op::broadcast: {
      auto s = shape_from(n.integers[0]);
      if (!s) return tl::make_unexpected(s.error());
      const array_type wanted{x.kind, *s};
      const auto both = broadcast_shape({&wanted, &x});
      if (!both || *both != *s) return failure("cannot be broadcast to this shape");
      return wanted;
    }
    case op::transpose: {
      list sorted = n.integers[0], all(x.shape.size());
      std::sort(sorted.begin(), sorted.end());
      std::iota(all.begin(), all.end(), 0);
      if (sorted != all) return failure(fmt::format("its axes are no permutation of {}", all.size()));
      array_type made{x.kind, {}};
      for (const std::int64_t axis : n.integers[0]) made.shape.push_back(x.shape[static_cast<std::size_t>(axis)]);
      return made;
    }
    case op::slice:
      return sliced(n, x);
    case op::concatenate:
      return concatenated(n, in);
    case op::update:
      return updated(n, in);
    default:
      return gathered(n, in);
  }
}

result<array_type> reduced(const node& n, const array_type& x) {
  const bool of_truths = n.what == op::any || n.what == op::all;
  if (x.kind != (of_truths ? number_kind::boolean : number_kind::real))
    return failure(fmt::format("takes no {}", name_of(x.kind)));
  array_type made{x.kind, {}};
  const list& axes = n.integers[0];
  if (axes.empty() || !std::is_sorted(axes.begin(), axes.end()) ||
      std::adjacent_find(axes.begin(), axes.end()) != axes.end())
    return failure("its axes are distinct and ascend");
  for (const std::int64_t axis : axes)
    if (const auto ok = axis_within(axis, x.shape); !ok) return tl::make_unexpected(ok.error());
  for (std::size_t k = 0; k < x.shape.size(); ++k) {
    if (!std::binary_search(axes.begin(), axes.end(), static_cast<std::int64_t>(k)))
      made.shape.push_back(x.shape[k]);
    else if (x.shape[k] == 0 && (n.what == op::mean || n.what == op::largest || n.what == op::largest_share))
      return failure("of no elements there is none");
  }
  return made;
}

result<array_type> contracted(const node& n, const types& in) {
  if (const auto ok = require_kinds(in, {number_kind::real}); !ok) return tl::make_unexpected(ok.error());
  const auto letters = contraction_of(n.text);
  if (!letters) return tl::make_unexpected(letters.error());
  std::array<std::size_t, 128> sizes{};
  std::string seen;
  for (const auto& [of, t] : {std::pair(&letters->x, in[0]), std::pair(&letters->y, in[1])}) {
    if (of->size() != t->shape.size()) return failure(fmt::format("'{}' for {} axes", *of, t->shape.size()));
    for (std::size_t k = 0; k < of->size(); ++k) {
      std::size_t& size = sizes[static_cast<std::size_t>((*of)[k])];
      if (seen.find((*of)[k]) != std::string::npos && size != t->shape[k])
        return failure(fmt::format("'{}' is {} and {}", (*of)[k], size, t->shape[k]));
      seen += (*of)[k];
      size = t->shape[k];
    }
  }
  list shape;
  for (const char letter : letters->result)
    shape.push_back(static_cast<std::int64_t>(sizes[static_cast<std::size_t>(letter)]));
  auto s = shape_from(shape);
  if (!s) return tl::make_unexpected(s.error());
  return array_type{number_kind::real, std::move(*s)};
}

result<array_type> along(const node& n, const types& in) {
  if (n.what == op::contract) return contracted(n, in);
  if (n.what == op::largest_share) {
    const auto one = reduced(n, *in[0]);
    return one ? *in[0] : one;
  }
  const bool adds = n.what == op::cumulative_sum;
  if (in[0]->kind == number_kind::boolean || (in[0]->kind == number_kind::integer && !adds))
    return failure(fmt::format("takes no {}", name_of(in[0]->kind)));
  if (const auto axis = axis_within(n.integer(0), in[0]->shape); !axis) return tl::make_unexpected(axis.error());
  return *in[0];
}

result<void> check_power(const node& n) {
  constexpr std::int64_t limit = std::int64_t{1} << 31;
  const std::int64_t p = n.integer(0), q = n.integer(1);
  if (p <= -limit || p >= limit || q <= 0 || q >= limit || std::gcd(p, q) != 1)
    return failure("p and q are coprime, below 2^31 in magnitude, and q is above 0");
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
  switch (row_of(n.what).of) {
    case family::leaf:
      return leaf(n);
    case family::real_function:
      if (n.what == op::power)
        if (const auto ok = check_power(n); !ok) return tl::make_unexpected(ok.error());
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
  }
  return core::failure("no operator");
}

}  // namespace assay::reference::formula
