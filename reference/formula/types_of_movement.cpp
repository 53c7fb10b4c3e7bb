// The type of a node that moves elements, given the types of its inputs; and the rules of shapes and kinds.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "reference/formula/types_of_nodes.hpp"

namespace assay::reference::formula::types_of {

using core::failure;
using core::result;
using list = std::vector<std::int64_t>;

result<core::shape> shape_from(const list& sizes) {
  if (sizes.size() > most_axes) return failure(fmt::format("at most {} axes, and not {}", most_axes, sizes.size()));
  core::shape s;
  std::size_t elements = 1;
  bool is_empty = false;
  for (const std::int64_t size : sizes) {
    if (size < 0 || static_cast<std::uint64_t>(size) > most_elements)
      return failure(fmt::format("a size of {} is not allowed", size));
    s.push_back(static_cast<std::size_t>(size));
    is_empty = is_empty || size == 0;
    if (size > 0) elements = elements > most_elements ? elements : elements * s.back();
  }
  if (!is_empty && elements > most_elements) return failure(fmt::format("more than {} elements", most_elements));
  return s;
}

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

result<std::size_t> axis_within(std::int64_t axis, const core::shape& s) {
  if (axis < 0 || static_cast<std::size_t>(axis) >= s.size())
    return failure(fmt::format("axis {} of an array with {} axes", axis, s.size()));
  return static_cast<std::size_t>(axis);
}

namespace {

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
    if (other.size() != made.shape.size()) return failure("its inputs must have the same number of axes");
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
    const auto place = made.shape.erase(made.shape.begin() + static_cast<std::ptrdiff_t>(*axis));
    made.shape.insert(place, index.shape.begin(), index.shape.end());
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
    return failure(fmt::format("the part and its start must have {} axes", x.size()));
  for (std::size_t k = 0; k < x.size(); ++k) {
    const std::int64_t start = n.integers[0][k];
    if (start < 0 || start > static_cast<std::int64_t>(x[k]) || part[k] > x[k] - static_cast<std::size_t>(start))
      return failure(fmt::format("the part reaches beyond axis {}", k));
  }
  return *in[0];
}

}  // namespace

// The type of x, to whose elements numbers are added: a gather of x with the same indices would take these elements.
result<array_type> scattered(const node& n, const types& in) {
  if (const auto ok = require_kinds({in[0], in[2]}, {number_kind::real}); !ok) return tl::make_unexpected(ok.error());
  const auto taken = gathered(n, {in[0], in[1]});
  if (!taken) return taken;
  if (taken->shape != in[2]->shape)
    return failure("the numbers that are added do not have the shape that the indices take of x");
  return *in[0];
}

result<array_type> moved(const node& n, const types& in) {
  const array_type& x = *in.front();
  switch (n.what) {
    case op::reshape: {
      auto s = shape_from(n.integers[0]);
      if (!s) return tl::make_unexpected(s.error());
      if (elements_of(*s) != elements_of(x.shape))
        return failure("the shapes before and after must have the same number of elements");
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

}  // namespace assay::reference::formula::types_of
