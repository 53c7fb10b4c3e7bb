#include "reference/formula/edits.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace assay::reference::formula {
namespace {

using replacement = std::function<node_id(program_writer& to, const node& step)>;

// The edits of one step: mistakes that people make, such as operands that are left out or mixed up.
class step_edits {
 public:
  step_edits(const program& p, node_id step, const std::function<std::string(node_id)>& named)
      : program_(p), step_(step), node_(p.nodes()[step]), named_(named) {}

  std::vector<program_edit> all() {
    switch (node_.what) {
      case op::subtract:
        exchanged("the other way round");
        becomes(op::add, "minus_as_plus", "with a plus");
        without_operand(1, "without", "what is subtracted");
        break;
      case op::add:
        becomes(op::subtract, "plus_as_minus", "with a minus");
        without_operand(0, "without", "its first term");
        without_operand(1, "without", "its second term");
        break;
      case op::multiply:
        without_operand(0, "without the factor", "that comes first");
        without_operand(1, "without the factor", "that comes second");
        break;
      case op::divide:
        without_operand(1, "without the divisor", "");
        becomes(op::multiply, "division_as_product", "with a product in place of the division");
        break;
      case op::negative:
        without_operand(0, "without its minus", "", false);
        break;
      case op::magnitude:
        without_operand(0, "without the absolute value", "", false);
        break;
      case op::maximum:
      case op::minimum:
        becomes(node_.what == op::maximum ? op::minimum : op::maximum, "other_extreme",
                node_.what == op::maximum ? "with the smaller one" : "with the larger one");
        without_operand(0, "without", "its first operand");
        without_operand(1, "without", "its second operand");
        break;
      case op::exp:
        scaled_argument(0x1.62e42fefa39efp-1, "base_two", "as a power of 2");
        break;
      case op::log:
        scaled_result(0x1.71547652b82fep+0, "logarithm_to_two", "to the base 2");
        break;
      case op::sin:
      case op::cos:
        becomes(node_.what == op::sin ? op::cos : op::sin, "sine_and_cosine",
                node_.what == op::sin ? "as a cosine" : "as a sine");
        break;
      case op::tanh:
      case op::softplus:
      case op::floor:
        without_operand(0, "left out", "", false);
        break;
      case op::less:
      case op::less_equal:
        becomes(node_.what == op::less ? op::less_equal : op::less, "bound_one_off",
                node_.what == op::less ? "with equality as well" : "without equality");
        exchanged("the other way round");
        break;
      case op::both:
      case op::either_one:
        without_operand(0, "without the condition", "that comes first");
        without_operand(1, "without the condition", "that comes second");
        break;
      case op::where:
        if (kind_of(1) == kind()) {
          without_operand(1, "as if its condition held everywhere", "", false);
          without_operand(2, "as if its condition held nowhere", "", false);
        }
        break;
      case op::number:
        other_numbers();
        break;
      case op::iota:
        add({"counted_from_one", "counted from 1", [](program_writer& to, const node& n) {
               return to.operation(op::add, {to.append(n), to.append({.what = op::integer, .integers = {{{1}}}})});
             }});
        break;
      case op::gather:
      case op::take_along:
        one_position_off();
        break;
      case op::data:
        if (kind() == number_kind::boolean) mask_one_off();
        break;
      case op::concatenate:
        if (node_.in.size() == 2 && shape_of(0) == shape_of(1)) exchanged("in the other order");
        break;
      case op::sum:
        becomes(op::mean, "mean_for_sum", "as a mean");
        break;
      case op::mean:
        becomes(op::sum, "sum_for_mean", "as a sum");
        break;
      case op::cumulative_sum:
        if (kind() == number_kind::real)
          add({"without_itself", "without the element itself", [](program_writer& to, const node& n) {
                 return to.operation(op::subtract, {to.append(n), n.in[0]});
               }});
        break;
      case op::detach:
        without_operand(0, "with a gradient", "", false);
        break;
      default:
        break;
    }
    no_gradient();
    return std::move(all_);
  }

 private:
  [[nodiscard]] number_kind kind() const { return program_.type_of(step_).kind; }
  [[nodiscard]] number_kind kind_of(std::size_t k) const { return program_.type_of(node_.in[k]).kind; }
  [[nodiscard]] const core::shape& shape_of(std::size_t k) const { return program_.type_of(node_.in[k]).shape; }
  // Whether a gradient goes through the node.
  [[nodiscard]] bool hangs_on_reals() const {
    std::vector<bool> hangs(step_ + 1);
    for (node_id k = 0; k <= step_; ++k) {
      const node& n = program_.nodes()[k];
      hangs[k] = program_.type_of(k).kind == number_kind::real &&
                 (n.what == op::input || std::ranges::any_of(n.in, [&](node_id taken) { return hangs[taken]; }));
    }
    return hangs[step_];
  }
  void add(program_edit e) { all_.push_back(std::move(e)); }

