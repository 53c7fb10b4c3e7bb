// A gradient is linear in the cotangents of the outputs. Its terms have no signs if the cotangents themselves, and each
// factor of a cotangent, are replaced by their magnitudes. A difference of cotangents that a rule asks for (softmax:
// less their mean) is no sum of terms: it stays as it is.
#include <algorithm>
#include <functional>

#include "reference/formula/differentiate.hpp"
#include "reference/formula/passes.hpp"
#include "reference/formula/program_writer.hpp"

namespace assay::reference::formula {
namespace {

class without_signs {
 public:
  /// `names_cotangent` says which inputs are cotangents. In bodies of loops their magnitudes are inputs, too, "without
  /// sign NAME".
  without_signs(const program& from, std::function<bool(const std::string&)> names_cotangent, bool in_body)
      : from_(from), to_(made_), names_cotangent_(std::move(names_cotangent)), is_in_body_(in_body) {}

  /// The program with outputs without signs; in bodies they come after the outputs with signs.
  program run() {
    for (node_id k = 0; k < from_.nodes().size(); ++k) {
      const node& n = from_.nodes()[k];
      const bool is_cotangent = n.what == op::input && names_cotangent_(n.text);
      const bool is_made_of_one = from_.type_of(k).kind == number_kind::real &&
                                  std::ranges::any_of(n.in, [&](node_id taken) { return is_linear_[taken]; });
      is_linear_.push_back(is_cotangent || is_made_of_one);
      to_.set_stage(n.stage);
      plain_.push_back(copied(n));
      now_.push_back(is_cotangent || is_made_of_one ? magnitude_of_terms(n, k) : plain_.back());
    }
    to_.set_stage({});
    if (is_in_body_)
      for (const program::output& o : from_.outputs()) name(o.name, plain_[o.node]);
    for (const program::output& o : from_.outputs())
      name(is_in_body_ ? without_sign_of(o.name) : o.name, is_in_body_ ? without_sign(o.node) : now_[o.node]);
    return std::move(made_);
  }
  [[nodiscard]] bool needs_signs() const { return needs_signs_; }
  static std::string without_sign_of(const std::string& name) { return "without sign " + name; }

 private:
  void name(const std::string& output, node_id node) {
    if (auto ok = made_.name_output(output, node); !ok) throw unwritable(ok.error().message);
  }
  node_id copied(node n) {
    for (node_id& taken : n.in) taken = plain_[taken];
    return to_.append(std::move(n));
  }
  node_id without_sign(node_id taken) {
    return is_linear_[taken] ? now_[taken] : to_.operation(op::magnitude, {plain_[taken]});
  }

  node_id magnitude_of_terms(const node& n, node_id k) {
    if (n.what == op::input && is_in_body_) return to_.input(without_sign_of(n.text), from_.type_of(k).shape);
    if (n.what == op::input || n.what == op::subtract) {
      needs_signs_ = needs_signs_ || n.what == op::subtract;
      return to_.operation(op::magnitude, {plain_[k]});
    }
    if (n.what == op::scan) return magnitude_of_turns(n);
    if (n.what == op::skew_exponential_pullback) return magnitude_of_exponential(n);
    node made = n;
    for (node_id& taken : made.in)
      taken = from_.type_of(taken).kind == number_kind::real ? without_sign(taken) : plain_[taken];
    if (n.what == op::negative) return made.in[0];
    return to_.append(std::move(made));
  }

  // The result for a cotangent with signs; its allowance comes from the terms of the cotangent without signs.
  node_id magnitude_of_exponential(const node& n) {
    needs_signs_ = true;
    node made = n;
    made.in = {plain_[n.in[0]], plain_[n.in[1]], without_sign(n.in[2])};
    return to_.operation(op::magnitude, {to_.append(std::move(made))});
  }

  // The loop of a gradient: its cotangents exist without signs, and also with signs where its body needs them.
  node_id magnitude_of_turns(const node& n) {
    const program& body = *n.body;
    const scan_counts counts(n);
    const auto is_linear = [&](std::size_t k) { return k < counts.carried || is_linear_[n.in[k]]; };
    const auto name_of = [&](std::size_t k) -> const std::string& { return body.nodes()[body.inputs()[k]].text; };
    without_signs inner(
        body,
        [&](const std::string& name) {
          for (std::size_t k = 0; k < n.in.size(); ++k)
            if (name_of(k) == name) return is_linear(k);
          return false;
        },
        true);
    const program turns = inner.run();
    const bool has_signs = inner.needs_signs();
    needs_signs_ = needs_signs_ || has_signs;

    node made{.what = op::scan};
    std::vector<node_id> taken;
    std::vector<program::output> given;
    const auto take = [&](const std::string& name, node_id x) {
      taken.push_back(*std::ranges::find_if(turns.inputs(), [&](node_id k) { return turns.nodes()[k].text == name; }));
      made.in.push_back(x);
    };
    const auto take_all = [&](std::size_t from, std::size_t to) {
      for (std::size_t k = from; k < to; ++k)
        if (has_signs || !is_linear(k)) take(name_of(k), plain_[n.in[k]]);
      for (std::size_t k = from; k < to; ++k)
        if (is_linear(k)) take(without_sign_of(name_of(k)), without_sign(n.in[k]));
      return made.in.size();
    };
    const std::size_t carried = take_all(0, counts.carried),
                      stepped = take_all(counts.carried, counts.carried + counts.stepped) - carried;
    take_all(counts.carried + counts.stepped, n.in.size());
    const std::size_t count = body.outputs().size();
    const auto give_all = [&](std::size_t from, std::size_t to) {
      for (const std::size_t first : {std::size_t{0}, count})
        if (has_signs || first != 0)
          given.insert(given.end(), turns.outputs().begin() + static_cast<std::ptrdiff_t>(first + from),
                       turns.outputs().begin() + static_cast<std::ptrdiff_t>(first + to));
    };
    give_all(0, counts.carried);
    give_all(counts.carried, count);
    made.integers = {n.integers[0], {static_cast<std::int64_t>(carried)}, {static_cast<std::int64_t>(stepped)}};
    auto part = part_of(turns, taken, given);
    if (!part) throw unwritable(part.error().message);
    made.body = std::make_shared<const program>(std::move(*part));
    const std::vector<scan_part> parts = parts_of(made);
    const node_id all = to_.append(made);
    if (!has_signs) return all;
    // The parts are flat, as in the loop: the carried arrays, and the results of the turns.
    std::vector<node_id> flat;
    for (std::size_t k = 0; k < count; ++k) {
      scan_part p = parts[k < counts.carried ? counts.carried + k : count + k];
      p.shape = {elements_of(p.shape)};
      flat.push_back(to_.part(all, p));
    }
    return to_.operation(op::concatenate, std::move(flat), {0});
  }

  const program& from_;
  program made_;
  program_writer to_;
  const std::function<bool(const std::string&)> names_cotangent_;
  const bool is_in_body_;
  bool needs_signs_ = false;
  std::vector<bool> is_linear_{};
  std::vector<node_id> plain_{}, now_{};
};

}  // namespace

core::result<program> magnitudes_of_terms(const program& gradient, const program& forward) {
  const auto is_cotangent = [&](const std::string& name) {
    return std::ranges::none_of(forward.inputs(), [&](node_id k) { return forward.nodes()[k].text == name; });
  };
  try {
    return without_dead_nodes(without_signs(gradient, is_cotangent, false).run());
  } catch (const unwritable& error) {
    return core::failure(std::string("the terms of its gradient: ") + error.what());
  }
}

}  // namespace assay::reference::formula
