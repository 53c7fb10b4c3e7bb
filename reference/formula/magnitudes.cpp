// A gradient is linear in the cotangents of the outputs. Its terms have no signs where each factor of a cotangent, and
// the cotangents themselves, are taken by their magnitudes. A difference of cotangents is one that a rule asks for
// (that of softmax: less their mean), and no sum of terms: it stays as it is.
#include <algorithm>

#include "reference/formula/differentiate.hpp"
#include "reference/formula/passes.hpp"
#include "reference/formula/program_writer.hpp"

namespace assay::reference::formula {
namespace {

class without_signs {
 public:
  without_signs(const program& from, const program& forward, program& made)
      : from_(from), forward_(forward), to_(made) {}

  void run() {
    for (node_id k = 0; k < from_.nodes().size(); ++k) {
      const node& n = from_.nodes()[k];
      const bool is_cotangent = n.what == op::input && !is_input_of_forward(n.text);
      const bool is_made_of_one = from_.type_of(k).kind == number_kind::real &&
                                  std::ranges::any_of(n.in, [&](node_id taken) { return is_linear_[taken]; });
      is_linear_.push_back(is_cotangent || is_made_of_one);
      to_.set_stage(n.stage);
      plain_.push_back(copied(n));
      now_.push_back(is_cotangent || is_made_of_one ? of_terms(n, k) : plain_.back());
    }
    to_.set_stage({});
  }
  [[nodiscard]] node_id of(node_id k) const { return now_[k]; }

 private:
  node_id copied(node n) {
    for (node_id& taken : n.in) taken = plain_[taken];
    return to_.append(std::move(n));
  }
  [[nodiscard]] bool is_input_of_forward(const std::string& name) const {
    return std::ranges::any_of(forward_.inputs(), [&](node_id k) { return forward_.nodes()[k].text == name; });
  }
  node_id without_sign(node_id taken) {
    return is_linear_[taken] ? now_[taken] : to_.of(op::magnitude, {plain_[taken]});
  }

  node_id of_terms(const node& n, node_id k) {
    if (n.what == op::input || n.what == op::subtract) return to_.of(op::magnitude, {plain_[k]});
    node made = n;
    for (node_id& taken : made.in)
      taken = from_.type_of(taken).kind == number_kind::real ? without_sign(taken) : plain_[taken];
    if (n.what == op::negative) return made.in[0];
    return to_.append(std::move(made));
  }

  const program &from_, &forward_;
  program_writer to_;
  std::vector<bool> is_linear_;
  std::vector<node_id> plain_, now_;
};

}  // namespace

core::result<program> magnitudes_of_terms(const program& gradient, const program& forward) {
  try {
    program made;
    without_signs pass(gradient, forward, made);
    pass.run();
    for (const program::output& o : gradient.outputs())
      if (auto ok = made.name_output(o.name, pass.of(o.of)); !ok) return tl::make_unexpected(ok.error());
    return without_dead_nodes(made);
  } catch (const unwritable& error) {
    return core::failure(std::string("the terms of its gradient: ") + error.what());
  }
}

}  // namespace assay::reference::formula
