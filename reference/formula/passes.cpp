#include "reference/formula/passes.hpp"

#include <numeric>
#include <utility>

namespace assay::reference::formula {
namespace {

using pass = core::result<program> (*)(program p);

// The nodes that the outputs need. An earlier node may take the place of each node. `in_bodies` is the pass for the
// bodies of loops, if any. A program that is passed as an rvalue gives its nodes away.
template <class Program>
core::result<program> needed_nodes(Program&& p, const std::vector<node_id>& inputs,
                                   const std::vector<program::output>& outputs, const std::vector<node_id>& same_as,
                                   pass in_bodies = nullptr) {
  program made;
  std::vector<node_id> now(p.nodes().size(), 0);
  const auto append = [&](node_id k) -> core::result<void> {
    auto [n, type] = std::forward<Program>(p).node_and_type(k);
    for (node_id& taken : n.in) taken = now[same_as[taken]];
    if (n.body && in_bodies != nullptr) {
      auto body = in_bodies(*n.body);
      if (!body) return tl::make_unexpected(body.error());
      n.body = std::make_shared<const program>(std::move(*body));
    }
    const auto id = made.append(std::move(n), std::move(type));
    if (!id) return tl::make_unexpected(id.error());
    now[k] = *id;
    return {};
  };
  std::vector<bool> lives(p.nodes().size(), false);
  for (const program::output& o : outputs) lives[same_as[o.node]] = true;
  for (std::size_t k = lives.size(); k-- > 0;)
    if (lives[k])
      for (const node_id taken : p.nodes()[k].in) lives[same_as[taken]] = true;
  for (const node_id k : p.inputs()) lives[k] = false;
  for (const node_id k : inputs)
    if (auto ok = append(k); !ok) return tl::make_unexpected(ok.error());
  for (node_id k = 0; k < lives.size(); ++k)
    if (lives[k])
      if (auto ok = append(k); !ok) return tl::make_unexpected(ok.error());
  for (const program::output& o : outputs)
    if (auto ok = made.name_output(o.name, now[same_as[o.node]]); !ok) return tl::make_unexpected(ok.error());
  return made;
}

std::vector<node_id> each_itself(const program& p) {
  std::vector<node_id> all(p.nodes().size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace

core::result<program> part_of(const program& p, const std::vector<node_id>& inputs,
                              const std::vector<program::output>& outputs) {
  return needed_nodes(p, inputs, outputs, each_itself(p));
}

core::result<program> without_dead_nodes(program p) {
  return needed_nodes(std::move(p), p.inputs(), p.outputs(), each_itself(p));
}

// A node whose type differs from that of its first operand stays: it also broadcasts the operand.
core::result<program> without_alternatives(program p) {
  std::vector<node_id> same_as = each_itself(p);
  for (node_id k = 0; k < same_as.size(); ++k) {
    const node& n = p.nodes()[k];
    const bool is_as_its_first = n.what == op::right_as_well || n.what == op::another_way || n.what == op::off_by ||
                                 n.what == op::with_gradient_of;
    if (is_as_its_first && p.type_of(n.in[0]) == p.type_of(k)) same_as[k] = same_as[n.in[0]];
  }
  return needed_nodes(std::move(p), p.inputs(), p.outputs(), same_as, without_alternatives);
}

}  // namespace assay::reference::formula
