#include "reference/formula/evaluation_order.hpp"

#include <algorithm>
#include <numeric>

namespace assay::reference::formula {

bool is_elementwise(op what) {
  switch (row_of(what).kind) {
    case family::real_function:
    case family::arithmetic:
    case family::integer_function:
    case family::comparison:
    case family::logic:
    case family::cast_or_choice:
      return true;
    default:
      return false;
  }
}

// The most nodes of a run: each keeps a tile beside the arrays.
constexpr std::size_t longest_run = 64;

evaluation_order::groups::groups(const std::vector<node_id>& owners) : first_(owners.size() + 1, 0) {
  for (const node_id k : owners)
    if (k < owners.size()) ++first_[k];
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  members_.resize(first_.back());
  for (auto k = static_cast<node_id>(owners.size()); k-- > 0;)
    if (owners[k] < owners.size()) members_[--first_[owners[k]]] = k;
}

evaluation_order::evaluation_order(const program& p) {
  const auto count = static_cast<node_id>(p.nodes().size());
  const std::vector<node_id> last_uses = p.last_uses();
  // For each node: the one turn in which all its users so far are evaluated, or `several`; the turn in which it is
  // itself evaluated; and the number of nodes in that turn.
  constexpr node_id none = most_nodes, several = none + 1;
  std::vector<node_id> turn_of_users(count, none), turn(count, none), members(count, 0), last_turn(count, 0);
  for (node_id k = count; k-- > 0;) {
    if (last_uses[k] == 0) continue;
    const bool joins = last_uses[k] < count && turn_of_users[k] < count && members[turn_of_users[k]] < longest_run &&
                       is_elementwise(p.nodes()[k].what) && is_elementwise(p.nodes()[turn_of_users[k]].what) &&
                       p.type_of(k).shape == p.type_of(turn_of_users[k]).shape;
    turn[k] = joins ? turn_of_users[k] : k;
    ++members[turn[k]];
    for (const node_id taken : p.nodes()[k].in) {
      turn_of_users[taken] = turn_of_users[taken] == none || turn_of_users[taken] == turn[k] ? turn[k] : several;
      last_turn[taken] = std::max(last_turn[taken], turn[k]);
    }
  }
  for (node_id k = 0; k < count; ++k)
    if (last_uses[k] == 0 || last_uses[k] == count || turn[k] != k) last_turn[k] = none;
  together_ = groups(turn);
  forgotten_ = groups(last_turn);
}

}  // namespace assay::reference::formula
