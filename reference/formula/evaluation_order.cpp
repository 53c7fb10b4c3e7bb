#include "reference/formula/evaluation_order.hpp"

#include <algorithm>
#include <optional>

namespace assay::reference::formula {

bool is_elementwise(op what) {
  switch (row_of(what).of) {
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

// What a run keeps beside the arrays: so many tiles.
constexpr std::size_t longest_run = 64;

evaluation_order::evaluation_order(const program& p) : together_(p.nodes().size()), forgotten_(p.nodes().size()) {
  const auto count = static_cast<node_id>(p.nodes().size());
  const std::vector<node_id> last_uses = p.last_uses();
  // The one turn that all who take a node are evaluated in, so far; `count` where there are several.
  std::vector<std::optional<node_id>> asked_in(count);
  std::vector<node_id> turn(count), last_turn(count, 0);
  for (node_id k = count; k-- > 0;) {
    if (last_uses[k] == 0) continue;
    const bool joins = last_uses[k] < count && *asked_in[k] < count && together_[*asked_in[k]].size() < longest_run &&
                       is_elementwise(p.nodes()[k].what) && is_elementwise(p.nodes()[*asked_in[k]].what) &&
                       p.type_of(k).shape == p.type_of(*asked_in[k]).shape;
    turn[k] = joins ? *asked_in[k] : k;
    together_[turn[k]].push_back(k);
    for (const node_id taken : p.nodes()[k].in) {
      asked_in[taken] = asked_in[taken].value_or(turn[k]) == turn[k] ? turn[k] : count;
      last_turn[taken] = std::max(last_turn[taken], turn[k]);
    }
  }
  for (auto& run : together_) std::reverse(run.begin(), run.end());
  for (node_id k = 0; k < count; ++k)
    if (last_uses[k] != 0 && last_uses[k] < count && turn[k] == k) forgotten_[last_turn[k]].push_back(k);
}

}  // namespace assay::reference::formula
