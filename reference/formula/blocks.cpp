#include "reference/formula/blocks.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "reference/formula/passes.hpp"
#include "reference/formula/program_writer.hpp"
#include "reference/formula/rungs.hpp"

namespace assay::reference::formula {
namespace {

// Whether each node is a constant: it depends on no input.
std::vector<bool> constants_of(const program& p) {
  std::vector<bool> all;
  for (node_id k = 0; k < p.nodes().size(); ++k) {
    const node& n = p.nodes()[k];
    all.push_back(n.what != op::input && std::ranges::all_of(n.in, [&](node_id taken) { return all[taken]; }));
  }
  return all;
}

// The values of some constants, in doubles.
std::map<node_id, std::vector<double>> values_of(const program& p, const std::vector<node_id>& wanted) {
  std::vector<program::output> outputs;
  for (const node_id k : wanted) outputs.push_back({std::to_string(k), k});
  const program made = part_of(p, {}, outputs).value();
  std::map<node_id, std::vector<double>> values;
  const auto f64 = [](const std::string&) { return core::dtype::f64; };
  for (const auto& [name, t] : plain_arithmetic(made, {}, f64, core::precisions(core::dtype::f64), {}))
    values.emplace(static_cast<node_id>(std::stoul(name)), std::vector<double>(t.values.begin(), t.values.end()));
  return values;
}

// The powers t of one ratio r with which the numbers are r^t: at least three different ones, none of them large.
struct geometric {
  double ratio;
  std::vector<double> powers;
};
std::optional<geometric> geometric_of(const std::vector<double>& x) {
  constexpr double most = 4096, slack = 1e-9;
  double least = std::numeric_limits<double>::infinity();
  for (const double v : x) {
    if (!(v > 0.0) || !std::isfinite(v)) return std::nullopt;
    if (const double l = std::fabs(std::log(v)); l > slack) least = std::min(least, l);
  }
  if (!std::isfinite(least)) return std::nullopt;
  geometric g{1.0, {}};
  double sign = 0.0;
  for (const double v : x) {
    const double t = std::log(v) / least, whole = std::round(t);
    if (std::fabs(t - whole) > slack * std::max(1.0, std::fabs(t)) || std::fabs(t) > most) return std::nullopt;
    if (whole != 0.0 && sign * whole < 0.0) return std::nullopt;
    if (whole != 0.0) sign = std::copysign(1.0, whole);
    g.powers.push_back(std::fabs(whole));
  }
  std::vector<double> distinct = g.powers;
  std::ranges::sort(distinct);
  distinct.erase(std::ranges::unique(distinct).begin(), distinct.end());
  if (distinct.size() < 3) return std::nullopt;
  g.ratio = std::exp(sign * least);
  return g;
}

class block_pass {
 public:
  block_pass(const program& p, bool only_softmax)
      : from_(p), to_(made_), only_softmax_(only_softmax), constant_(constants_of(p)) {
    if (only_softmax) return;
    std::vector<node_id> wanted;
    for (node_id k = 0; k < p.nodes().size(); ++k) {
      const op what = p.nodes()[k].what;
      const bool may_be = what == op::pow || what == op::exp || what == op::divide || what == op::power;
      if (may_be && constant_[k] && elements_of(p.type_of(k).shape) > 2) wanted.push_back(k);
    }
    if (!wanted.empty()) constants_at_ = values_of(p, wanted);
  }

  std::optional<program> run() {
    for (node_id k = 0; k < from_.nodes().size(); ++k) {
      node n = from_.nodes()[k];
      to_.set_stage(n.stage);
      const std::optional<node_id> block = only_softmax_ ? shifted_softmax_of(n) : block_of(k);
      for (node_id& taken : n.in) taken = now_[taken];
      if (n.body)
        if (auto body = block_pass(*n.body, only_softmax_).run()) {
          n.body = std::make_shared<const program>(std::move(*body));
          found_ = true;
        }
      now_.push_back(block ? *block : with_other_ways(k, to_.append(std::move(n))));
      found_ = found_ || block.has_value();
    }
    if (!found_) return std::nullopt;
    for (const program::output& o : from_.outputs())
      if (!made_.name_output(o.name, now_[o.node])) return std::nullopt;
    auto lean = without_dead_nodes(std::move(made_));
    return lean ? std::optional(std::move(*lean)) : std::nullopt;
  }

