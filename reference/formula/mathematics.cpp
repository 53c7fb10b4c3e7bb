#include "reference/formula/mathematics.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "reference/formula/scan.hpp"
#include "reference/formula/shown_operators.hpp"

namespace assay::reference::formula {
namespace {

constexpr std::size_t longest_expression = 60;

class printer {
 public:
  explicit printer(const program& p, char letter = 't')
      : letter_(letter),
        program_(p),
        last_(p.last_uses()),
        uses_(p.nodes().size()),
        shown_(uses_.size()),
        has_line_(uses_.size()) {
    for (std::size_t k = 0; k < uses_.size(); ++k)
      if (last_[k] != 0)
        for (const node_id taken : p.nodes()[k].in) ++uses_[taken];
    for (const program::output& o : p.outputs()) ++uses_[o.node];
    for (const node_id k : p.inputs()) names_.insert(p.nodes()[k].text);
  }

  std::string run() {
    std::string text;
    lines all(text, "inputs");
    for (const node_id k : program_.inputs()) {
      const array_type& type = program_.type_of(k);
      all.add([&] {
        return fmt::format("{}: {} {}", shown_leaf(program_.nodes()[k]).text, name_of(type.kind),
                           core::to_string(type.shape));
      });
    }
    all.end();
    lines results(text, "named results");
    for (node_id k = 0; k < uses_.size(); ++k)
      if (last_[k] != 0) show(k, results);
    results.end();
    lines outputs(text, "outputs");
    for (const program::output& o : program_.outputs())
      outputs.add(
          [&] { return fmt::format("output {} = {}", left_side(shown_name(o.name), o.node), shown_[o.node].text); });
    outputs.end();
    return text;
  }

 private:
  // Lines up to a limit, and a count of those that are left out.
  class lines {
   public:
    lines(std::string& text, std::string_view what) : text_(text), what_(what) {}
    template <class Line>
    void add(Line line) {
      if (++count_ <= most_shown_lines) text_ += line() + "\n";
    }
    void end() {
      if (count_ > most_shown_lines) text_ += fmt::format("... {} more {}\n", count_ - most_shown_lines, what_);
    }

   private:
    std::string& text_;
    std::string_view what_;
    std::size_t count_ = 0;
  };

  void show(node_id k, lines& results) {
    const node& n = program_.nodes()[k];
    const bool is_leaf = row_of(n.what).kind == family::leaf;
    if (n.body) return show_loop(k, results);
    std::vector<expression> in;
    for (std::size_t a = 0; a < n.in.size(); ++a)  // of inputs beyond these a call shows only the number
      in.push_back(a < most_shown_inputs ? shown_[n.in[a]] : expression{});
    expression made = is_leaf ? shown_leaf(n) : shown_operator(n, in);
    if (!n.stage.empty()) made = {made.text + " [in " + shown_name(n.stage) + "]", binding::in_stage};
    const bool is_output_alone = last_[k] == uses_.size() && uses_[k] == 1;
    const bool is_named = uses_[k] > 1 || n.what == op::contract || made.text.size() > longest_expression;
    if (is_leaf || is_output_alone || !is_named) {
      shown_[k] = std::move(made);
      return;
    }
    const std::string name = next_name();
    results.add([&] { return fmt::format("{} = {}", left_side(name, k), made.text); });
    has_line_[k] = true;
    shown_[k] = {name};
  }

  // "t4 = 128 turns with s from t1, x in each of t2, w = t3:", and its body.
  void show_loop(node_id k, lines& results) {
    const node& n = program_.nodes()[k];
    const scan_counts counts(n);
    const std::string name = next_name();
    results.add([&] {
      std::vector<std::string> taken;
      for (std::size_t a = 0; a < n.in.size() && a < most_shown_inputs; ++a) {
        const bool is_carried = a < counts.carried, is_stepped = !is_carried && a < counts.carried + counts.stepped;
        taken.push_back(fmt::format("{} {} {}", shown_name(n.body->nodes()[n.body->inputs()[a]].text),
                                    is_carried   ? "from"
                                    : is_stepped ? "in each of"
                                                 : "=",
                                    shown_[n.in[a]].text));
      }
      std::string text = fmt::format("{} = {} turns with {}{}:", name, counts.turns, fmt::join(taken, ", "),
                                     n.in.size() > most_shown_inputs ? ", ..." : "");
      const std::string body = printer(*n.body, static_cast<char>(letter_ + 1)).run();
      for (std::size_t begin_of_line = 0; begin_of_line < body.size();
           begin_of_line = body.find('\n', begin_of_line) + 1)
        text += "\n  " + body.substr(begin_of_line, body.find('\n', begin_of_line) - begin_of_line);
      return text;
    });
    has_line_[k] = true;
    shown_[k] = {name};
  }

  // A contraction says which axis each letter is, unless the contraction has a name already.
  std::string left_side(const std::string& name, node_id k) const {
    const node& n = program_.nodes()[k];
    return n.what == op::contract && !has_line_[k] ? indexed({name}, contraction_of(n.text)->result) : name;
  }

  std::string next_name() {
    std::string name;
    do name = fmt::format("{}{}", letter_, ++named_);
    while (names_.count(name) != 0);
    return name;
  }

  const char letter_;  // the letter of names: each body has its own
  const program& program_;
  std::vector<node_id> last_;
  std::vector<std::size_t> uses_;
  std::vector<expression> shown_;
  std::set<std::string> names_;
  std::vector<bool> has_line_;
  std::size_t named_ = 0;
};

}  // namespace

std::string as_mathematics(const program& p) { return printer(p).run(); }

}  // namespace assay::reference::formula
