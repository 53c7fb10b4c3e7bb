// The adjoint as a reading: a number on a tape over any reading R. A formula that is read in adjoint<R> leaves a graph
// behind, whose edges are the partial derivatives of its steps in R; the sweep takes cotangents back along it (reverse
// mode; Griewank and Walther 2008, Evaluating Derivatives, chapter 3).
//
// What reaches a number from all its uses is added up in any order. In the allowance reading cotangents have a
// magnitude beside their value, which is what roundings are charged by: an allowance must not cancel.
//
// An algorithm whose sums may be ordered otherwise than its steps happen to be, or whose steps lose what the whole
// keeps, is one block with a pullback of its own (tape::add_block). A dot product is one node
// (accumulator<adjoint<R>>).
//
// Stages (stages.hpp): a node belongs to the format that it was made in. Its cotangent is multiplied with the slopes in
// that format, and is rounded once where it goes on into a less precise one; what reaches a variable is rounded as it
// is stored. Sums of products have the format of sums.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "reference/readings/differentiated.hpp"
#include "reference/readings/stages.hpp"
#include "reference/readings/tracked.hpp"

namespace assay::reference {

/// What goes back along an edge.
template <class R>
struct cotangent {
  R number{};

  cotangent() = default;
  explicit cotangent(R x) : number(std::move(x)) {}
  /// The number as the adjoint of a linear function takes it in.
  [[nodiscard]] R by_magnitude() const { return number; }
  cotangent operator-() const { return cotangent(-number); }
  cotangent times(const R& slope) const { return cotangent(number * slope); }
  cotangent over(const R& divisor) const { return cotangent(number / divisor); }
  [[nodiscard]] cotangent in_units(double factor) const requires computes_in_formats<R> {
    return cotangent(number.in_units(factor));
  }
  /// Rounded to a less precise format; in the units of this one all the same.
  [[nodiscard]] cotangent rounded_to(const working_format& format) const requires computes_in_formats<R> {
    const switched_to scope(format);
    return cotangent(number.rounded_once());
  }
};

/// The magnitude is that of a sum without cancellation, and errors are charged by it.
template <>
struct cotangent<tracked> {
  tracked number{};
  double magnitude = 0.0;

  cotangent() = default;
  explicit cotangent(tracked x) : cotangent(x, std::fabs(x.number)) {}
  cotangent(tracked x, double m) : number(x), magnitude(m) {}
  [[nodiscard]] tracked by_magnitude() const { return {magnitude, number.error}; }
  cotangent operator-() const { return {-number, magnitude}; }
  [[nodiscard]] cotangent times(const tracked& slope) const {
    const tracked r = by_magnitude() * tracked(std::fabs(slope.number), slope.error);
    return {{number.number * slope.number, r.error}, r.number};
  }
  [[nodiscard]] cotangent over(const tracked& divisor) const {
    const tracked r = by_magnitude() / tracked(std::fabs(divisor.number), divisor.error);
    return {{number.number / divisor.number, r.error}, r.number};
  }
  [[nodiscard]] cotangent in_units(double factor) const { return {number.in_units(factor), magnitude}; }
  [[nodiscard]] cotangent rounded_to(const working_format& format) const {
    const double ratio = arithmetic().u / format.u;
    const switched_to scope(format);
    const double error = by_magnitude().in_units(ratio).rounded_once().error / ratio;
    return {{number.number, error}, magnitude};
  }
};

/// What reaches one number from all its uses.
template <class R>
class cotangent_sum {
 public:
  void add(const cotangent<R>& g) { sum().add(g.number); }
  void add_product(const cotangent<R>& g, const R& slope) { sum().add_product(g.number, slope); }
  /// To units that are 1 / factor as large.
  void rescale(double factor) requires computes_in_formats<R> {
    if (sum_) sum_ = sum_->in_units(factor);
  }
  /// Nothing reaches it: exactly 0.
  [[nodiscard]] cotangent<R> total() const { return cotangent<R>(sum_ ? sum_->total() : R(0.0)); }

