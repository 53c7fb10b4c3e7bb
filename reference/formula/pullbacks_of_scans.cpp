// The gradient of a loop is a loop over its turns in reverse order. Its body is the gradient of the loop's body. It
// carries the cotangents of the carried arrays, and steps through the values that these had before each turn.
//
// An array that no cotangent reaches is a structural zero, as it would be if all turns were written out: 0 times
// infinity would be NaN. So one loop goes on as long as cotangents reach the same results of the turns. Turns are
// written out until cotangents reach the same carried arrays before a turn and after it; where nothing uses the carried
// arrays at the end, one turn is written out.
#include <fmt/format.h>

#include <algorithm>

#include "reference/formula/differentiate.hpp"
#include "reference/formula/passes.hpp"
#include "reference/formula/pullbacks.hpp"

namespace assay::reference::formula {
namespace {

program or_unwritable(core::result<program> made) {
  if (!made) throw unwritable(made.error().message);
  return std::move(*made);
}

using some_node = std::optional<node_id>;

class scan_pullback {
 public:
  explicit scan_pullback(const pullback& b)
      : b_(b),
        to_(b.to),
        body_(*b.n.body),
        counts_(b.n),
        parts_(parts_of(b.n)),
        rows_(b.n.in.size()),
        sums_(b.n.in.size()),
        left_(counts_.turns) {}

  cotangents run() {
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      reached_.push_back(turns_reached(k));
      const bool is_reached = std::ranges::find(reached_.back(), true) != reached_.back().end();
      given_.push_back(is_reached ? some_node(to_.part(b_.g, parts_[k])) : std::nullopt);
    }
    behind_ = given_;
    std::size_t most_written_out = counts_.carried + 1;
    while (left_ > 0) {
      go_on_to_same_reach();
      const turn_gradient turn = gradient_of_turn();
      if (std::ranges::find(turn.reaches, true) == turn.reaches.end()) {
        for (std::size_t k = 0; k < counts_.carried; ++k) behind_[k] = std::nullopt;
        left_ = until_;
      } else if (most_written_out > 0 && !turn.keeps) {
        --most_written_out;
        write_out(turn);
      } else if (!carries_more(turn)) {
        write_loop(turn);
      }
    }
    cotangents handed(b_.n.in.size());
    for (std::size_t k = 0; k < handed.size(); ++k)
      handed[k] = is_carried(k) ? behind_[k] : is_stepped(k) ? along_turns(k) : sums_[k];
    return handed;
  }

 private:
  // The gradient of a body, for those of its outputs that cotangents reach.
  struct turn_gradient {
    program made;
    std::vector<bool> reaches;  // whether it reaches each input of the body
    bool keeps;                 // whether the carried arrays that it reaches are the same before and after the turn
  };

  [[nodiscard]] bool is_carried(std::size_t k) const { return k < counts_.carried; }
  [[nodiscard]] bool is_stepped(std::size_t k) const { return !is_carried(k) && k < counts_.carried + counts_.stepped; }
  [[nodiscard]] const std::string& name_of(std::size_t k) const { return body_.nodes()[body_.inputs()[k]].text; }
  // Whether the cotangent of an input is needed. A carried array of an earlier turn may lead to an input, even where
  // that of the first turn does not.
  [[nodiscard]] bool is_wanted(std::size_t k) const {
    return body_.type_of(body_.inputs()[k]).kind == number_kind::real && (is_carried(k) || b_.leads[b_.in(k)]);
  }

  // The turns of an output of the body that a cotangent reaches; for a carried array, the last turn.
  std::vector<bool> turns_reached(std::size_t k) {
    const std::size_t turns = is_carried(k) ? 1 : counts_.turns, size = elements_of(parts_[k].shape) / turns;
    std::vector<bool> all(turns, false);
    node_id g = b_.g;
    for (; to_.node_of(g).what == op::update; g = to_.node_of(g).in[0]) {
      const std::size_t first = static_cast<std::size_t>(to_.node_of(g).integers[0][0]),
                        end = first + to_.shape_of(to_.node_of(g).in[1])[0];
      for (std::size_t t = 0; t < turns; ++t) {
        const std::size_t from = parts_[k].first + t * size;
        all[t] = all[t] || (first < from + size && from < end);
      }
    }
    return to_.is_zeros(g) ? all : std::vector<bool>(turns, true);
  }
  // Looks at the remaining turns from the last one back: which results does a cotangent reach, and down to which turn
  // does this stay the same? A result that changes too often counts as reached everywhere.
  void go_on_to_same_reach() {
    constexpr int most_changes = 16;
    if (++changes_ > most_changes)
      for (std::size_t k = counts_.carried; k < parts_.size(); ++k)
        if (given_[k]) reached_[k].assign(counts_.turns, true);
    until_ = 0;
    for (std::size_t k = counts_.carried; k < parts_.size(); ++k) {
      const std::vector<bool>& all = reached_[k];
      behind_[k] = all[left_ - 1] ? given_[k] : std::nullopt;
      std::size_t same = left_ - 1;
      while (same > 0 && all[same - 1] == all[left_ - 1]) --same;
      until_ = std::max(until_, same);
    }
  }

