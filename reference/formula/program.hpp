// A formula as a value: a list of nodes in order, each of them an array. A node has an operator, its attributes, and
// earlier nodes as inputs. Its kind of number and its shape follow from these. Sizes are numbers: a formula for other
// sizes is another program.
//
// Kinds: reals, from which a reading makes exact numbers, proofs or allowances; integers of 64 bits, whose overflow is
// an error; booleans, which are indeterminate where a reading cannot tell. Elementwise operators of several inputs
// broadcast as NumPy does. Special values are those of IEEE 754 on exact numbers: 0 times infinity is NaN, 1 / 0 is
// infinite where the zero's sign is known, and a function beyond its domain is NaN. Sums, means and contractions are
// sums in no particular order.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "reference/core/result.hpp"
#include "reference/core/tensor.hpp"
#include "reference/formula/operators.hpp"

namespace assay::reference::formula {

using node_id = std::uint32_t;

struct array_type {
  number_kind kind = number_kind::real;
  core::shape shape{};
  friend bool operator==(const array_type&, const array_type&) = default;
};
/// Precondition: the shape belongs to a node.
std::size_t elements_of(const core::shape& s);

class program;

struct node {
  op what = op::number;
  std::vector<node_id> in{};
  /// The attributes of the operator that are integers or lists of integers, in the order of its attributes; kinds and
  /// truths are numbers, too.
  std::array<std::vector<std::int64_t>, 3> integers{};
  std::string text{};                     ///< the name of an input; the letters of a contraction; the stage that
                                          ///< `taken_by` takes from
  double number = 0.0;                    ///< the value of a number
  std::vector<double> values{};           ///< the values of data, whatever its kind; truths are 0 and 1
  std::string stage{};                    ///< the stage whose format it is computed in; empty: the format of all
  std::shared_ptr<const program> body{};  ///< the body of a scan

  [[nodiscard]] std::int64_t integer(std::size_t k) const { return integers[k].front(); }
};

/// The limits of every program: arrays, and their sum, are limited before anything is computed. The nodes of bodies are
/// counted, too.
inline constexpr std::size_t most_nodes = std::size_t{1} << 16, most_axes = 8, most_elements = std::size_t{1} << 26,
                             most_elements_of_all = std::size_t{1} << 30, most_nested_loops = 4;

class program {
 public:
  struct output {
    std::string name;
    node_id node;
  };

  /// Appends a node after the others and finds its type. An error says what is wrong, and with which node.
  core::result<node_id> append(node n);
  /// The same for a node of another program, whose type is known.
  core::result<node_id> append(node n, array_type type);
  core::result<void> name_output(std::string name, node_id node);

  [[nodiscard]] const std::vector<node>& nodes() const { return nodes_; }
  [[nodiscard]] const array_type& type_of(node_id n) const { return types_[n]; }
  [[nodiscard]] std::pair<node, array_type> node_and_type(node_id n) const& { return {nodes_[n], types_[n]}; }
  /// For a program that is an rvalue: the node is moved out of it.
  [[nodiscard]] std::pair<node, array_type> node_and_type(node_id n) && {
    return {std::exchange(nodes_[n], {}), std::exchange(types_[n], {})};
  }
  [[nodiscard]] const std::vector<output>& outputs() const { return outputs_; }
  /// The nodes that are inputs.
  [[nodiscard]] const std::vector<node_id>& inputs() const { return inputs_; }
  /// The last node that uses each node, among the nodes that an output needs. It is the number of nodes where the node
  /// is an output, and 0 where no output needs it.
  [[nodiscard]] std::vector<node_id> last_uses() const;
  [[nodiscard]] program without_outputs() const;
  /// The number of nodes, including those of bodies.
  [[nodiscard]] std::size_t nodes_in_all() const { return nodes_.size() + nodes_in_bodies_; }

 private:
  std::vector<node> nodes_;
  std::vector<array_type> types_;
  std::vector<node_id> inputs_;
  std::vector<output> outputs_;
  std::size_t elements_ = 0, nodes_in_bodies_ = 0, nested_loops_ = 0;
};

/// A node of a program or of its bodies; the nodes of a body come before their loop.
struct node_place {
  const program* in;
  node_id node;
};
std::vector<node_place> all_nodes(const program& p);

/// The letters of a contraction: those of each input and of the result.
struct contraction {
  std::string x, y, result;
};
core::result<contraction> contraction_of(const std::string& text);

/// The type of a node, given the types of its inputs.
core::result<array_type> type_of(const node& n, const std::vector<const array_type*>& in);

}  // namespace assay::reference::formula
