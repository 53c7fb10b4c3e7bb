#include "reference/formula/passes.hpp"

namespace assay::reference::formula {

core::result<program> without_dead_nodes(const program& p) {
  std::vector<bool> lives(p.nodes().size(), false);
  for (const node_id k : p.inputs()) lives[k] = true;
  for (const program::output& o : p.outputs()) lives[o.of] = true;
  for (std::size_t k = lives.size(); k-- > 0;)
    if (lives[k])
      for (const node_id taken : p.nodes()[k].in) lives[taken] = true;
  program made;
  std::vector<node_id> now(lives.size(), 0);
  for (node_id k = 0; k < lives.size(); ++k) {
    if (!lives[k]) continue;
    node n = p.nodes()[k];
    for (node_id& taken : n.in) taken = now[taken];
    const auto id = made.append(std::move(n));
    if (!id) return tl::make_unexpected(id.error());
    now[k] = *id;
  }
  for (const program::output& o : p.outputs())
    if (auto ok = made.name_output(o.name, now[o.of]); !ok) return tl::make_unexpected(ok.error());
  return made;
}

}  // namespace assay::reference::formula