  void becomes(op other, const char* what, const char* words) {
    add({what, words, [other](program_writer& to, node n) {
           n.what = other;
           return to.append(std::move(n));
         }});
  }
  void exchanged(const char* words) {
    add({"exchanged", words, [](program_writer& to, node n) {
           std::swap(n.in[0], n.in[1]);
           return to.append(std::move(n));
         }});
  }
  // The remaining operand takes the place of the step: the other one of two, or the only one. `is_named`: the words
  // name the operand that is left out.
  void without_operand(std::size_t k, const char* words, const char* otherwise, bool is_named = true) {
    const std::size_t left = is_named ? 1 - k : k;
    if (kind_of(left) != kind()) return;
    std::string text = words;
    if (is_named) {
      const std::string name = named_(node_.in[k]);
      if (!name.empty())
        text += fmt::format(" {}", name);
      else if (*otherwise != '\0')
        text += fmt::format(" {}", otherwise);
    }
    add({fmt::format("without_{}", k + 1), std::move(text),
         [left, shape = program_.type_of(step_).shape](program_writer& to, const node& n) {
           return to.broadcast(n.in[left], shape);
         }});
  }
  void scaled_argument(double factor, const char* what, const char* words) {
    add({what, words, [factor](program_writer& to, node n) {
           n.in[0] = to.product(n.in[0], to.number(factor));
           return to.append(std::move(n));
         }});
  }
  void scaled_result(double factor, const char* what, const char* words) {
    add({what, words,
         [factor](program_writer& to, const node& n) { return to.product(to.append(n), to.number(factor)); }});
  }
  void other_numbers() {
    const double own = node_.number;
    if (own == 0.0 || !std::isfinite(own)) return;
    for (const double other : {10 * own, own / 10, 2 * own, own / 2, -own, 0.0})
      add({fmt::format("as_{:.6g}", other), fmt::format("as {:.6g}", other),
           [other](program_writer& to, const node&) { return to.number(other); }});
  }
  void one_position_off() {
    add({"one_early", "one position early", [](program_writer& to, node n) {
           const auto whole = [&](std::int64_t x) { return to.append({.what = op::integer, .integers = {{{x}}}}); };
           n.in[1] = to.operation(op::maximum, {to.operation(op::subtract, {n.in[1], whole(1)}), whole(0)});
           return to.append(std::move(n));
         }});
  }
  // A mask whose last two axes are usually queries and keys: shifted by one key, or transposed.
  void mask_one_off() {
    const core::shape& shape = program_.type_of(step_).shape;
    if (shape.size() < 2 || shape.back() < 2) return;
    const std::size_t width = shape.back();
    for (const bool later : {true, false})
      add({later ? "mask_one_later" : "mask_one_earlier",
           later ? "with its mask one position later" : "with its mask one position earlier",
           [later, width](program_writer& to, node n) {
             for (std::size_t row = 0; row + width <= n.values.size(); row += width) {
               const auto begin = n.values.begin() + static_cast<std::ptrdiff_t>(row),
                          end = begin + static_cast<std::ptrdiff_t>(width);
               later ? std::copy_backward(begin, end - 1, end) : std::copy(begin + 1, end, begin);
             }
             return to.append(std::move(n));
           }});
    if (shape[shape.size() - 2] == width)
      add({"mask_transposed", "with its mask transposed", [width](program_writer& to, node n) {
             const std::vector<double> old = n.values;
             for (std::size_t k = 0; k < old.size(); ++k) {
               const std::size_t matrix = k / (width * width) * width * width, place = k - matrix;
               n.values[k] = old[matrix + place % width * width + place / width];
             }
             return to.append(std::move(n));
           }});
  }
  void no_gradient() {
    const bool moves = row_of(node_.what).kind == family::movement;
    if (kind() != number_kind::real || moves || node_.what == op::detach || !hangs_on_reals()) return;
    add({"no_gradient", "without its gradient",
         [](program_writer& to, const node& n) { return to.operation(op::detach, {to.append(n)}); }, true});
  }

  const program& program_;
  const node_id step_;
  const node& node_;
  const std::function<std::string(node_id)>& named_;
  std::vector<program_edit> all_{};
};

}  // namespace

std::vector<program_edit> edits_of(const program& p, node_id step, const std::function<std::string(node_id)>& named) {
  return step_edits(p, step, named).all();
}

namespace {

// `number` is the number of the next node, counted over all bodies.
program edited(const program& p, const std::vector<std::size_t>& steps, const program_edit& edit, std::size_t& number) {
  program made;
  program_writer to(made);
  std::vector<node_id> now;
  now.reserve(p.nodes().size());
  for (node_id k = 0; k < p.nodes().size(); ++k) {
    node n = p.nodes()[k];
    for (node_id& taken : n.in) taken = now[taken];
    if (n.body) n.body = std::make_shared<const program>(edited(*n.body, steps, edit, number));
    to.set_stage(n.stage);
    const bool is_edited = std::ranges::find(steps, number++) != steps.end();
    now.push_back(is_edited ? edit.replace(to, n) : to.append(std::move(n)));
    if (is_edited && made.type_of(now.back()) != p.type_of(k)) throw unwritable("the edit has another type");
  }
  for (const program::output& o : p.outputs())
    if (auto ok = made.name_output(o.name, now[o.node]); !ok) throw unwritable(ok.error().message);
  return made;
}

}  // namespace

core::result<program> with_edit(const program& p, const std::vector<std::size_t>& steps, const program_edit& edit) {
  std::size_t number = 0;
  try {
    return edited(p, steps, edit, number);
  } catch (const unwritable& why) {
    return core::failure(why.what());
  }
}

}  // namespace assay::reference::formula