 private:
  accumulator<R>& sum() { return sum_ ? *sum_ : sum_.emplace(); }
  std::optional<accumulator<R>> sum_;
};

/// Of what the same input adds to one gradient: along how many positions of axes, beside those of the input itself.
/// Programs add axis by axis, in any order.
struct positions_added {
  double axis_by_axis = 0.0;  ///< additions of one use of the input
  double in_all = 1.0;
};

/// m terms in any order: (m - 1) times the sum of their magnitudes, and one rounding each for products that are formed
/// while they are added up (Higham 2002, section 4.2). Sums in a format of their own are rounded once, at the end; in
/// one that is less precise each term is rounded as it is added, also among the subnormal numbers.
template <>
class cotangent_sum<tracked> {
 public:
  void add(const cotangent<tracked>& g) {
    value_ += g.number.number;
    magnitude_ += g.magnitude;
    charged_ += finite_magnitude(g.magnitude);
    propagated_ += g.number.error;
    ++roundings_;
  }
  void add_product(const cotangent<tracked>& g, const tracked& slope) {
    const double r = g.magnitude * slope.number;
    add({{g.number.number * slope.number,
          propagate(g.magnitude, slope.error) + propagate(std::fabs(slope.number), g.number.error) +
              propagate(tracked::u() * g.number.error, slope.error) + (r != 0.0 ? tracked::tau() : 0.0)},
         std::fabs(r)});
    forms_products_ = true;
  }
  void rescale(double factor) { propagated_ *= factor; }
  /// The total of what is added axis by axis, for each use of an input, and then for all of them.
  [[nodiscard]] cotangent<tracked> total(const positions_added& along) const {
    cotangent_sum bounded = *this;
    bounded.roundings_ = std::min(roundings_, along.axis_by_axis + std::ceil(roundings_ / along.in_all));
    return bounded.total();
  }
  [[nodiscard]] cotangent<tracked> total() const {
    const double of_sums = arithmetic_of_sums().u / tracked::u();
    const bool rounds_terms = forms_products_ || of_sums > 1.0;
    const double additions = rounds_terms ? roundings_ : std::max(roundings_ - 1, 0.0);
    const double at_the_end = of_sums == 1.0 || additions == 0 ? 0.0 : charged_;
    return {{value_, propagated_ + additions * (charged_ * of_sums + tracked::underflow_of_sums()) + at_the_end},
            magnitude_};
  }

 private:
  double value_ = 0, magnitude_ = 0, charged_ = 0, propagated_ = 0, roundings_ = 0;
  bool forms_products_ = false;
};

/// The graph that formulas in adjoint<R> leave behind, in this thread while the tape is in scope. Tapes do not nest.
template <class R>
class tape {
 public:
  using node = std::uint32_t;  ///< 0 stands for all constants
  enum class step : std::uint8_t { plus, minus, times, over, product_in_sum };
  struct edge {
    node to;
    step how;
    R slope;
  };
  /// Hands the cotangents of a block on, by put(), given those of its outputs.
  using pullback = std::function<void(tape&, std::span<const cotangent<R>>)>;

  tape() : before_(std::exchange(current_, this)) {}
  ~tape() { current_ = before_; }
  tape(const tape&) = delete;
  tape& operator=(const tape&) = delete;
  static tape& current() {
    ASSAY_EXPECTS(current_ != nullptr);
    return *current_;
  }

  void add_edge(const edge& e) { edges_.push_back(e); }
  /// The node of all edges since the last one.
  node close() {
    nodes_.push_back({edges_.size(), &arithmetic_here()});
    return last();
  }
  /// A node without edges, whose cotangents are the gradient.
  node add_variable() {
    nodes_.push_back({edges_.size(), nullptr, true});
    return last();
  }
  /// `count` nodes, the first of which is returned, whose cotangents `pull` hands on, all at once, in the format of the
  /// block.
  node add_block(std::size_t count, pullback pull) {
    const node first = static_cast<node>(nodes_.size());
    for (std::size_t k = 0; k < count; ++k) close();
    if (count > 0) blocks_.push_back({first, count, std::move(pull)});
    return first;
  }

  /// A cotangent that reaches a node: of an output, or handed on by a block, as a number of that format.
  void put(node to, const cotangent<R>& g);
  /// The same as a number of the format of a stage.
  template <class Stage>
  void put_in(Stage stage, node to, const cotangent<R>& g);
  /// Takes the cotangents of all nodes after `first` back to it and those before it, and forgets those nodes; or keeps
  /// them, without blocks, for other cotangents.
  enum class then : std::uint8_t { forget, keep };
  void sweep(node first = 0, then nodes = then::forget);
  [[nodiscard]] node last() const { return static_cast<node>(nodes_.size() - 1); }
  /// What has reached a variable.
  [[nodiscard]] R gradient(node variable, const positions_added& along = {}) const {
    if (variable >= sums_.size()) return R(0.0);
    const auto total_of = [&](const cotangent_sum<R>& sum) {
      if constexpr (requires { sum.total(along); })
        return sum.total(along);
      else
        return sum.total();
    };
    return total(variable, total_of).by_magnitude();
  }