 private:
  [[nodiscard]] const node& node_at(node_id k) const { return from_.nodes()[k]; }
  [[nodiscard]] const core::shape& shape_of(node_id k) const { return from_.type_of(k).shape; }
  // The one operand of a node, if the node has this operator; else nothing.
  [[nodiscard]] std::optional<node_id> under(node_id k, op what) const {
    return node_at(k).what == what ? std::optional(node_at(k).in[0]) : std::nullopt;
  }
  // The node below all nodes that only add axes of one element, repeat, or stop a gradient.
  [[nodiscard]] node_id bare(node_id k) const {
    while (node_at(k).what == op::reshape || node_at(k).what == op::broadcast || node_at(k).what == op::detach)
      k = node_at(k).in[0];
    return k;
  }
  [[nodiscard]] bool is_number(node_id k, double x) const {
    const node& n = node_at(bare(k));
    if (n.what == op::to_real) return is_number(n.in[0], x);
    return (n.what == op::number && n.number == x) || (n.what == op::integer && static_cast<double>(n.integer(0)) == x);
  }
  // Whether `small` has the shape of k, but one element along the axes.
  [[nodiscard]] bool is_beside(node_id small, node_id k, const std::vector<std::int64_t>& axes) const {
    core::shape wanted = shape_of(k);
    for (const std::int64_t axis : axes) wanted[static_cast<std::size_t>(axis)] = 1;
    return shape_of(small) == wanted;
  }
  // x, if the node is x - largest(x) along these axes; else the node itself.
  [[nodiscard]] node_id without_shift(node_id k, const std::vector<std::int64_t>& axes) const {
    if (node_at(k).what != op::subtract) return k;
    const node_id x = node_at(k).in[0], shift = node_at(k).in[1];
    const node& most = node_at(bare(shift));
    const bool is_largest = most.what == op::largest && most.in[0] == x && most.integers[0] == axes;
    return is_largest && shape_of(x) == shape_of(k) && is_beside(shift, x, axes) ? x : k;
  }

  std::optional<node_id> block_of(node_id k) {
    switch (node_at(k).what) {
      case op::sin:
        return to_.operation(op::sine_of_angle, {now_[node_at(k).in[0]]});
      case op::cos:
        return to_.operation(op::cosine_of_angle, {now_[node_at(k).in[0]]});
      case op::tanh: {
        const node_id x = now_[node_at(k).in[0]];
        const node_id twice =
            to_.product(to_.number(2.0), to_.operation(op::sigmoid, {to_.product(to_.number(2.0), x)}));
        return to_.operation(op::another_way,
                             {to_.operation(op::tanh, {x}), to_.operation(op::subtract, {twice, to_.number(1.0)})});
      }
      case op::erf: {
        const node_id own = to_.operation(op::erf, {now_[node_at(k).in[0]]}), five = to_.number(5.0);
        return to_.operation(op::another_way,
                             {own, to_.operation(op::subtract, {to_.operation(op::add, {own, five}), five})});
      }
      case op::divide:
        if (auto made = softmax_of(node_at(k).in[0], node_at(k).in[1])) return made;
        return sigmoid_of(k, node_at(k).in[0], node_at(k).in[1]);
      case op::log:
        if (auto made = softplus_of(k, node_at(k).in[0])) return made;
        return log_sum_exp_of(node_at(k).in[0]);
      case op::log1p:
        if (const auto x = under(node_at(k).in[0], op::exp)) return to_.operation(op::softplus, {now_[*x]});
        return std::nullopt;
      case op::log_add_exp:
        for (const std::size_t zero : {0U, 1U})
          if (const node_id x = node_at(k).in[1 - zero];
              is_number(node_at(k).in[zero], 0.0) && shape_of(x) == shape_of(k))
            return to_.operation(op::softplus, {now_[x]});
        return std::nullopt;
      case op::add:
        return log_sum_exp_with_its_shift(node_at(k));
      default:
        return std::nullopt;
    }
  }

  std::optional<node_id> shifted_softmax_of(const node& n) {
    if (n.what != op::divide) return std::nullopt;
    const node& sum = node_at(bare(n.in[1]));
    const auto x = under(n.in[0], op::exp);
    const bool is_shifted = x && sum.what == op::sum && without_shift(*x, sum.integers[0]) != *x;
    return is_shifted ? softmax_of(n.in[0], n.in[1]) : std::nullopt;
  }
  std::optional<node_id> softmax_of(node_id weights, node_id total) {
    const node& sum = node_at(bare(total));
    const auto x = under(weights, op::exp);
    if (!x || sum.what != op::sum || sum.in[0] != weights || sum.integers[0].size() != 1) return std::nullopt;
    if (!is_beside(total, weights, sum.integers[0])) return std::nullopt;
    // exp(x - log sum exp(x)) counts, too: backward passes of fused attention compute the weights in this way.
    const node_id row = now_[without_shift(*x, sum.integers[0])];
    if (only_softmax_) return to_.operation(op::softmax, {row}, sum.integers[0]);
    const node_id log_sum = to_.operation(op::log_sum_exp, {row}, sum.integers[0]);
    const node_id less =
        to_.operation(op::subtract, {row, to_.beside(log_sum, sum.integers[0], made_.type_of(row).shape)});
    return to_.operation(op::another_way,
                         {to_.operation(op::softmax, {row}, sum.integers[0]), to_.operation(op::exp, {less})});
  }

