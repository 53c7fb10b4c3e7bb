#include "reference/formula/differentiate.hpp"

#include <algorithm>

#include "reference/formula/passes.hpp"
#include "reference/formula/pullbacks.hpp"

namespace assay::reference::formula {
namespace {

// Whether a cotangent that reaches a node leads on to an input.
std::vector<bool> that_lead_to_inputs(const program& p) {
  std::vector<bool> all;
  for (node_id k = 0; k < p.nodes().size(); ++k) {
    const node& n = p.nodes()[k];
    const bool cuts = p.type_of(k).kind != number_kind::real || n.what == op::detach || n.what == op::floor ||
                      n.what == op::to_real || n.what == op::index_number || n.what == op::largest_share;
    const bool leads = std::any_of(n.in.begin(), n.in.end(), [&](node_id taken) { return all[taken]; });
    all.push_back(!cuts && (n.what == op::input || leads));
  }
  return all;
}

cotangents handed_back(const pullback& b) {
  switch (row_of(b.n.what).kind) {
    case family::movement:
    case family::scattering:
      return cotangents_of_movement(b);
    case family::reduction:
    case family::along_axis:
      return cotangents_of_sums(b);
    case family::loop:
      return cotangents_of_scan(b);
    default:
      return cotangents_of_function(b);
  }
}

std::vector<std::vector<node_id>> uses_in(const program& p) {
  std::vector<std::vector<node_id>> all(p.nodes().size());
  for (node_id k = 0; k < all.size(); ++k)
    for (const node_id taken : p.nodes()[k].in) all[taken].push_back(k);
  for (const program::output& o : p.outputs()) all[o.node].push_back(o.node);
  return all;
}

// Cotangents of boxes that do not overlap are one array, in which nothing is added. Slices of x give such cotangents.
class sums_of_boxes {
 public:
  explicit sums_of_boxes(program_writer& to) : to_(to) {}

  node_id sum(node_id g, node_id other) {
    if (to_.is_zeros(g)) return other;
    if (to_.is_zeros(other)) return g;
    if (!are_apart(g, other)) return to_.operation(op::add, {g, other});
    const node& box = to_.node_of(other);
    return to_.append({.what = op::update, .in = {g, box.in[1]}, .integers = {box.integers[0]}});
  }

 private:
  /// Whether `g` is zero outside some boxes, and `other` is zero outside one box that overlaps none of them.
  [[nodiscard]] bool are_apart(node_id g, node_id other) const {
    const node& box = to_.node_of(other);
    if (box.what != op::update || !to_.is_zeros(box.in[0])) return false;
    while (!to_.is_zeros(g)) {
      const node& now = to_.node_of(g);
      if (now.what != op::update || overlap(now, box)) return false;
      g = now.in[0];
    }
    return true;
  }
  [[nodiscard]] bool overlap(const node& a, const node& b) const {
    const core::shape shape_of_a = to_.shape_of(a.in[1]), shape_of_b = to_.shape_of(b.in[1]);
    for (std::size_t k = 0; k < shape_of_a.size(); ++k) {
      const std::int64_t first_a = a.integers[0][k], first_b = b.integers[0][k];
      if (first_a + static_cast<std::int64_t>(shape_of_a[k]) <= first_b ||
          first_b + static_cast<std::int64_t>(shape_of_b[k]) <= first_a)
        return false;
    }
    return true;
  }
  program_writer& to_;
};

class reverse_sweep {
 public:
  reverse_sweep(const program& p, program& made, gradient_form form)
      : p_(p), to_(made), leads_(that_lead_to_inputs(p)), reached_(p.nodes().size()), uses_(uses_in(p)), form_(form) {}

  void run() {
    for (const program::output& o : p_.outputs())
      if (p_.type_of(o.node).kind == number_kind::real)
        reach(o.node, to_.input("grad_" + o.name, p_.type_of(o.node).shape));
    for (auto k = static_cast<node_id>(reached_.size()); k-- > 0;) {
      const node& n = p_.nodes()[k];
      if (!leads_[k] || !reached_[k] || n.what == op::input) continue;
      to_.set_stage(n.stage);
      const cotangents all = handed_back({to_, n, k, *reached_[k], leads_, reached_, uses_, form_});
      for (std::size_t a = 0; a < all.size(); ++a)
        if (all[a]) reach(n.in[a], *all[a]);
    }
    to_.set_stage({});
  }
  node_id gradient(node_id input) { return reached_[input] ? *reached_[input] : to_.zeros(p_.type_of(input).shape); }

 private:
  void reach(node_id k, node_id g) {
    if (!leads_[k] || to_.is_zeros(g)) return;
    if (reached_[k]) {
      to_.set_stage(p_.nodes()[k].stage);
      g = sums_of_boxes(to_).sum(*reached_[k], g);
    }
    reached_[k] = g;
  }

  const program& p_;
  program_writer to_;
  std::vector<bool> leads_;
  std::vector<std::optional<node_id>> reached_;
  const std::vector<std::vector<node_id>> uses_;
  const gradient_form form_;
};

core::result<program> with_all_nodes(const program& p, const std::optional<std::vector<std::string>>& names,
                                     gradient_form form) {
  program made = p.without_outputs();
  reverse_sweep sweep(p, made, form);
  sweep.run();
  const auto is_wanted = [&](node_id k) {
    return p.type_of(k).kind == number_kind::real &&
           (!names || std::ranges::find(*names, p.nodes()[k].text) != names->end());
  };
  for (const node_id k : p.inputs())
    if (is_wanted(k))
      if (auto ok = made.name_output("grad_" + p.nodes()[k].text, sweep.gradient(k)); !ok)
        return tl::make_unexpected(ok.error());
  if (made.outputs().empty()) return core::failure("a program without real inputs has no gradient");
  return made;
}

}  // namespace

core::result<program> differentiate(const program& p, const std::optional<std::vector<std::string>>& names,
                                    gradient_form form) {
  try {
    auto made = with_all_nodes(p, names, form);
    return made ? without_dead_nodes(std::move(*made)) : made;
  } catch (const unwritable& error) {
    return core::failure(std::string("its gradient: ") + error.what());
  }
}

}  // namespace assay::reference::formula