 private:
  struct entry {
    std::size_t end;               // of its edges
    const working_format* format;  // none of variables that nothing has reached
    bool is_variable = false;
  };
  struct block {
    node first;
    std::size_t count;
    pullback pull;
  };
  static const working_format& arithmetic_here() { return detail::format_of(arithmetic().type); }
  [[nodiscard]] const working_format& format_of(node n) const {
    return nodes_[n].format != nullptr ? *nodes_[n].format : arithmetic();
  }
  const working_format& format_that_takes(node to);
  template <class Total>
  [[nodiscard]] cotangent<R> total(node n, Total total_of) const;
  [[nodiscard]] cotangent<R> total(node n) const {
    return total(n, [](const cotangent_sum<R>& sum) { return sum.total(); });
  }
  void send(const cotangent<R>& g, const edge& e);

  // constinit: else code that does not instantiate it (instantiate/compiled_once.hpp) calls an initialiser of it.
  constinit inline static thread_local tape* current_ = nullptr;
  tape* before_;
  std::vector<entry> nodes_{{0, nullptr}};
  std::vector<edge> edges_;
  std::vector<block> blocks_;
  std::vector<cotangent_sum<R>> sums_;
};

// The format of a node that a number of this thread's format is to reach.
template <class R>
const working_format& tape<R>::format_that_takes(node to) {
  entry& e = nodes_[to];
  if (e.is_variable && (e.format == nullptr || e.format->u < arithmetic().u)) {
    if constexpr (computes_in_formats<R>)
      if (e.format != nullptr) sums_[to].rescale(e.format->u / arithmetic().u);
    e.format = &arithmetic_here();
  }
  return *e.format;
}

template <class R>
template <class Stage>
void tape<R>::put_in(Stage stage, node to, const cotangent<R>& g) {
  if constexpr (computes_in_formats<R>)
    if (stages_differ()) {
      const working_format& inside = format_of_stage(static_cast<std::size_t>(stage));
      const double ratio = arithmetic().u / inside.u;
      const switched_to scope(inside);
      return put(to, g.in_units(ratio));
    }
  put(to, g);
}

template <class R>
void tape<R>::put(node to, const cotangent<R>& g) {
  if (to == 0) return;
  if (sums_.size() < nodes_.size()) sums_.resize(nodes_.size());
  if constexpr (computes_in_formats<R>)
    if (stages_differ()) {
      const working_format& into = format_that_takes(to);
      const double ratio = arithmetic().u / into.u;
      const switched_to scope(into);
      return sums_[to].add(g.in_units(ratio));
    }
  sums_[to].add(g);
}

template <class R>
template <class Total>
cotangent<R> tape<R>::total(node n, Total total_of) const {
  if constexpr (computes_in_formats<R>)
    if (stages_differ()) {
      const double ratio = format_of(n).u / arithmetic().u;
      const switched_to scope(format_of(n));
      return total_of(sums_[n]).in_units(ratio);
    }
  return total_of(sums_[n]);
}

// From a node whose format the thread has.
template <class R>
void tape<R>::send(const cotangent<R>& g, const edge& e) {
  const auto term = [&] {
    return e.how == step::plus    ? g
           : e.how == step::minus ? -g
           : e.how == step::over  ? g.over(e.slope)
                                  : g.times(e.slope);
  };
  if constexpr (computes_in_formats<R>)
    if (stages_differ()) {
      if (e.how != step::product_in_sum) {
        const bool is_cast = !nodes_[e.to].is_variable && nodes_[e.to].format->u > arithmetic().u;
        const cotangent<R> here = term();
        return put(e.to, is_cast ? here.rounded_to(*nodes_[e.to].format) : here);
      }
      const working_format& into = format_that_takes(e.to);
      const double ratio = arithmetic().u / into.u;
      const switched_to scope(into);
      return sums_[e.to].add_product(g.in_units(ratio), e.slope.in_units(ratio));
    }
  if (e.how == step::times || e.how == step::product_in_sum)
    sums_[e.to].add_product(g, e.slope);
  else
    sums_[e.to].add(term());
}

template <class R>
void tape<R>::sweep(node first, then nodes) {
  sums_.resize(nodes_.size());
  for (node n = last(); n > first; --n) {
    if (nodes_[n].is_variable) continue;
    const switched_to scope(*nodes_[n].format);
    if (!blocks_.empty() && n == blocks_.back().first + blocks_.back().count - 1) {
      const block b = std::move(blocks_.back());
      blocks_.pop_back();
      std::vector<cotangent<R>> g;
      for (node k = 0; k < b.count; ++k) g.push_back(sums_[b.first + k].total());
      b.pull(*this, g);
      n = b.first;
      continue;
    }
    const std::size_t begin = nodes_[n - 1].end;
    if (begin == nodes_[n].end) continue;
    const cotangent<R> g = sums_[n].total();
    for (std::size_t e = begin; e < nodes_[n].end; ++e) send(g, edges_[e]);
  }
  sums_.resize(first + std::size_t{1});
  if (nodes == then::keep) return;
  nodes_.resize(sums_.size());
  edges_.resize(nodes_.back().end);
}

template <class R>
struct adjoint {
  using underlying = R;
  using graph = tape<R>;
  using step = typename graph::step;
  R number{};
  typename graph::node node = 0;  ///< 0: a constant

