#include "reference/formula/differentiate.hpp"

#include <algorithm>

#include "reference/formula/passes.hpp"
#include "reference/formula/pullbacks.hpp"

namespace assay::reference::formula {
namespace {

// Whether a cotangent that reaches a node goes on to an input.
std::vector<bool> that_lead_to_inputs(const program& p) {
  std::vector<bool> all;
  for (node_id k = 0; k < p.nodes().size(); ++k) {
    const node& n = p.nodes()[k];
    const bool cuts = p.type_of(k).kind != number_kind::real || n.what == op::detach || n.what == op::floor ||
                      n.what == op::to_real || n.what == op::largest_share;
    const bool leads = std::any_of(n.in.begin(), n.in.end(), [&](node_id taken) { return all[taken]; });
    all.push_back(!cuts && (n.what == op::input || leads));
  }
  return all;
}

cotangents handed_back(const pullback& b) {
  switch (row_of(b.n.what).of) {
    case family::movement:
    case family::scattering:
      return of_movement(b);
    case family::reduction:
    case family::along_axis:
      return of_sums(b);
    default:
      return of_function(b);
  }
}

class reverse_sweep {
 public:
  reverse_sweep(const program& p, program& made)
      : p_(p), to_(made), leads_(that_lead_to_inputs(p)), reached_(p.nodes().size()) {}

  void run() {
    for (const program::output& o : p_.outputs())
      if (p_.type_of(o.of).kind == number_kind::real) reach(o.of, to_.input("grad_" + o.name, p_.type_of(o.of).shape));
    for (auto k = static_cast<node_id>(reached_.size()); k-- > 0;) {
      const node& n = p_.nodes()[k];
      if (!leads_[k] || !reached_[k] || n.what == op::input) continue;
      to_.set_stage(n.stage);
      const cotangents all = handed_back({to_, n, k, *reached_[k]});
      for (std::size_t a = 0; a < all.size(); ++a)
        if (all[a]) reach(n.in[a], *all[a]);
    }
    to_.set_stage({});
  }
  node_id gradient(node_id input) { return reached_[input] ? *reached_[input] : to_.zeros(p_.type_of(input).shape); }

 private:
  void reach(node_id k, node_id g) {
    if (!leads_[k]) return;
    if (reached_[k]) {
      to_.set_stage(p_.nodes()[k].stage);
      g = to_.of(op::add, {*reached_[k], g});
    }
    reached_[k] = g;
  }

  const program& p_;
  program_writer to_;
  std::vector<bool> leads_;
  std::vector<std::optional<node_id>> reached_;
};

core::result<program> with_all_nodes(const program& p, const std::optional<std::vector<std::string>>& of) {
  program made;
  for (const node& n : p.nodes())
    if (const auto id = made.append(n); !id) return tl::make_unexpected(id.error());
  reverse_sweep sweep(p, made);
  sweep.run();
  const auto is_wanted = [&](node_id k) {
    return p.type_of(k).kind == number_kind::real && (!of || std::ranges::find(*of, p.nodes()[k].text) != of->end());
  };
  for (const node_id k : p.inputs())
    if (is_wanted(k))
      if (auto ok = made.name_output("grad_" + p.nodes()[k].text, sweep.gradient(k)); !ok)
        return tl::make_unexpected(ok.error());
  if (made.outputs().empty()) return core::failure("a program without real inputs has no gradient");
  return made;
}

}  // namespace

core::result<program> differentiate(const program& p, const std::optional<std::vector<std::string>>& of) {
  try {
    const auto made = with_all_nodes(p, of);
    return made ? without_dead_nodes(*made) : made;
  } catch (const unwritable& error) {
    return core::failure(std::string("its gradient: ") + error.what());
  }
}

}  // namespace assay::reference::formula
