#include "reference/formula/program.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace assay::reference::formula {

core::result<node_id> program::append(node n) {
  const operator_row& row = row_of(n.what);
  const auto refuse = [&](const std::string& why) {
    return core::failure(fmt::format("node {} ({}): {}", nodes_.size(), row.name, why));
  };
  if (row.arity == any_number ? n.in.empty() : n.in.size() != row.arity)
    return refuse(fmt::format("takes {} inputs, and not {}", row.arity == any_number ? 1 : row.arity, n.in.size()));
  std::vector<const array_type*> in;
  for (const node_id id : n.in) {
    if (id >= nodes_.size()) return refuse(fmt::format("takes node {}, which is not before it", id));
    in.push_back(&types_[id]);
  }
  auto type = formula::type_of(n, in);
  return type ? append(std::move(n), std::move(*type)) : refuse(type.error().message);
}

core::result<node_id> program::append(node n, array_type type) {
  const auto refuse = [&](const std::string& why) {
    return core::failure(fmt::format("node {} ({}): {}", nodes_.size(), row_of(n.what).name, why));
  };
  const std::size_t in_body = n.body ? n.body->nodes_in_all() : 0;
  if (nodes_in_all() + in_body >= most_nodes) return refuse(fmt::format("a program has at most {} nodes", most_nodes));
  if (n.body && n.body->nested_loops_ == most_nested_loops)
    return refuse(fmt::format("loops are nested at most {} deep", most_nested_loops));
  if (n.what == op::input)
    for (const node_id other : inputs_)
      if (nodes_[other].text == n.text) return refuse(fmt::format("there is already an input '{}'", n.text));
  elements_ += elements_of(type.shape) + (n.body ? n.body->elements_ : 0);
  if (elements_ > most_elements_of_all) return refuse(fmt::format("more than {} elements", most_elements_of_all));
  const auto id = static_cast<node_id>(nodes_.size());
  if (n.what == op::input) inputs_.push_back(id);
  nodes_in_bodies_ += in_body;
  if (n.body) nested_loops_ = std::max(nested_loops_, n.body->nested_loops_ + 1);
  nodes_.push_back(std::move(n));
  types_.push_back(std::move(type));
  return id;
}

program program::without_outputs() const {
  program same = *this;
  same.outputs_.clear();
  return same;
}

core::result<void> program::name_output(std::string name, node_id node) {
  if (node >= nodes_.size()) return core::failure(fmt::format("output '{}': there is no node {}", name, node));
  const bool is_there =
      std::any_of(outputs_.begin(), outputs_.end(), [&](const output& other) { return other.name == name; });
  if (name.empty() || is_there) return core::failure(fmt::format("output '{}': every output has its own name", name));
  outputs_.push_back({std::move(name), node});
  return {};
}

std::vector<node_place> all_nodes(const program& p) {
  std::vector<node_place> all;
  for (node_id k = 0; k < p.nodes().size(); ++k) {
    if (p.nodes()[k].body) {
      const std::vector<node_place> inner = all_nodes(*p.nodes()[k].body);
      all.insert(all.end(), inner.begin(), inner.end());
    }
    all.push_back({&p, k});
  }
  return all;
}

std::vector<node_id> program::last_uses() const {
  std::vector<node_id> last(nodes_.size(), 0);
  for (const output& o : outputs_) last[o.node] = static_cast<node_id>(nodes_.size());
  for (auto k = static_cast<node_id>(nodes_.size()); k-- > 0;)
    if (last[k] != 0)
      for (const node_id taken : nodes_[k].in) last[taken] = std::max(last[taken], k);
  return last;
}

}  // namespace assay::reference::formula