  adjoint() = default;
  explicit adjoint(double x) : number(x) {}
  explicit adjoint(R x, typename graph::node n = 0) : number(std::move(x)), node(n) {}
  /// A number that a gradient is wanted of.
  static adjoint variable(R x) { return adjoint(std::move(x), graph::current().add_variable()); }
  static adjoint from_integer(double x) { return adjoint(reference::from_integer<R>(x)); }

  // See differentiated.hpp.
  struct part {
    typename graph::edge edge;
  };
  static part along(const adjoint& x) { return {{x.node, step::plus, R{}}}; }
  static part against(const adjoint& x) { return {{x.node, step::minus, R{}}}; }
  template <class Slope>
  static part by(const adjoint& x, Slope slope) {
    return {{x.node, step::times, x.node == 0 ? R{} : slope()}};
  }
  template <class Divisor>
  static part over(const adjoint& x, Divisor divisor) {
    return {{x.node, step::over, x.node == 0 ? R{} : divisor()}};
  }
  template <class... Parts>
  static adjoint made(R r, const Parts&... parts) {
    if (((parts.edge.to == 0) && ...)) return adjoint(std::move(r));
    const auto add = [](const auto& e) {
      if (e.to != 0) graph::current().add_edge(e);
    };
    (add(parts.edge), ...);
    return adjoint(std::move(r), graph::current().close());
  }

  /// See stages.hpp.
  [[nodiscard]] adjoint in_units(double factor) const requires computes_in_formats<R> {
    return adjoint(number.in_units(factor), node);
  }
  [[nodiscard]] adjoint rounded_once() const requires computes_in_formats<R> {
    return made(number.rounded_once(), along(*this));
  }
};

template <class T>
inline constexpr bool is_adjoint = false;
template <class R>
inline constexpr bool is_adjoint<adjoint<R>> = true;

/// A dot product is one node.
template <class R>
class accumulator<adjoint<R>> {
  using number = adjoint<R>;
  using edge = typename tape<R>::edge;
  using step = typename tape<R>::step;

 public:
  void add(const number& x) {
    sum_.add(x.number);
    if (x.node != 0) edges_.push_back({x.node, step::plus, R{}});
  }
  void add_product(const number& x, const number& y) {
    sum_.add_product(x.number, y.number);
    if (x.node != 0) edges_.push_back({x.node, step::product_in_sum, y.number});
    if (y.node != 0) edges_.push_back({y.node, step::product_in_sum, x.number});
  }
  void add(const accumulator& other) {
    sum_.add(other.sum_);
    edges_.insert(edges_.end(), other.edges_.begin(), other.edges_.end());
  }
  [[nodiscard]] number total() const {
    if (edges_.empty()) return number(sum_.total());
    tape<R>& graph = tape<R>::current();
    for (const edge& e : edges_) graph.add_edge(e);
    return number(sum_.total(), graph.close());
  }
  /// See stages.hpp.
  [[nodiscard]] accumulator in_units(double factor) const requires computes_in_formats<R> {
    accumulator x = *this;
    x.sum_ = x.sum_.in_units(factor);
    for (edge& e : x.edges_) e.slope = e.slope.in_units(factor);
    return x;
  }

 private:
  accumulator<R> sum_;
  std::vector<edge> edges_;
};

}  // namespace assay::reference
