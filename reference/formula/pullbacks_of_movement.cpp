#include <numeric>

#include "reference/formula/pullbacks.hpp"

namespace assay::reference::formula {
namespace {

using list = program_writer::list;

list ends(const list& start, const core::shape& shape) {
  list stop = start;
  for (std::size_t k = 0; k < stop.size(); ++k) stop[k] += static_cast<std::int64_t>(shape[k]);
  return stop;
}
node_id box(const pullback& b, node_id x, const list& start, const core::shape& shape) {
  return shape == b.shape_of(x) ? x : b.to.slice(x, start, ends(start, shape), list(shape.size(), 1));
}

// Puts `step - 1` zeros between an element and the next one along an axis.
node_id spread(const pullback& b, node_id x, std::size_t axis, std::size_t step) {
  program_writer& to = b.to;
  core::shape shape = b.shape_of(x);
  const auto length_of = [&](std::size_t from, std::size_t until) {
    return std::accumulate(shape.begin() + static_cast<std::ptrdiff_t>(from),
                           shape.begin() + static_cast<std::ptrdiff_t>(until), std::size_t{1}, std::multiplies<>());
  };
  const std::size_t length = shape[axis], before = length_of(0, axis), behind = length_of(axis + 1, shape.size());
  const node_id single = to.reshape(x, {before, length, 1, behind});
  const node_id wide = to.operation(op::update, {to.zeros({before, length, step, behind}), single}, list(4, 0));
  shape[axis] = length * step;
  const node_id all = to.reshape(wide, shape);
  shape[axis] = (length - 1) * step + 1;
  return box(b, all, list(shape.size(), 0), shape);
}

node_id back_through_slice(const pullback& b) {
  const core::shape shape = b.shape_of(b.in(0)), made = b.shape_of(b.y);
  if (elements_of(made) == 0) return b.to.zeros(shape);
  node_id g = b.g;
  list first = b.n.integers[0];
  for (std::size_t k = 0; k < shape.size(); ++k) {
    std::int64_t step = b.n.integers[2][k];
    if (step < 0) {
      g = b.to.reversed(g, k);
      first[k] += (static_cast<std::int64_t>(made[k]) - 1) * step;
      step = -step;
    }
    if (step > 1 && made[k] > 1) g = spread(b, g, k, static_cast<std::size_t>(step));
  }
  return b.shape_of(g) == shape ? g : b.to.operation(op::update, {b.to.zeros(shape), g}, first);
}

cotangents cotangents_of_concatenation(const pullback& b) {
  const auto axis = static_cast<std::size_t>(b.n.integer(0));
  cotangents all;
  list start(b.shape_of(b.y).size(), 0);
  for (const node_id part : b.n.in) {
    const core::shape shape = b.shape_of(part);
    all.emplace_back(box(b, b.g, start, shape));
    start[axis] += static_cast<std::int64_t>(shape[axis]);
  }
  return all;
}

node_id inverse_transpose(const pullback& b) {
  const list& axes = b.n.integers[0];
  list inverse(axes.size());
  for (std::size_t k = 0; k < axes.size(); ++k)
    inverse[static_cast<std::size_t>(axes[k])] = static_cast<std::int64_t>(k);
  return b.to.operation(op::transpose, {b.g}, inverse);
}

cotangents back_through_update(const pullback& b) {
  const core::shape part = b.shape_of(b.in(1));
  const list& start = b.n.integers[0];
  return {b.to.operation(op::update, {b.g, b.to.zeros(part)}, start), box(b, b.g, start, part)};
}

}  // namespace

cotangents cotangents_of_movement(const pullback& b) {
  program_writer& to = b.to;
  const auto zeros = [&] { return to.zeros(b.shape_of(b.in(0))); };
  switch (b.n.what) {
    case op::reshape:
      return {to.reshape(b.g, b.shape_of(b.in(0)))};
    case op::broadcast:
      return {to.sum_to(b.g, b.shape_of(b.in(0)))};
    case op::transpose:
      return {inverse_transpose(b)};
    case op::slice:
      return {back_through_slice(b)};
    case op::concatenate:
      return cotangents_of_concatenation(b);
    case op::update:
      return back_through_update(b);
    case op::gather:
      return {to.operation(op::scatter_add, {zeros(), b.in(1), b.g}, b.n.integers[0]), std::nullopt};
    case op::take_along:
      return {to.operation(op::scatter_add_along, {zeros(), b.in(1), b.g}, b.n.integers[0]), std::nullopt};
    case op::scatter_add:
      return {b.g, std::nullopt, to.operation(op::gather, {b.g, b.in(1)}, b.n.integers[0])};
    default:
      ASSAY_EXPECTS(b.n.what == op::scatter_add_along);
      return {b.g, std::nullopt, to.operation(op::take_along, {b.g, b.in(1)}, b.n.integers[0])};
  }
}

}  // namespace assay::reference::formula
