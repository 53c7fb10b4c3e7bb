// The reading that records: a template over the reading R, called with `traced` numbers, leaves a program behind.
//
//   template <class R>
//   R bias(const R& slope, const R& distance) { return -(slope * log1p(distance)); }
//
//   recording recorder;
//   recorder.output("bias", bias(recorder.input("slope", {8, 1, 1}), recorder.input("distance", {1, 64, 64})));
//   const program p = recorder.finish();
//
// A traced number is an array, and its arithmetic is elementwise, with broadcasting: a template that is written for one
// element is recorded for all. Equal nodes are one node. A template may ask a number which way to go (to_double,
// is_minus_infinity, a comparison as a bool). That is no program: it does not compile, or it throws a contract
// violation. Write either(less(x, y), a, b) instead.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reference/formula/program_writer.hpp"
#include "reference/primitives/constants.hpp"
#include "reference/readings/reading.hpp"
#include "reference/readings/stages.hpp"

namespace assay::reference::formula {

/// Nodes of the recording in scope; each type has one kind of number.
struct traced_truth {
  node_id node;
};
struct traced_integer {
  node_id node = 0;
  static traced_integer constant(std::int64_t x);
};
class traced {
 public:
  traced() : traced(0.0) {}
  explicit traced(double x);
  static traced from_integer(double x);
  static traced from_node(node_id n) { return traced(n); }
  [[nodiscard]] node_id node() const { return node_; }

  /// Nodes that are recorded while it is in scope belong to a stage (readings/stages.hpp).
  class stage_scope {
   public:
    explicit stage_scope(std::size_t stage);
    ~stage_scope();
    stage_scope(const stage_scope&) = delete;
    stage_scope& operator=(const stage_scope&) = delete;

   private:
    std::string before_;
  };

 private:
  explicit traced(node_id n) : node_(n) {}
  node_id node_;
};

/// The arrays that a turn of a loop passes to the next turn, and its other results.
struct loop_turn {
  std::vector<traced> left, given;
};

/// The program whose nodes are the traced numbers of this thread, while it is in scope. Recordings nest in loops alone.
///
///     formula::recording of;
///     const auto scores = of.input("scores", {heads, n, n}), slopes = of.input("slopes", {heads, 1, 1});
///     of.output("logits", scores - slopes * formula::to_real(formula::counted(n)));
///     const formula::program p = of.finish();
class recording {
 public:
  /// The names of the stages that a formula numbers.
  explicit recording(std::vector<std::string> stages = {});
  ~recording();
  recording(const recording&) = delete;
  recording& operator=(const recording&) = delete;

  traced input(const std::string& name, const core::shape& s);
  traced_integer integers(const std::string& name, const core::shape& s);
  void output(const std::string& name, const traced& x) { output_node(name, x.node()); }
  void output(const std::string& name, const traced_integer& x) { output_node(name, x.node); }
  /// All that was recorded. Precondition: there is an output.
  program finish();

  /// A node as it stands, for operators without a function of their own. A contract violation where the program refuses
  /// it: the message says why.
  node_id add(node n);
  /// The node that f(program_writer&) writes, in the stage of the scope. A contract violation where the program refuses
  /// it.
  template <class Write>
  node_id write(Write f) {
    try {
      writer_->set_stage(stage_);
      return f(*writer_);
    } catch (const unwritable& error) {
      throw core::contract_violation(error.what());
    }
  }
  [[nodiscard]] const std::string& name_of_stage(std::size_t stage) const { return stages_.at(stage); }
  [[nodiscard]] const core::shape& shape_of(node_id n) const { return program_.type_of(n).shape; }
  static recording& current();

