#include "reference/formula/passes.hpp"

#include <numeric>

namespace assay::reference::formula {
namespace {

// The nodes that an output needs, and all inputs, where each node may stand for another one before it.
core::result<program> needed_nodes(const program& p, const std::vector<node_id>& same_as) {
  std::vector<bool> lives(p.nodes().size(), false);
  for (const node_id k : p.inputs()) lives[k] = true;
  for (const program::output& o : p.outputs()) lives[same_as[o.of]] = true;
  for (std::size_t k = lives.size(); k-- > 0;)
    if (lives[k])
      for (const node_id taken : p.nodes()[k].in) lives[same_as[taken]] = true;
  program made;
  std::vector<node_id> now(lives.size(), 0);
  for (node_id k = 0; k < lives.size(); ++k) {
    if (!lives[k]) continue;
    node n = p.nodes()[k];
    for (node_id& taken : n.in) taken = now[same_as[taken]];
    const auto id = made.append(std::move(n));
    if (!id) return tl::make_unexpected(id.error());
    now[k] = *id;
  }
  for (const program::output& o : p.outputs())
    if (auto ok = made.name_output(o.name, now[same_as[o.of]]); !ok) return tl::make_unexpected(ok.error());
  return made;
}

std::vector<node_id> each_itself(const program& p) {
  std::vector<node_id> all(p.nodes().size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace

core::result<program> without_dead_nodes(const program& p) { return needed_nodes(p, each_itself(p)); }

// The other way may have more axes: broadcasting is part of what the node is.
core::result<program> without_alternatives(const program& p) {
  std::vector<node_id> same_as = each_itself(p);
  for (node_id k = 0; k < same_as.size(); ++k) {
    const node& n = p.nodes()[k];
    if ((n.what == op::right_as_well || n.what == op::another_way) && p.type_of(n.in[0]) == p.type_of(k))
      same_as[k] = same_as[n.in[0]];
  }
  return needed_nodes(p, same_as);
}

}  // namespace assay::reference::formula
