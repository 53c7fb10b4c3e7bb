#include "reference/formula/program_writer.hpp"

#include <algorithm>
#include <bit>
#include <boost/container_hash/hash.hpp>
#include <cmath>

namespace assay::reference::formula {

namespace {

// Numbers are compared by their bits: -0 differs from 0.
std::uint64_t bits_of(double x) { return std::bit_cast<std::uint64_t>(x); }
std::size_t hash_of(const node& n) {
  std::size_t hash = static_cast<std::size_t>(n.what);
  boost::hash_combine(hash, n.in);
  for (const auto& list : n.integers) boost::hash_combine(hash, list);
  boost::hash_combine(hash, n.text);
  boost::hash_combine(hash, bits_of(n.number));
  boost::hash_combine(hash, n.stage);
  return hash;
}
bool are_same(const node& x, const node& y) {
  return x.what == y.what && x.in == y.in && x.integers == y.integers && x.text == y.text &&
         bits_of(x.number) == bits_of(y.number) && x.stage == y.stage && x.body == y.body;
}

}  // namespace

program_writer::program_writer(program& p) : program_(p) {
  for (node_id k = 0; k < p.nodes().size(); ++k) written_.emplace(hash_of(p.nodes()[k]), k);
}

bool program_writer::is_zeros(node_id x) const {
  const node* n = &program_.nodes()[x];
  while (n->what == op::broadcast || n->what == op::reshape || n->what == op::slice || n->what == op::transpose)
    n = &program_.nodes()[n->in[0]];
  return n->what == op::number && n->number == 0.0 && !std::signbit(n->number);
}

node_id program_writer::append(node n) {
  n.stage = stage_;
  if (n.what == op::data) return added(std::move(n));
  const std::size_t hash = hash_of(n);
  const auto [first, last] = written_.equal_range(hash);
  const auto known = std::find_if(first, last, [&](const auto& w) { return are_same(program_.nodes()[w.second], n); });
  if (known != last) return known->second;
  const node_id id = added(std::move(n));
  written_.emplace(hash, id);
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
  return shape_of(x) == shape ? x : operation(op::reshape, {x}, list(shape.begin(), shape.end()));
}
node_id program_writer::broadcast(node_id x, const core::shape& shape) {
  return shape_of(x) == shape ? x : operation(op::broadcast, {x}, list(shape.begin(), shape.end()));
}
// If a box of an update or of a concatenation lies entirely in one of its sources, moves x and the box to that source.
bool program_writer::steps_back(node_id& x, list& start, list& stop) const {
  const node& n = program_.nodes()[x];
  const auto move_to = [&](node_id source, const list& first) {
    for (std::size_t k = 0; k < start.size(); ++k) start[k] -= first[k], stop[k] -= first[k];
    x = source;
    return true;
  };
  if (n.what == op::update) {
    const core::shape& written = program_.type_of(n.in[1]).shape;
    bool is_within = true, is_beside = false;
    for (std::size_t k = 0; k < start.size(); ++k) {
      const std::int64_t first = n.integers[0][k], end = first + static_cast<std::int64_t>(written[k]);
      is_within = is_within && first <= start[k] && stop[k] <= end;
      is_beside = is_beside || stop[k] <= first || end <= start[k];
    }
    if (is_within) return move_to(n.in[1], n.integers[0]);
    return is_beside && move_to(n.in[0], list(start.size(), 0));
  }
  if (n.what == op::concatenate) {
    const auto axis = static_cast<std::size_t>(n.integer(0));
    list first(start.size(), 0);
    for (const node_id part : n.in) {
      const auto end = first[axis] + static_cast<std::int64_t>(program_.type_of(part).shape[axis]);
      if (first[axis] <= start[axis] && stop[axis] <= end) return move_to(part, first);
      first[axis] = end;
    }
  }
  return false;
}

node_id program_writer::slice(node_id x, list start, list stop, list step) {
  constexpr int most_steps_back = 256;
  const bool is_box = std::ranges::all_of(step, [](std::int64_t each) { return each == 1; });
  for (int back = 0; is_box && back < most_steps_back && steps_back(x, start, stop);) ++back;
  core::shape shape(start.size());
  for (std::size_t k = 0; k < start.size(); ++k) shape[k] = static_cast<std::size_t>(std::max(stop[k] - start[k], {}));
  if (is_box && shape == program_.type_of(x).shape) return x;
  return append({.what = op::slice, .in = {x}, .integers = {std::move(start), std::move(stop), std::move(step)}});
}

node_id program_writer::part(node_id x, const scan_part& p) {
  const std::size_t size = elements_of(p.shape), all = shape_of(x).front();
  if (size == all) return reshape(x, p.shape);
  const auto first = static_cast<std::int64_t>(p.first);
  return reshape(slice(x, {first}, {first + static_cast<std::int64_t>(size)}, {1}), p.shape);
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

node_id program_writer::sum(node_id x, list axes) {
  return axes.empty() ? x : operation(op::sum, {x}, std::move(axes));
}

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