  std::optional<node_id> sigmoid_of(node_id k, node_id above, node_id below) {
    if (node_at(below).what != op::add) return std::nullopt;
    for (const std::size_t one : {0U, 1U}) {
      const auto power = under(node_at(below).in[1 - one], op::exp);
      if (!power || !is_number(node_at(below).in[one], 1.0) || shape_of(*power) != shape_of(k)) continue;
      if (node_at(above).what == op::exp && node_at(above).in[0] == *power)
        return to_.operation(op::sigmoid, {now_[*power]});
      if (!is_number(above, 1.0)) continue;
      const auto x = under(*power, op::negative);
      return to_.operation(op::sigmoid, {x ? now_[*x] : to_.negative(now_[*power])});
    }
    return std::nullopt;
  }

  std::optional<node_id> softplus_of(node_id k, node_id x) {
    if (node_at(x).what != op::add) return std::nullopt;
    for (const std::size_t one : {0U, 1U})
      if (const auto power = under(node_at(x).in[1 - one], op::exp);
          power && is_number(node_at(x).in[one], 1.0) && shape_of(*power) == shape_of(k))
        return to_.operation(op::softplus, {now_[*power]});
    return std::nullopt;
  }

  std::optional<node_id> log_sum_exp_of(node_id total) {
    const node& sum = node_at(bare(total));
    if (sum.what != op::sum) return std::nullopt;
    const auto x = under(sum.in[0], op::exp);
    if (!x || elements_of(shape_of(bare(total))) != elements_of(shape_of(total))) return std::nullopt;
    return to_.reshape(to_.operation(op::log_sum_exp, {now_[*x]}, sum.integers[0]), shape_of(total));
  }

  // log sum exp(x - m) + m
  std::optional<node_id> log_sum_exp_with_its_shift(const node& n) {
    for (const std::size_t side : {0U, 1U}) {
      const node_id logarithm = bare(n.in[side]), shift = n.in[1 - side];
      if (node_at(logarithm).what != op::log) continue;
      const node& sum = node_at(bare(node_at(logarithm).in[0]));
      const auto less = sum.what == op::sum ? under(sum.in[0], op::exp) : std::nullopt;
      if (!less || shape_of(n.in[side]) != shape_of(shift)) continue;
      const node_id x = without_shift(*less, sum.integers[0]);
      if (x == *less || bare(shift) != bare(node_at(*less).in[1])) continue;
      if (elements_of(shape_of(bare(node_at(logarithm).in[0]))) != elements_of(shape_of(shift))) continue;
      return to_.reshape(to_.operation(op::log_sum_exp, {now_[x]}, sum.integers[0]), shape_of(shift));
    }
    return std::nullopt;
  }

  // Adds the other ways to compute a step; the step itself stays.
  node_id with_other_ways(node_id k, node_id made) {
    node_id all = made;
    if (only_softmax_) return all;
    if (node_at(k).what == op::divide) {
      const node_id x = now_[node_at(k).in[0]], y = now_[node_at(k).in[1]];
      all = to_.operation(op::another_way, {all, to_.product(x, to_.operation(op::divide, {to_.number(1.0), y}))});
      found_ = true;
    }
    if (const auto values = constants_at_.find(k); values != constants_at_.end())
      if (const auto g = geometric_of(values->second)) {
        all = to_.operation(op::another_way, {all, as_products(*g, shape_of(k))});
        found_ = true;
      }
    return all;
  }
  node_id as_products(const geometric& g, const core::shape& shape) {
    using list = program_writer::list;
    const auto most = static_cast<std::int64_t>(*std::ranges::max_element(g.powers));
    node frequencies{.what = op::geometric_frequencies, .in = {to_.number(1.0 / g.ratio)}};
    frequencies.integers = {list{0}, list{most + 1}, list{1}};
    node indices{.what = op::data, .values = g.powers};
    indices.integers[0] = {static_cast<std::int64_t>(number_kind::integer)};
    indices.integers[1] = {static_cast<std::int64_t>(g.powers.size())};
    const node_id in_turn = to_.append(std::move(frequencies));
    return to_.reshape(to_.operation(op::gather, {in_turn, to_.append(std::move(indices))}, list{0}), shape);
  }

  const program& from_;
  program made_;
  program_writer to_;
  const bool only_softmax_;
  std::vector<bool> constant_;
  std::map<node_id, std::vector<double>> constants_at_;
  std::vector<node_id> now_;
  bool found_ = false;
};

}  // namespace

std::optional<program> with_blocks(const program& p) {
  try {
    return block_pass(p, false).run();
  } catch (const unwritable&) {  // beyond the limits of programs
    return std::nullopt;
  }
}
std::optional<program> with_softmax(const program& p) { return block_pass(p, true).run(); }

}  // namespace assay::reference::formula
