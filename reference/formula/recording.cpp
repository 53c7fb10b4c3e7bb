#include "reference/formula/recording.hpp"

#include <fmt/format.h>

#include <cmath>

namespace assay::reference::formula {
namespace {

constinit thread_local recording* in_scope = nullptr;

node_id add(node n) { return recording::current().add(std::move(n)); }
traced_truth truth(op what, std::vector<node_id> in) { return {add({.what = what, .in = std::move(in)})}; }
traced_integer integer(op what, std::vector<node_id> in) { return {add({.what = what, .in = std::move(in)})}; }

std::vector<std::int64_t> as_integers(const core::shape& s) { return {s.begin(), s.end()}; }

}  // namespace

recording::recording(std::vector<std::string> stages) : stages_(std::move(stages)) {
  writer_.emplace(program_);
  ASSAY_EXPECTS(in_scope == nullptr);
  in_scope = this;
}
recording::recording(body_of_loop) : stages_(current().stages_), stage_(current().stage_), around_(in_scope) {
  writer_.emplace(program_);
  in_scope = this;
}
recording::~recording() { in_scope = around_; }
recording& recording::current() {
  ASSAY_EXPECTS(in_scope != nullptr);
  return *in_scope;
}

// An exact node has no stage, so that it is one node for all stages.
node_id recording::add(node n) {
  const bool is_rounded = n.what == op::fraction || n.what == op::pi || n.what == op::setting;
  const bool is_exact = row_of(n.what).kind == family::leaf && !is_rounded;
  return write([&](program_writer& to) {
    if (is_exact) to.set_stage({});
    return to.append(std::move(n));
  });
}

node_id recording::add_input(const std::string& name, const core::shape& s, number_kind kind) {
  node n{.what = op::input, .text = name};
  n.integers[1] = {static_cast<std::int64_t>(kind)};
  n.integers[2] = as_integers(s);
  return add(std::move(n));
}
traced recording::input(const std::string& name, const core::shape& s) {
  return traced::from_node(add_input(name, s, number_kind::real));
}
traced_integer recording::integers(const std::string& name, const core::shape& s) {
  return {add_input(name, s, number_kind::integer)};
}

void recording::output_node(const std::string& name, node_id x) {
  if (const auto ok = program_.name_output(name, x); !ok) throw core::contract_violation(ok.error().message);
}
program recording::finish() {
  ASSAY_EXPECTS(!program_.outputs().empty());
  program made = std::exchange(program_, {});
  writer_.emplace(program_);
  return made;
}

traced::stage_scope::stage_scope(std::size_t stage) {
  recording& now = recording::current();
  ASSAY_EXPECTS(stage < now.stages_.size());
  before_ = std::exchange(now.stage_, now.stages_[stage]);
}
traced::stage_scope::~stage_scope() { recording::current().stage_ = std::move(before_); }

traced::traced(double x) : node_(add({.what = op::number, .number = x})) {}
traced traced::from_integer(double x) {
  ASSAY_EXPECTS(std::fabs(x) <= 0x1p53);
  const auto whole = static_cast<std::int64_t>(x);
  ASSAY_EXPECTS(static_cast<double>(whole) == x);
  return to_real(traced_integer::constant(whole));
}
traced_integer traced_integer::constant(std::int64_t x) {
  formula::node n{.what = op::integer};
  n.integers[0] = {x};
  return {add(std::move(n))};
}

traced recorded(op what, const traced& x) { return traced::from_node(add({.what = what, .in = {x.node()}})); }
traced recorded(op what, const traced& x, const traced& y) {
  return traced::from_node(add({.what = what, .in = {x.node(), y.node()}}));
}
traced power(const traced& x, rational e) {
  node n{.what = op::power, .in = {x.node()}};
  n.integers[0] = {e.p};
  n.integers[1] = {e.q};
  return traced::from_node(add(std::move(n)));
}
traced reciprocal_root(const traced& x, std::size_t count) {
  node n{.what = op::reciprocal_root, .in = {x.node()}};
  n.integers[0] = {static_cast<std::int64_t>(count)};
  return traced::from_node(add(std::move(n)));
}
traced setting(double x) { return traced::from_node(add({.what = op::setting, .number = x})); }
traced geometric_frequencies(const traced& base, std::size_t first, std::size_t count, std::size_t steps) {
  node n{.what = op::geometric_frequencies, .in = {base.node()}};
  for (const auto& [k, x] : {std::pair(0, first), std::pair(1, count), std::pair(2, steps)})
    n.integers[static_cast<std::size_t>(k)] = {static_cast<std::int64_t>(x)};
  return traced::from_node(add(std::move(n)));
}
traced taken_from(std::size_t stage, const traced& x) {
  return traced::from_node(
      add({.what = op::taken_by, .in = {x.node()}, .text = recording::current().name_of_stage(stage)}));
}
traced clamp(const traced& x, double low, double high) {
  return recorded(op::minimum, recorded(op::maximum, x, traced(low)), traced(high));
}

traced_truth less(const traced& x, const traced& y) { return truth(op::less, {x.node(), y.node()}); }
traced_truth less(const traced_integer& x, const traced_integer& y) { return truth(op::less, {x.node, y.node}); }
traced_truth equal(const traced& x, const traced& y) { return truth(op::equal, {x.node(), y.node()}); }
traced_truth equal(const traced_integer& x, const traced_integer& y) { return truth(op::equal, {x.node, y.node}); }
traced_truth is_nan(const traced& x) { return truth(op::is_nan, {x.node()}); }
traced_truth operator!(const traced_truth& x) { return truth(op::negation, {x.node}); }
traced_truth operator&&(const traced_truth& x, const traced_truth& y) { return truth(op::both, {x.node, y.node}); }
traced_truth operator||(const traced_truth& x, const traced_truth& y) {
  return truth(op::either_one, {x.node, y.node});
}
traced either(const traced_truth& condition, const traced& x, const traced& y) {
  return traced::from_node(add({.what = op::where, .in = {condition.node, x.node(), y.node()}}));
}

traced_integer either(const traced_truth& condition, const traced_integer& x, const traced_integer& y) {
  return integer(op::where, {condition.node, x.node, y.node});
}

traced_integer operator+(const traced_integer& x, const traced_integer& y) {
  return integer(op::add, {x.node, y.node});
}
traced_integer operator-(const traced_integer& x, const traced_integer& y) {
  return integer(op::subtract, {x.node, y.node});
}
traced_integer operator*(const traced_integer& x, const traced_integer& y) {
  return integer(op::multiply, {x.node, y.node});
}
traced_integer floor_divide(const traced_integer& x, const traced_integer& y) {
  return integer(op::floor_divide, {x.node, y.node});
}
traced_integer clamp(const traced_integer& x, std::int64_t low, std::int64_t high) {
  const traced_integer above = integer(op::maximum, {x.node, traced_integer::constant(low).node});
  return integer(op::minimum, {above.node, traced_integer::constant(high).node});
}
traced_integer counted(std::size_t size) {
  node n{.what = op::iota};
  n.integers[0] = {static_cast<std::int64_t>(size)};
  return {add(std::move(n))};
}
namespace {

template <class T>
node_id known(number_kind kind, const core::shape& s, const std::vector<T>& values) {
  node n{.what = op::data, .values = {values.begin(), values.end()}};
  n.integers[0] = {static_cast<std::int64_t>(kind)};
  n.integers[1] = as_integers(s);
  return add(std::move(n));
}

}  // namespace

traced_integer known_integers(const core::shape& s, const std::vector<std::int64_t>& values) {
  return {known(number_kind::integer, s, values)};
}
traced_truth known_truths(const core::shape& s, const std::vector<bool>& values) {
  return {known(number_kind::boolean, s, values)};
}
traced_integer magnitude_of(const traced_integer& x) { return integer(op::magnitude, {x.node}); }
traced held_in(core::dtype held, const traced& x) {
  node n{.what = op::held_in, .in = {x.node()}};
  n.integers[0] = {static_cast<std::int64_t>(held)};
  return traced::from_node(add(std::move(n)));
}
traced index_number(const traced_integer& x) {
  return traced::from_node(add({.what = op::index_number, .in = {x.node}}));
}
traced to_real(const traced_integer& x) { return traced::from_node(add({.what = op::to_real, .in = {x.node}})); }

namespace {

node_id reshaped_node(node_id x, const core::shape& s) {
  return recording::current().write([&](program_writer& to) { return to.reshape(x, s); });
}
node_id broadcast_node(node_id x, const core::shape& s) {
  return recording::current().write([&](program_writer& to) { return to.broadcast(x, s); });
}

}  // namespace

core::shape shape_of(const traced_integer& x) { return recording::current().shape_of(x.node); }
core::shape shape_of(const traced& x) { return recording::current().shape_of(x.node()); }
traced reshaped(const traced& x, const core::shape& s) { return traced::from_node(reshaped_node(x.node(), s)); }
traced_integer reshaped(const traced_integer& x, const core::shape& s) { return {reshaped_node(x.node, s)}; }
traced broadcast(const traced& x, const core::shape& s) { return traced::from_node(broadcast_node(x.node(), s)); }
traced_integer broadcast(const traced_integer& x, const core::shape& s) { return {broadcast_node(x.node, s)}; }
traced summed(const traced& x, std::vector<std::int64_t> axes) {
  node n{.what = op::sum, .in = {x.node()}};
  n.integers[0] = std::move(axes);
  return traced::from_node(add(std::move(n)));
}
traced softmax_along(const traced& x, std::int64_t axis) {
  node n{.what = op::softmax, .in = {x.node()}};
  n.integers[0] = {axis};
  return traced::from_node(add(std::move(n)));
}
traced contracted(const traced& x, const traced& y, const std::string& letters) {
  return traced::from_node(add({.what = op::contract, .in = {x.node(), y.node()}, .text = letters}));
}

traced contracted_where(const traced_truth& mask, const traced& x, const traced& y, const std::string& letters) {
  return traced::from_node(add({.what = op::contract_where, .in = {x.node(), y.node(), mask.node}, .text = letters}));
}
traced contracted_at(const traced_truth& mask, const traced& x, const traced& y, const std::string& letters) {
  return traced::from_node(add({.what = op::contract_at, .in = {x.node(), y.node(), mask.node}, .text = letters}));
}
traced_truth any_along(const traced_truth& x, std::int64_t axis) {
  node n{.what = op::any, .in = {x.node}};
  n.integers[0] = {axis};
  return {add(std::move(n))};
}
traced_truth broadcast(const traced_truth& x, const core::shape& s) { return {broadcast_node(x.node, s)}; }
traced_truth reshaped(const traced_truth& x, const core::shape& s) { return {reshaped_node(x.node, s)}; }
core::shape shape_of(const traced_truth& x) { return recording::current().shape_of(x.node); }

traced transposed(const traced& x, std::vector<std::int64_t> axes) {
  node n{.what = op::transpose, .in = {x.node()}};
  n.integers[0] = std::move(axes);
  return traced::from_node(add(std::move(n)));
}
namespace {

std::vector<traced> inputs_of_turn(recording& body, const char* called, const std::vector<core::shape>& shapes) {
  std::vector<traced> all;
  for (std::size_t k = 0; k < shapes.size(); ++k) all.push_back(body.input(fmt::format("{}{}", called, k), shapes[k]));
  return all;
}
std::vector<core::shape> shapes_of(const std::vector<traced>& all, std::size_t without_first) {
  std::vector<core::shape> shapes;
  for (const traced& x : all) {
    const core::shape s = shape_of(x);
    shapes.emplace_back(s.begin() + static_cast<std::ptrdiff_t>(without_first), s.end());
  }
  return shapes;
}

node_id slice_of(node_id x, std::size_t axis, std::size_t first, std::size_t last) {
  const core::shape& s = recording::current().shape_of(x);
  program_writer::list start(s.size(), 0), stop(s.begin(), s.end());
  start[axis] = static_cast<std::int64_t>(first);
  stop[axis] = static_cast<std::int64_t>(last);
  return recording::current().write(
      [&](program_writer& to) { return to.slice(x, start, stop, program_writer::list(start.size(), 1)); });
}

}  // namespace

loop_turn looped(std::size_t turns, const std::vector<traced>& carried, const std::vector<traced>& stepped,
                 const recording::turn& turn) {
  const std::vector<core::shape> carried_shapes = shapes_of(carried, 0), stepped_shapes = shapes_of(stepped, 1);
  node loop{.what = op::scan};
  for (const std::vector<traced>* taken : {&carried, &stepped})
    for (const traced& x : *taken) loop.in.push_back(x.node());
  for (std::size_t k = 0; const std::size_t count : {turns, carried.size(), stepped.size()})
    loop.integers[k++] = {static_cast<std::int64_t>(count)};
  {
    recording body{recording::body_of_loop{}};
    const auto before = inputs_of_turn(body, "carried", carried_shapes),
               now = inputs_of_turn(body, "now", stepped_shapes);
    const loop_turn made = turn(before, now);
    ASSAY_EXPECTS(made.left.size() == carried.size());
    for (std::size_t k = 0; k < made.left.size(); ++k) body.output(fmt::format("left{}", k), made.left[k]);
    for (std::size_t k = 0; k < made.given.size(); ++k) body.output(fmt::format("given{}", k), made.given[k]);
    loop.body = std::make_shared<const program>(body.finish());
  }
  const std::vector<scan_part> parts = parts_of(loop);
  loop_turn all;
  if (turns == 0) {
    all.left = carried;
    for (std::size_t k = carried.size(); k < parts.size(); ++k)
      all.given.push_back(broadcast(traced(0.0), parts[k].shape));
    return all;
  }
  const node_id flat = add(std::move(loop));
  for (std::size_t k = 0; k < parts.size(); ++k)
    (k < carried.size() ? all.left : all.given)
        .push_back(
            traced::from_node(recording::current().write([&](program_writer& to) { return to.part(flat, parts[k]); })));
  return all;
}

traced between(const traced& x, std::size_t axis, std::size_t first, std::size_t last) {
  return traced::from_node(slice_of(x.node(), axis, first, last));
}
traced_integer between(const traced_integer& x, std::size_t axis, std::size_t first, std::size_t last) {
  return {slice_of(x.node, axis, first, last)};
}
traced_truth between(const traced_truth& x, std::size_t axis, std::size_t first, std::size_t last) {
  return {slice_of(x.node, axis, first, last)};
}
namespace {

node_id along_axis(op what, std::vector<node_id> in, std::size_t axis) {
  node n{.what = what, .in = std::move(in)};
  n.integers[0] = {static_cast<std::int64_t>(axis)};
  return add(std::move(n));
}

}  // namespace

traced joined(const std::vector<traced>& parts, std::size_t axis) {
  std::vector<node_id> in;
  for (const traced& x : parts) in.push_back(x.node());
  return traced::from_node(along_axis(op::concatenate, std::move(in), axis));
}
traced_truth joined(const std::vector<traced_truth>& parts, std::size_t axis) {
  std::vector<node_id> in;
  for (const traced_truth& x : parts) in.push_back(x.node);
  return {along_axis(op::concatenate, std::move(in), axis)};
}
traced gathered(const traced& x, const traced_integer& places, std::size_t axis) {
  return traced::from_node(along_axis(op::gather, {x.node(), places.node}, axis));
}
traced_integer gathered(const traced_integer& x, const traced_integer& places, std::size_t axis) {
  return {along_axis(op::gather, {x.node, places.node}, axis)};
}
traced taken_along(const traced& x, const traced_integer& places, std::size_t axis) {
  return traced::from_node(along_axis(op::take_along, {x.node(), places.node}, axis));
}
traced summed_by_place(const traced& x, const traced_integer& places, std::size_t count, std::size_t axis) {
  core::shape shape = shape_of(x);
  shape[axis] = count;
  const traced none = broadcast(traced(0.0), shape);
  return traced::from_node(along_axis(op::scatter_add_along, {none.node(), places.node, x.node()}, axis));
}
traced cumulative_sum(const traced& x, std::size_t axis) {
  return traced::from_node(along_axis(op::cumulative_sum, {x.node()}, axis));
}

namespace {

traced sums_backwards(op what, const traced& x, std::size_t axis) {
  return traced::from_node(recording::current().write([&](program_writer& to) {
    const node_id sums = to.operation(what, {to.reversed(x.node(), axis)}, {static_cast<std::int64_t>(axis)});
    return to.reversed(sums, axis);
  }));
}

}  // namespace

traced sums_from_each_on(const traced& x, std::size_t axis) { return sums_backwards(op::cumulative_sum, x, axis); }
traced sums_from_each_on_by_total(const traced& x, std::size_t axis) {
  return sums_backwards(op::cumulative_sum_by_rest, x, axis);
}
traced cumulative_sum_twice(const traced& x) {
  return traced::from_node(along_axis(op::cumulative_sum_twice, {x.node()}, shape_of(x).size() - 1));
}
traced_integer cumulative_sum(const traced_integer& x, std::size_t axis) {
  return {along_axis(op::cumulative_sum, {x.node}, axis)};
}

// A binary search; the number of places is filled up to a power of two.
traced_integer last_reached(const traced_integer& x, std::vector<std::int64_t> places, std::int64_t beyond) {
  std::size_t half = 1;
  while (2 * half <= places.size()) half *= 2;
  places.resize(2 * half, beyond);
  const traced_integer known = known_integers({places.size()}, places);
  traced_integer reached = traced_integer::constant(0);
  for (; half > 0; half /= 2) {
    const traced_integer next = reached + traced_integer::constant(static_cast<std::int64_t>(half));
    reached = either(less(x, gathered(known, next, 0)), reached, next);
  }
  return reached;
}

namespace {

// The places where f changes between `first` and `last`, and its value from each place on.
struct steps {
  std::vector<std::int64_t> first{}, value{};
  void add(std::int64_t from, std::int64_t last, const std::function<std::int64_t(std::int64_t)>& f) {
    while (from <= last) {
      const std::int64_t now = f(from);
      first.push_back(from);
      value.push_back(now);
      std::int64_t same = from, stride = 1;
      while (same + stride <= last && f(same + stride) == now) same += stride, stride *= 2;
      std::int64_t other = std::min(same + stride, last + 1);
      while (other - same > 1) {
        const std::int64_t between = same + (other - same) / 2;
        (f(between) == now ? same : other) = between;
      }
      from = other;
    }
  }
};

// If all steps lie within this number of integers, the value of each integer is stored.
constexpr std::int64_t most_stored_values = 4096;

}  // namespace

traced_integer stepwise(const traced_integer& x, std::int64_t low, std::int64_t high,
                        const std::function<std::int64_t(std::int64_t)>& f) {
  steps all;
  all.add(low, std::min<std::int64_t>(high, -1), f);
  all.add(std::max<std::int64_t>(low, 0), high, f);
  const std::int64_t last = all.first.back(), before = all.first.size() > 1 ? all.first[1] - 1 : last;
  if (last - before < most_stored_values) {
    std::vector<std::int64_t> values;
    for (std::size_t k = 0; k < all.first.size(); ++k) {
      const std::int64_t end = k + 1 < all.first.size() ? all.first[k + 1] : last + 1;
      values.insert(values.end(), static_cast<std::size_t>(k == 0 ? 1 : end - all.first[k]), all.value[k]);
    }
    return gathered(known_integers({values.size()}, values), clamp(x, before, last) - traced_integer::constant(before),
                    0);
  }
  return gathered(known_integers({all.value.size()}, all.value), last_reached(x, std::move(all.first), high + 1), 0);
}
traced largest_along(const traced& x, std::int64_t axis) {
  return traced::from_node(along_axis(op::largest, {x.node()}, static_cast<std::size_t>(axis)));
}
traced smallest_along(const traced& x, std::int64_t axis) { return -largest_along(-x, axis); }
traced log_sum_exp_along(const traced& x, std::int64_t axis) {
  return traced::from_node(along_axis(op::log_sum_exp, {x.node()}, static_cast<std::size_t>(axis)));
}

}  // namespace assay::reference::formula

namespace assay::reference {

using formula::traced;

template <>
traced pi<traced>() {
  return traced::from_node(formula::recording::current().add({.what = formula::op::pi}));
}

void accumulator<traced>::add(const traced& x) { terms_.push_back({x, x, false}); }
void accumulator<traced>::add_product(const traced& x, const traced& y) { terms_.push_back({x, y, true}); }

traced accumulator<traced>::total() const {
  if (terms_.empty()) return traced(0.0);
  if (terms_.size() == 1) return terms_[0].is_product ? terms_[0].x * terms_[0].y : terms_[0].x;
  formula::node sum{.what = formula::op::sum_of_products};
  const traced one(1.0);
  for (const term& t : terms_) sum.in.insert(sum.in.end(), {t.x.node(), (t.is_product ? t.y : one).node()});
  return traced::from_node(formula::recording::current().add(std::move(sum)));
}

}  // namespace assay::reference