  turn_gradient gradient_of_turn() const {
    if (std::ranges::none_of(behind_, [](const some_node& g) { return g.has_value(); }))
      return {{}, std::vector<bool>(b_.n.in.size(), false), true};
    std::vector<program::output> reached;
    for (std::size_t k = 0; k < behind_.size(); ++k)
      if (behind_[k]) reached.push_back(body_.outputs()[k]);
    std::vector<std::string> wanted;
    for (std::size_t k = 0; k < b_.n.in.size(); ++k)
      if (is_wanted(k)) wanted.push_back(name_of(k));
    turn_gradient turn{or_unwritable(differentiate(or_unwritable(part_of(body_, body_.inputs(), reached)), wanted)),
                       std::vector<bool>(b_.n.in.size(), false), true};
    const program_writer made(turn.made);
    for (std::size_t k = 0; k < b_.n.in.size(); ++k) {
      turn.reaches[k] = is_wanted(k) && !made.is_zeros(gradient_of(turn, k).node);
      turn.keeps = turn.keeps && (!is_carried(k) || turn.reaches[k] == behind_[k].has_value());
    }
    return turn;
  }
  [[nodiscard]] const program::output& gradient_of(const turn_gradient& turn, std::size_t k) const {
    return *std::ranges::find(turn.made.outputs(), "grad_" + name_of(k), &program::output::name);
  }

  // Whether a turn reaches a carried array without a cotangent so far. Then the array has a cotangent of zeros from now
  // on.
  bool carries_more(const turn_gradient& turn) {
    bool is_more = false;
    for (std::size_t k = 0; k < counts_.carried; ++k)
      if (turn.reaches[k] && !behind_[k]) behind_[k] = to_.zeros(parts_[k].shape), is_more = true;
    return is_more;
  }

  // The node for an input of the gradient of a turn: for all turns, or for one turn.
  [[nodiscard]] node_id taken_by(const turn_gradient& turn, node_id input, const some_node& states,
                                 std::size_t one) const {
    const std::string& name = turn.made.nodes()[input].text;
    for (std::size_t k = 0; k < b_.n.in.size(); ++k)
      if (name_of(k) == name)
        return is_carried(k) ? row(to_.part(*states, states_[k]), one) : is_stepped(k) ? row(b_.in(k), one) : b_.in(k);
    for (std::size_t k = 0; k < behind_.size(); ++k)
      if ("grad_" + body_.outputs()[k].name == name) return is_carried(k) ? *behind_[k] : row(*behind_[k], one);
    throw unwritable("its body has no input '" + name + "'");
  }
  // The rows of the turns with the same reach, the last one first; or one row.
  [[nodiscard]] node_id row(node_id stack, std::size_t one) const {
    core::shape shape = to_.shape_of(stack);
    program_writer::list start(shape.size(), 0), stop(shape.begin(), shape.end()), step(shape.size(), 1);
    if (one == all_turns) {
      start[0] = static_cast<std::int64_t>(until_), stop[0] = static_cast<std::int64_t>(left_);
      return to_.reversed(to_.slice(stack, start, stop, step), 0);
    }
    start[0] = static_cast<std::int64_t>(one), stop[0] = start[0] + 1;
    return to_.reshape(to_.slice(stack, start, stop, step), {shape.begin() + 1, shape.end()});
  }

  // The same loop again, which also gives the carried arrays before each turn, where the gradient of a turn needs them.
  some_node states_for(const turn_gradient& turn) {
    const std::vector<node_id> last = turn.made.last_uses();
    for (std::size_t k = 0; k < counts_.carried && !with_states_; ++k)
      if (last[turn.made.inputs()[k]] != 0) with_states_ = scan_of_states();
    return with_states_;
  }
  node_id scan_of_states() {
    program body = body_;
    for (std::size_t k = 0; k < counts_.carried; ++k)
      if (!body.name_output(fmt::format("before {}", k), body_.inputs()[k])) throw unwritable("its body");
    node again = b_.n;
    again.body = std::make_shared<const program>(std::move(body));
    const std::vector<scan_part> parts = parts_of(again);
    states_.assign(parts.end() - static_cast<std::ptrdiff_t>(counts_.carried), parts.end());
    return to_.append(std::move(again));
  }

