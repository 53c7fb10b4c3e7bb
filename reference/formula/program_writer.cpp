#include "reference/formula/program_writer.hpp"

#include <bit>

namespace assay::reference::formula {

// By its bits: -0 is another number than 0.
program_writer::key program_writer::key_of(const node& n) {
  return {n.what, n.in, n.integers, n.text, std::bit_cast<std::uint64_t>(n.number), n.stage};
}

program_writer::program_writer(program& p) : program_(p) {
  for (node_id k = 0; k < p.nodes().size(); ++k) written_.emplace(key_of(p.nodes()[k]), k);
}

node_id program_writer::append(node n) {
  n.stage = stage_;
  if (n.what == op::data) return added(std::move(n));
  key what = key_of(n);
  if (const auto known = written_.find(what); known != written_.end()) return known->second;
  const node_id id = added(std::move(n));
  written_.emplace(std::move(what), id);
  return id;
}
node_id program_writer::added(node n) {
  const auto id = program_.append(std::move(n));
  if (!id) throw unwritable(id.error().message);
  return *id;
}

node_id program_writer::input(const std::string& name, const core::shape& shape) {
  node n{.what = op::input, .text = name};
  n.integers[1] = {static_cast<std::int64_t>(number_kind::real)};
  n.integers[2] = list(shape.begin(), shape.end());
  return added(std::move(n));
}

node_id program_writer::reshape(node_id x, const core::shape& shape) {
  return shape_of(x) == shape ? x : of(op::reshape, {x}, list(shape.begin(), shape.end()));
}
node_id program_writer::broadcast(node_id x, const core::shape& shape) {
  return shape_of(x) == shape ? x : of(op::broadcast, {x}, list(shape.begin(), shape.end()));
}
node_id program_writer::slice(node_id x, list start, list stop, list step) {
  return append({.what = op::slice, .in = {x}, .integers = {std::move(start), std::move(stop), std::move(step)}});
}

node_id program_writer::reversed(node_id x, std::size_t axis) {
  const core::shape shape = shape_of(x);
  if (shape[axis] < 2) return x;
  list start(shape.size(), 0), stop(shape.begin(), shape.end()), step(shape.size(), 1);
  start[axis] = stop[axis] - 1;
  stop[axis] = -1;
  step[axis] = -1;
  return slice(x, std::move(start), std::move(stop), std::move(step));
}

node_id program_writer::sum(node_id x, list axes) { return axes.empty() ? x : of(op::sum, {x}, std::move(axes)); }

node_id program_writer::sum_to(node_id x, const core::shape& shape) {
  const core::shape from = shape_of(x);
  const std::size_t more = from.size() - shape.size();
  list axes;
  for (std::size_t k = 0; k < from.size(); ++k)
    if (k < more || (shape[k - more] == 1 && from[k] != 1)) axes.push_back(static_cast<std::int64_t>(k));
  return reshape(sum(x, std::move(axes)), shape);
}

node_id program_writer::beside(node_id x, const list& axes, core::shape shape) {
  for (const std::int64_t axis : axes) shape[static_cast<std::size_t>(axis)] = 1;
  return reshape(x, shape);
}

}  // namespace assay::reference::formula
