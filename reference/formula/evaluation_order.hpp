// The order in which the nodes of a program are evaluated, and which of them are evaluated together.
//
// A run is a group of elementwise nodes of one shape; no node outside the run uses any of them but the last. They are
// evaluated in tiles of lanes, so that no intermediate result is ever a whole array. A real number of a run that only a
// branch uses is not evaluated for lanes whose condition rules the branch out, if that condition depends on no real
// number of the run.
#pragma once

#include <span>

#include "reference/formula/program.hpp"

namespace assay::reference::formula {

class evaluation_order {
 public:
  explicit evaluation_order(const program& p);

  /// The nodes that are evaluated in the turn of k, in order; k is the last of them. Empty where k has no turn of its
  /// own: no output needs it, or it is evaluated in the turn of another node.
  [[nodiscard]] std::span<const node_id> in_turn_of(node_id k) const { return together_.members(k); }
  /// The arrays that no node needs after the turn of k.
  [[nodiscard]] std::span<const node_id> forgotten_after(node_id k) const { return forgotten_.members(k); }

 private:
  /// Nodes by the node that owns them, in order.
  class groups {
   public:
    groups() = default;
    /// Nodes without an owner have an owner beyond all nodes.
    explicit groups(const std::vector<node_id>& owners);
    [[nodiscard]] std::span<const node_id> members(node_id k) const {
      return std::span(members_).subspan(first_[k], first_[k + 1] - first_[k]);
    }

   private:
    std::vector<node_id> members_, first_;
  };
  groups together_, forgotten_;
};

/// Whether each element of the result is made from one element of each input; inputs broadcast.
bool is_elementwise(op what);

}  // namespace assay::reference::formula