  void write_out(const turn_gradient& turn) {
    const std::vector<node_id> last = turn.made.last_uses();
    const some_node states = states_for(turn);
    std::vector<node_id> now(turn.made.nodes().size(), 0);
    for (node_id k = 0; k < now.size(); ++k) {
      node n = turn.made.nodes()[k];
      if (last[k] == 0) continue;
      for (node_id& taken : n.in) taken = now[taken];
      to_.set_stage(n.stage);
      now[k] = n.what == op::input ? taken_by(turn, k, states, left_ - 1) : to_.append(std::move(n));
    }
    to_.set_stage(b_.n.stage);
    for (std::size_t k = 0; k < b_.n.in.size(); ++k) {
      const some_node g = turn.reaches[k] ? some_node(now[gradient_of(turn, k).node]) : std::nullopt;
      if (is_carried(k))
        behind_[k] = g;
      else if (g && is_stepped(k))
        rows_[k].insert(rows_[k].begin(), {left_ - 1, left_, to_.reshape(*g, with_turns(k, 1))});
      else if (g)
        sums_[k] = sums_[k] ? to_.operation(op::add, {*sums_[k], *g}) : *g;
    }
    --left_;
  }

  // Writes one loop for all turns with the same reach.
  void write_loop(const turn_gradient& turn) {
    const std::vector<node_id> last = turn.made.last_uses();
    const some_node states = states_for(turn);
    node back{.what = op::scan};
    std::vector<node_id> inputs;
    const auto take = [&](auto is_of) {
      const std::size_t before = inputs.size();
      for (const node_id k : turn.made.inputs())
        if (is_of(k)) inputs.push_back(k), back.in.push_back(taken_by(turn, k, states, all_turns));
      return static_cast<std::int64_t>(inputs.size() - before);
    };
    const auto is_cotangent_of = [&](node_id input, bool carried) {
      for (std::size_t k = 0; k < behind_.size(); ++k)
        if ("grad_" + body_.outputs()[k].name == turn.made.nodes()[input].text) return is_carried(k) == carried;
      return false;
    };
    const auto is_whole = [&](node_id input) {
      for (std::size_t k = counts_.carried + counts_.stepped; k < b_.n.in.size(); ++k)
        if (name_of(k) == turn.made.nodes()[input].text) return true;
      return false;
    };
    const std::int64_t carried = take([&](node_id k) { return is_cotangent_of(k, true); });
    const std::int64_t stepped = take([&](node_id k) {
      return is_cotangent_of(k, false) || (last[k] != 0 && !is_cotangent_of(k, true) && !is_whole(k));
    });
    take([&](node_id k) { return last[k] != 0 && is_whole(k); });
    std::vector<program::output> given;
    std::vector<std::size_t> operands;
    for (std::size_t k = 0; k < b_.n.in.size(); ++k)
      if (is_carried(k) ? behind_[k].has_value() : turn.reaches[k])
        given.push_back(gradient_of(turn, k)), operands.push_back(k);
    back.integers = {program_writer::list{static_cast<std::int64_t>(left_ - until_)}, {carried}, {stepped}};
    back.body = std::make_shared<const program>(or_unwritable(part_of(turn.made, inputs, given)));
    const std::vector<scan_part> made = parts_of(back);
    const node_id all = to_.append(std::move(back));
    for (std::size_t j = 0; j < operands.size(); ++j) {
      const std::size_t k = operands[j];
      const node_id g = to_.part(all, made[j]);
      if (is_carried(k))
        behind_[k] = g;
      else if (is_stepped(k))
        rows_[k].insert(rows_[k].begin(), {until_, left_, to_.reversed(g, 0)});
      else
        sums_[k] = sums_[k] ? to_.operation(op::add, {*sums_[k], to_.sum(g, {0})}) : to_.sum(g, {0});
    }
    left_ = until_;
  }

  [[nodiscard]] core::shape with_turns(std::size_t k, std::size_t turns) const {
    core::shape shape = to_.shape_of(b_.in(k));
    shape[0] = turns;
    return shape;
  }
  // The cotangent of an array that the turns step through.
  some_node along_turns(std::size_t k) {
    if (rows_[k].empty()) return std::nullopt;
    std::vector<node_id> all;
    std::size_t first = 0;
    const auto zeros_until = [&](std::size_t end) {
      if (end > first) all.push_back(to_.zeros(with_turns(k, end - first)));
    };
    for (const auto& [from, end, g] : rows_[k]) {
      zeros_until(from);
      all.push_back(g);
      first = end;
    }
    zeros_until(counts_.turns);
    return all.size() == 1 ? all.front() : to_.operation(op::concatenate, std::move(all), {0});
  }

  static constexpr std::size_t all_turns = SIZE_MAX;
  struct rows {
    std::size_t from, end;
    node_id g;
  };
  const pullback& b_;
  program_writer& to_;
  const program& body_;
  const scan_counts counts_;
  const std::vector<scan_part> parts_;
  std::vector<some_node> given_{};  // the cotangents of all turns of the body's outputs
  std::vector<std::vector<bool>> reached_{};
  std::vector<some_node> behind_{};  // cotangents of the body's outputs; of carried arrays, after the remaining turns
  std::vector<std::vector<rows>> rows_;
  std::vector<some_node> sums_;
  std::size_t left_, until_ = 0;
  int changes_ = 0;
  some_node with_states_{};
  std::vector<scan_part> states_{};
};

}  // namespace

cotangents cotangents_of_scan(const pullback& b) { return scan_pullback(b).run(); }

}  // namespace assay::reference::formula
