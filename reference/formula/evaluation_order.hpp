// In which order the nodes of a program are evaluated, and which of them together.
//
// Elementwise nodes of one shape that no other node asks for are a run: they are evaluated in tiles of lanes, so that
// what lies between them is never a whole array. Real numbers of a run that only a branch asks for are not evaluated
// for lanes whose condition rules it out, where that hangs on no real number of the run.
#pragma once

#include <span>

#include "reference/formula/program.hpp"

namespace assay::reference::formula {

class evaluation_order {
 public:
  explicit evaluation_order(const program& p);

  /// The nodes that are evaluated in the turn of k, in order; k is the last of them. Empty where k has no turn of its
  /// own: no output needs it, or it is evaluated in that of another.
  [[nodiscard]] std::span<const node_id> in_turn_of(node_id k) const { return together_.of(k); }
  /// The arrays that nothing needs behind the turn of k.
  [[nodiscard]] std::span<const node_id> forgotten_after(node_id k) const { return forgotten_.of(k); }

 private:
  /// Nodes by the node that they belong to, in order.
  class groups {
   public:
    groups() = default;
    /// Those that belong to none have an owner beyond all nodes.
    explicit groups(const std::vector<node_id>& owners);
    [[nodiscard]] std::span<const node_id> of(node_id k) const {
      return std::span(members_).subspan(first_[k], first_[k + 1] - first_[k]);
    }

   private:
    std::vector<node_id> members_, first_;
  };
  groups together_, forgotten_;
};

/// Whether its elements are made one by one of those of its inputs, which broadcast.
bool is_elementwise(op what);

}  // namespace assay::reference::formula
