// Writes nodes behind those of a program, in one stage at a time. What is there already is not written again.
#pragma once

#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "reference/formula/program.hpp"
#include "reference/formula/scan.hpp"

namespace assay::reference::formula {

/// A node that the program cannot have: it exceeds a limit, or an input's name is taken.
struct unwritable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class program_writer {
 public:
  using list = std::vector<std::int64_t>;

  explicit program_writer(program& p);

  void set_stage(std::string stage) { stage_ = std::move(stage); }
  /// Until a node is written, which moves the others.
  [[nodiscard]] const node& node_of(node_id k) const { return program_.nodes()[k]; }
  /// A copy, which stays.
  [[nodiscard]] core::shape shape_of(node_id k) const { return program_.type_of(k).shape; }

  /// Whether it is written as zeros, and moved or not: nothing is there.
  [[nodiscard]] bool is_zeros(node_id x) const;

  /// Throws unwritable.
  node_id append(node n);
  node_id of(op what, std::vector<node_id> in) { return append({.what = what, .in = std::move(in)}); }
  node_id of(op what, std::vector<node_id> in, list attribute) {
    return append({.what = what, .in = std::move(in), .integers = {std::move(attribute)}});
  }
  node_id input(const std::string& name, const core::shape& shape);
  node_id number(double x) { return append({.what = op::number, .number = x}); }
  node_id integer(std::size_t x) { return of_fraction(static_cast<std::int64_t>(x), 1); }
  node_id of_fraction(std::int64_t p, std::int64_t q) {
    return append({.what = op::fraction, .integers = {list{p}, list{q}}});
  }
  node_id zeros(const core::shape& shape) { return broadcast(number(0.0), shape); }

  node_id negative(node_id x) { return of(op::negative, {x}); }
  node_id product(node_id x, node_id y) { return of(op::multiply, {x, y}); }
  node_id where(node_id condition, node_id x, node_id y) { return of(op::where, {condition, x, y}); }
  node_id reshape(node_id x, const core::shape& shape);
  node_id broadcast(node_id x, const core::shape& shape);
  /// What is read where something was written is that.
  node_id slice(node_id x, list start, list stop, list step);
  /// Of a flat array, in its shape.
  node_id part(node_id x, const scan_part& p);
  /// In the reverse order along an axis.
  node_id reversed(node_id x, std::size_t axis);
  /// Sums along axes, if any, which vanish.
  node_id sum(node_id x, list axes);
  /// The sum over all that broadcasting an array of this shape has repeated.
  node_id sum_to(node_id x, const core::shape& shape);
  /// A reduction along these axes of an array of this shape, with sizes of 1 in place of what vanished.
  node_id beside(node_id x, const list& axes, core::shape shape);

 private:
  node_id added(node n);
  [[nodiscard]] bool steps_back(node_id& x, list& start, list& stop) const;

  program& program_;
  std::unordered_multimap<std::size_t, node_id> written_;  // by hash
  std::string stage_;
};

}  // namespace assay::reference::formula