 private:
  friend class traced::stage_scope;
  using turn = std::function<loop_turn(const std::vector<traced>& carried, const std::vector<traced>& stepped)>;
  friend loop_turn looped(std::size_t, const std::vector<traced>&, const std::vector<traced>&, const turn&);
  struct body_of_loop {};
  /// The recording of a body within the recording in scope, in its stage.
  explicit recording(body_of_loop);
  node_id add_input(const std::string& name, const core::shape& s, number_kind kind);
  void output_node(const std::string& name, node_id x);
  program program_;
  std::optional<program_writer> writer_;
  std::vector<std::string> stages_;
  std::string stage_;
  recording* around_ = nullptr;
};

traced recorded(op what, const traced& x);
traced recorded(op what, const traced& x, const traced& y);

inline traced operator+(const traced& x, const traced& y) { return recorded(op::add, x, y); }
inline traced operator-(const traced& x, const traced& y) { return recorded(op::subtract, x, y); }
inline traced operator*(const traced& x, const traced& y) { return recorded(op::multiply, x, y); }
inline traced operator/(const traced& x, const traced& y) { return recorded(op::divide, x, y); }
inline traced operator-(const traced& x) { return recorded(op::negative, x); }
inline traced exp(const traced& x) { return recorded(op::exp, x); }
inline traced log(const traced& x) { return recorded(op::log, x); }
inline traced log1p(const traced& x) { return recorded(op::log1p, x); }
inline traced sin(const traced& x) { return recorded(op::sin, x); }
inline traced cos(const traced& x) { return recorded(op::cos, x); }
/// Sine and cosine as rotations compute them (algorithms/frequencies.hpp).
inline traced sine_of(const traced& x) { return recorded(op::sine_of_angle, x); }
inline traced cosine_of(const traced& x) { return recorded(op::cosine_of_angle, x); }
inline traced tanh(const traced& x) { return recorded(op::tanh, x); }
inline traced erf(const traced& x) { return recorded(op::erf, x); }
inline traced entire_cosine_integral(const traced& x) { return recorded(op::entire_cosine_integral, x); }
inline traced sigmoid(const traced& x) { return recorded(op::sigmoid, x); }
inline traced softplus(const traced& x) { return recorded(op::softplus, x); }
inline traced log_sigmoid(const traced& x) { return recorded(op::log_sigmoid, x); }
inline traced floor(const traced& x) { return recorded(op::floor, x); }
inline traced magnitude_of(const traced& x) { return recorded(op::magnitude, x); }
inline traced larger(const traced& x, const traced& y) { return recorded(op::maximum, x, y); }
inline traced pow(const traced& x, const traced& y) { return recorded(op::pow, x, y); }
inline traced log_sum_exp(const traced& x, const traced& y) { return recorded(op::log_add_exp, x, y); }
/// x without a derivative.
///
///     const traced shifted = x - detach(reshaped(largest_along(x, 1), {rows, 1}));
inline traced detach(const traced& x) { return recorded(op::detach, x); }
///     const traced root = power(x, ratio(1, 3));
traced power(const traced& x, rational e);
/// 1 / sqrt(x), where x is the mean of `count` squares (algorithms/root_mean_square.hpp).
///
///     const traced squares = reshaped(summed(x * x, {1}), {rows, 1});
///     const traced normalized = x * reciprocal_root(squares / traced::from_integer(64), 64);  // of x [rows, 64]
traced reciprocal_root(const traced& x, std::size_t count);
/// |x + iy|, whose slopes at 0 are 0 (algorithms/modulus.hpp).
///
///     const traced magnitude = modulus_of(real_part, imaginary_part);
inline traced modulus_of(const traced& x, const traced& y) { return recorded(op::modulus, x, y); }
/// A number of a definition (algorithms/settings.hpp).
///
///     const traced base = setting(500000.0);
traced setting(double x);
/// base^(-t / steps) for t = first, ..., first + count - 1, along an axis after those of the base.
///
///     const traced theta = geometric_frequencies(setting(10000.0), 0, 32, 32);  // of a head of 64 features
traced geometric_frequencies(const traced& base, std::size_t first, std::size_t count, std::size_t steps);
/// For allowances alone: x may be rounded before it is used.
inline traced rounded_once(const traced& x) { return recorded(op::rounded_once, x); }
/// For allowances alone: x without its error. Use it where the error cancels in the result.
inline traced without_error(const traced& x) { return recorded(op::without_error, x); }
/// For faults alone: x as a tensor of this dtype stores it.
traced held_in(core::dtype held, const traced& x);
/// A loop (scan.hpp). Turn t has the carried arrays as the turn before has left them, and element t of the first axis
/// of the stepped arrays. Returns the carried arrays of the last turn, and the results of all turns along a first axis.
/// A turn uses no other traced numbers. Without turns, the carried arrays stay as they were.
///
///     const auto step = [](const std::vector<traced>& carried, const std::vector<traced>& stepped) {
///       const traced s = log_sum_exp(stepped[0] + carried[0], stepped[1]);
///       return loop_turn{{s}, {s}};
///     };
///     const traced states = looped(n, {s0}, {log_p, h}, step).given[0];  // [n, d], of log_p and h [n, d]
loop_turn looped(
    std::size_t turns, const std::vector<traced>& carried, const std::vector<traced>& stepped,
    const std::function<loop_turn(const std::vector<traced>& carried, const std::vector<traced>& stepped)>& turn);
/// x of one stage, as the products of the stage of the scope take it (readings/stages.hpp).
traced taken_from(std::size_t stage, const traced& x);
///     const traced within = clamp(x, -50.0, 50.0);
traced clamp(const traced& x, double low, double high);

///     const traced_truth is_seen = !less(query, key) && less(query - key, window);
traced_truth less(const traced& x, const traced& y);
traced_truth less(const traced_integer& x, const traced_integer& y);
traced_truth equal(const traced& x, const traced& y);
traced_truth equal(const traced_integer& x, const traced_integer& y);
traced_truth is_nan(const traced& x);
traced_truth operator!(const traced_truth& x);
traced_truth operator&&(const traced_truth& x, const traced_truth& y);
traced_truth operator||(const traced_truth& x, const traced_truth& y);
///     const traced masked = either(is_seen, logits, traced(-std::numeric_limits<double>::infinity()));
traced either(const traced_truth& condition, const traced& x, const traced& y);
traced_integer either(const traced_truth& condition, const traced_integer& x, const traced_integer& y);
/// x, where y is right as well: for allowances alone.
inline traced right_as_well(const traced& x, const traced& y) { return recorded(op::right_as_well, x, y); }
/// x with an additional error of |y| u in the stage of the scope: for allowances alone.
inline traced off_by(const traced& x, const traced& y) { return recorded(op::off_by, x, y); }
/// x with the gradient of y in place of its own.
inline traced with_gradient_of(const traced& x, const traced& y) { return recorded(op::with_gradient_of, x, y); }
/// x with the derivative `slope` in y.
///
///     const traced rounded_forward = with_slope(floor(x), x, traced(1.0));  // straight through
inline traced with_slope(const traced& x, const traced& y, const traced& slope) {
  return with_gradient_of(x, detach(slope) * y);
}
/// x, where other() is another way to compute it: for allowances alone.
///
///     const traced silu = covering(x * sigmoid(x), [&] { return x / (traced(1.0) + exp(-x)); });
template <class Other>
traced covering(const traced& x, Other other) {
  return recorded(op::another_way, x, other());
}

traced_integer operator+(const traced_integer& x, const traced_integer& y);
traced_integer operator-(const traced_integer& x, const traced_integer& y);
traced_integer operator*(const traced_integer& x, const traced_integer& y);
/// The largest integer that is no more than the quotient. Precondition: y is not 0.
///
///     const traced_integer block = floor_divide(position, traced_integer::constant(64));
traced_integer floor_divide(const traced_integer& x, const traced_integer& y);
traced_integer magnitude_of(const traced_integer& x);
traced_integer clamp(const traced_integer& x, std::int64_t low, std::int64_t high);
traced_integer cumulative_sum(const traced_integer& x, std::size_t axis);
/// 0, 1, ..., size - 1
///
///     const traced_integer apart = reshaped(counted(n), {n, 1}) - reshaped(counted(n), {1, n});  // i - j
traced_integer counted(std::size_t size);
/// Numbers that are known while the program is recorded, in row-major order.
///
///     const traced_integer starts = known_integers({3}, {0, 17, 64});
traced_integer known_integers(const core::shape& s, const std::vector<std::int64_t>& values);
traced_truth known_truths(const core::shape& s, const std::vector<bool>& values);
/// The index of the last of these ascending places that x has reached. Precondition: x has reached the first one, and
/// not `beyond`, which is no less than any of them.
///
///     const traced_integer sequence = last_reached(position, {0, 17, 64}, 128);
traced_integer last_reached(const traced_integer& x, std::vector<std::int64_t> places, std::int64_t beyond);
/// f(x) for integers x from `low` to `high`; the program stores the places where f changes. Precondition: on either
/// side of 0 f never falls, or never rises.
///
///     const traced_integer bucket =
///         stepwise(distance, 0, 1 << 20, [](std::int64_t k) { return std::min<std::int64_t>(k, 31); });
traced_integer stepwise(const traced_integer& x, std::int64_t low, std::int64_t high,
                        const std::function<std::int64_t(std::int64_t)>& f);
/// The integer as a short format takes it: rounded where the format cannot hold it.
///
///     const traced bias = -(slope * to_real(query - key));
traced to_real(const traced_integer& x);
/// The same for an index, which code keeps as an integer: no format rounds it.
traced index_number(const traced_integer& x);

// Functions that no formula for a single element can express.
///     const traced by_head = reshaped(x, {B, n, heads, d / heads});
traced reshaped(const traced& x, const core::shape& s);
traced_integer reshaped(const traced_integer& x, const core::shape& s);
core::shape shape_of(const traced& x);
core::shape shape_of(const traced_integer& x);
///     const traced everywhere = broadcast(bias, {heads, n, n});
traced broadcast(const traced& x, const core::shape& s);
traced_integer broadcast(const traced_integer& x, const core::shape& s);
///     const traced heads_first = transposed(x, {0, 2, 1, 3});  // [B, h, n, d] of [B, n, h, d]
traced transposed(const traced& x, std::vector<std::int64_t> axes);
/// Elements `first` to `last` - 1 along an axis.
///
///     const traced first = between(x, 3, 0, d / 2), second = between(x, 3, d / 2, d);
traced between(const traced& x, std::size_t axis, std::size_t first, std::size_t last);
traced_integer between(const traced_integer& x, std::size_t axis, std::size_t first, std::size_t last);
traced_truth between(const traced_truth& x, std::size_t axis, std::size_t first, std::size_t last);
///     const traced rotated = joined({first * cosine - second * sine, first * sine + second * cosine}, 3);
traced joined(const std::vector<traced>& parts, std::size_t axis);
traced_truth joined(const std::vector<traced_truth>& parts, std::size_t axis);
/// The elements at these places of an axis; the axes of the places take its position: gather, as in numpy.take.
///
///     const traced bias = gathered(table, bucket, 1);  // [h, n, n] of table [h, 32] and bucket [n, n]
traced gathered(const traced& x, const traced_integer& places, std::size_t axis);
traced_integer gathered(const traced_integer& x, const traced_integer& places, std::size_t axis);
/// The same row by row: except along the axis, places have the shape of x (numpy.take_along_axis).
///
///     const traced chosen = taken_along(x, places, 1);
traced taken_along(const traced& x, const traced_integer& places, std::size_t axis);
/// The sums of the elements with the same place, for `count` places; the axis then has this size.
///
///     const traced totals = summed_by_place(x, segment, 8, 0);  // [8], of x and segment [n]
traced summed_by_place(const traced& x, const traced_integer& places, std::size_t count, std::size_t axis);
/// Sums of an element and all elements before it.
///
///     const traced log_decay = cumulative_sum(log_f, 1);
traced cumulative_sum(const traced& x, std::size_t axis);
/// Sums of an element and all elements after it.
traced sums_from_each_on(const traced& x, std::size_t axis);
/// The same, computed as the sum of all elements less the sum of those before.
traced sums_from_each_on_by_total(const traced& x, std::size_t axis);
/// Cumulative sums along the last axis of rows [..., 1, m], twice: the first are added, and the second are subtracted
/// from them. A part that cancels in their gradients is no term of these sums [..., 2, m].
traced cumulative_sum_twice(const traced& x);
/// Tables z [..., a] at places p [..., m], also between positions (algorithms/interpolation.hpp).
///
///     const traced embedded = interpolated(table, position);
inline traced interpolated(const traced& z, const traced& p) { return recorded(op::interpolated, z, p); }
/// exp(X) for matrices [..., b, b]. Precondition: they are skew-symmetric. A cotangent reaches only the part above the
/// diagonal.
///
///     const traced rotation = skew_exponential(generator - transposed(generator, {1, 0}));
inline traced skew_exponential(const traced& x) { return recorded(op::skew_exponential, x); }
///     const traced weights = exp(x - reshaped(largest_along(x, 1), {rows, 1}));
traced largest_along(const traced& x, std::int64_t axis);
traced smallest_along(const traced& x, std::int64_t axis);
traced log_sum_exp_along(const traced& x, std::int64_t axis);
traced summed(const traced& x, std::vector<std::int64_t> axes);
traced softmax_along(const traced& x, std::int64_t axis);
/// "nd,md->nm"
///
///     const traced scores = contracted(q, k, "bhnd,bhmd->bhnm") / power(traced::from_integer(64), ratio(1, 2));
traced contracted(const traced& x, const traced& y, const std::string& letters);
/// Contracts those elements of x where the mask, of its shape, is true. Other elements reach nothing.
///
///     const traced o = contracted_where(is_seen, weights, v, "bhnm,bhme->bhne");
traced contracted_where(const traced_truth& mask, const traced& x, const traced& y, const std::string& letters);
/// x y at the places of the result that the mask lets in, and 0 elsewhere.
traced contracted_at(const traced_truth& mask, const traced& x, const traced& y, const std::string& letters);
/// Whether any element is true along an axis, which vanishes.
///
///     const traced_truth has_a_key = any_along(is_seen, 1);  // [n], of is_seen [n, m]
traced_truth any_along(const traced_truth& x, std::int64_t axis);
traced_truth broadcast(const traced_truth& x, const core::shape& s);
traced_truth reshaped(const traced_truth& x, const core::shape& s);
core::shape shape_of(const traced_truth& x);

}  // namespace assay::reference::formula

namespace assay::reference {

template <>
formula::traced pi<formula::traced>();

/// Terms in any order: the total is one sum of products.
template <>
class accumulator<formula::traced> {
 public:
  void add(const formula::traced& x);
  void add_product(const formula::traced& x, const formula::traced& y);
  [[nodiscard]] formula::traced total() const;

 private:
  struct term {
    formula::traced x, y;
    bool is_product;
  };
  std::vector<term> terms_;
};

}  // namespace assay::reference
