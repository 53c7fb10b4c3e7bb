// Writes nodes after those of a program, in one stage at a time. A node that exists already is not written again,
// unless it is data.
#pragma once

#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "reference/formula/program.hpp"
#include "reference/formula/scan.hpp"

namespace assay::reference::formula {

/// A node that the program cannot have: it exceeds a limit, or another input has its name.
struct unwritable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class program_writer {
 public:
  using list = std::vector<std::int64_t>;

  explicit program_writer(program& p);

  void set_stage(std::string stage) { stage_ = std::move(stage); }
  /// The reference is valid until another node is written, which moves the nodes.
  [[nodiscard]] const node& node_of(node_id k) const { return program_.nodes()[k]; }
  /// A copy of the shape, which stays valid.
  [[nodiscard]] core::shape shape_of(node_id k) const { return program_.type_of(k).shape; }

  /// Whether x was written as zeros, which may have been moved since.
  [[nodiscard]] bool is_zeros(node_id x) const;

  /// Throws unwritable where the program cannot have the node.
  node_id append(node n);
  node_id operation(op what, std::vector<node_id> in) { return append({.what = what, .in = std::move(in)}); }
  node_id operation(op what, std::vector<node_id> in, list attribute) {
    return append({.what = what, .in = std::move(in), .integers = {std::move(attribute)}});
  }
  node_id input(const std::string& name, const core::shape& shape);
  node_id number(double x) { return append({.what = op::number, .number = x}); }
  node_id integer(std::size_t x) { return fraction(static_cast<std::int64_t>(x), 1); }
  node_id fraction(std::int64_t p, std::int64_t q) {
    return append({.what = op::fraction, .integers = {list{p}, list{q}}});
  }
  node_id zeros(const core::shape& shape) { return broadcast(number(0.0), shape); }

  node_id negative(node_id x) { return operation(op::negative, {x}); }
  node_id product(node_id x, node_id y) { return operation(op::multiply, {x, y}); }
  node_id where(node_id condition, node_id x, node_id y) { return operation(op::where, {condition, x, y}); }
  node_id reshape(node_id x, const core::shape& shape);
  node_id broadcast(node_id x, const core::shape& shape);
  /// A slice of x. If the slice lies where something was written, it reads that.
  node_id slice(node_id x, list start, list stop, list step);
  /// A part of a flat array, in its shape.
  node_id part(node_id x, const scan_part& p);
  /// x in the reverse order along an axis.
  node_id reversed(node_id x, std::size_t axis);
  /// Sums along axes, if any, which vanish.
  node_id sum(node_id x, list axes);
  /// The sum over all repetitions that broadcasting an array of this shape has made.
  node_id sum_to(node_id x, const core::shape& shape);
  /// A reduction of an array of this shape along these axes, with axes of size 1 in place of those that vanished.
  node_id beside(node_id x, const list& axes, core::shape shape);

 private:
  node_id added(node n);
  [[nodiscard]] bool steps_back(node_id& x, list& start, list& stop) const;

  program& program_;
  std::unordered_multimap<std::size_t, node_id> written_;  // by hash
  std::string stage_;
};

}  // namespace assay::reference::formula
