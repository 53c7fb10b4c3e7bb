// A program evaluated in a reading: one interpreter for proofs, allowances, gradients and plain arithmetic.
//
// Precision: sums, means and contractions are sums in any order (accumulator<R>), so that an allowance covers every
// order; the other operators are those of reference/primitives. A node with a stage is computed in its format.
#pragma once

#include <fmt/format.h>

#include <map>
#include <optional>
#include <utility>

#include "reference/formula/elementwise.hpp"
#include "reference/formula/evaluation_order.hpp"
#include "reference/formula/matrices.hpp"
#include "reference/formula/scan.hpp"
#include "reference/formula/sums.hpp"

namespace assay::reference::formula {

template <class R>
class interpreter {
 public:
  using arrays = std::map<std::string, array<R>>;

  /// `stages`: see in_stage_of. Preconditions: p and inputs outlive it; an input has as many elements as its node says.
  interpreter(const program& p, const arrays& inputs, std::vector<std::string> stages = {})
      : program_(p), inputs_(inputs), stages_(std::move(stages)), order_(p), made_(p.nodes().size()) {}

  /// Keeps the plans that follow from shapes for the next run: used for bodies of loops.
  void keep_plans() {
    runs_.resize(made_.size());
    contractions_.resize(made_.size());
  }

  /// The outputs for the inputs as they are now. Throws evaluation_error, which names the node. Arrays are freed after
  /// their last use.
  arrays run() {
    const auto count = static_cast<node_id>(made_.size());
    for (node_id k = 0; k < count; ++k) {
      const std::span<const node_id> together = order_.in_turn_of(k);
      if (together.empty()) continue;
      made_[k] = is_elementwise(program_.nodes()[k].what) ? run_of(k, together) : named_in_errors(k);
      for (const node_id gone : order_.forgotten_after(k)) made_[gone].reset();
    }
    arrays all;
    for (const program::output& o : program_.outputs()) {
      const auto others = std::ranges::count(program_.outputs(), o.node, &program::output::node);
      all.emplace(o.name, others == 1 ? std::move(*made_[o.node]) : *made_[o.node]);
    }
    return all;
  }

 private:
  using numbers = reals<R>;

  [[nodiscard]] const core::shape& shape_of(node_id k) const { return program_.type_of(k).shape; }
  template <class T>
  [[nodiscard]] const std::vector<T>& in(const node& n, std::size_t k) const {
    return std::get<std::vector<T>>(*made_[n.in[k]]);
  }
  template <class F, class... Operands>
  auto in_stage(const node& n, F f, const Operands&... operands) const {
    return in_stage_of<R>(n, stages_, f, operands...);
  }

  array<R> run_of(node_id k, std::span<const node_id> together) {
    if (runs_.empty()) return elementwise_run<R>(program_, together, made_, stages_)();
    if (!runs_[k]) runs_[k].emplace(program_, together, made_, stages_);
    return (*runs_[k])();
  }

  /// The places of a contraction; they are written to `room` where no plans are kept.
  const contracted_places& places_of_contraction(const node& n, node_id k,
                                                 std::optional<contracted_places>& room) const {
    std::optional<contracted_places>& places = contractions_.empty() ? room : contractions_[k];
    if (!places) places.emplace(*contraction_of(n.text), shape_of(k), shape_of(n.in[0]), shape_of(n.in[1]));
    return *places;
  }

  array<R> named_in_errors(node_id k) const {
    try {
      return compute(k);
    } catch (const evaluation_error& e) {
      throw evaluation_error(fmt::format("node {} ({}): {}", k, row_of(program_.nodes()[k].what).name, e.what()));
    }
  }

  array<R> compute(node_id k) const {
    const node& n = program_.nodes()[k];
    switch (row_of(n.what).kind) {
      case family::leaf:
        return leaf(n);
      case family::movement:
        return moved(n, k);
      case family::scattering:
        return scattered(n, k);
      case family::reduction:
        return reduced(n);
      case family::loop:
        return scanned(n);
      default:
        ASSAY_EXPECTS(row_of(n.what).kind == family::along_axis);
        return along(n, k);
    }
  }

  array<R> leaf(const node& n) const {
    switch (n.what) {
      case op::input:
        return inputs_.at(n.text);
      case op::data:
        return data(n);
      case op::integer:
        return integers{n.integer(0)};
      case op::boolean:
        return truths{n.integer(0) != 0};
      case op::iota: {
        integers all(static_cast<std::size_t>(n.integer(0)));
        std::iota(all.begin(), all.end(), 0);
        return all;
      }
      default:
        return numbers{in_stage(n, [&] { return constant<R>(n); })};
    }
  }

  static array<R> data(const node& n) {
    const auto each_as = [&](auto element) {
      std::vector<decltype(element(0.0))> made;
      made.reserve(n.values.size());
      for (const double x : n.values) made.push_back(element(x));
      return made;
    };
    switch (static_cast<number_kind>(n.integer(0))) {
      case number_kind::integer:
        return each_as([](double x) { return static_cast<std::int64_t>(x); });
      case number_kind::boolean:
        return each_as([](double x) { return boost::tribool(x != 0.0); });
      default:
        return each_as([](double x) { return as_it_is<R>(x); });
    }
  }

  array<R> moved(const node& n, node_id k) const {
    if (n.what == op::reshape) return *made_[n.in[0]];
    std::vector<const core::shape*> shapes;
    for (const node_id taken : n.in) shapes.push_back(&shape_of(taken));
    const bool has_indices = n.what == op::gather || n.what == op::take_along;
    const auto places = places_of(n, shape_of(k), shapes, has_indices ? &in<std::int64_t>(n, 1) : nullptr);
    const auto moved_elements = [&]<class T>(const std::vector<T>&) -> array<R> {
      std::vector<const std::vector<T>*> from;
      for (std::size_t a = 0; a < (has_indices ? 1 : n.in.size()); ++a) from.push_back(&in<T>(n, a));
      std::vector<T> made;
      made.reserve(places.size());
      for (const place& p : places) made.push_back((*from[p.input])[p.element]);
      return made;
    };
    return std::visit(moved_elements, *made_[n.in[0]]);
  }

  array<R> scattered(const node& n, node_id k) const {
    const std::vector<const core::shape*> shapes{&shape_of(n.in[0]), &shape_of(n.in[1]), &shape_of(n.in[2])};
    const auto places = places_of(n, shape_of(k), shapes, &in<std::int64_t>(n, 1));
    const double additions = additions_of_scattering(n, *shapes[1]);
    const auto apply = [&](const numbers& x, const numbers& added) {
      return scattered_sums(x, added, places, additions);
    };
    return in_stage(n, apply, in<R>(n, 0), in<R>(n, 2));
  }

  array<R> reduced(const node& n) const {
    const reduced_rows rows(shape_of(n.in[0]), n.integers[0]);
    if (n.what == op::any || n.what == op::all) return formula::reduced(n.what, in<boost::tribool>(n, 0), rows);
    return in_stage(
        n, [&](const numbers& x) { return formula::reduced<R>(n.what, x, rows); }, in<R>(n, 0));
  }

  array<R> along(const node& n, node_id k) const {
    switch (n.what) {
      case op::contract:
      case op::contract_at:
      case op::contract_where:
        return contracted_axes(n, k);
      case op::interpolated:
      case op::interpolation_slope:
      case op::interpolation_shares:
        return interpolated_between_rows(n, k);
      case op::skew_exponential:
        return in_stage(
            n, [&](const numbers& x) { return exponentials<R>(x, shape_of(k).back()); }, in<R>(n, 0));
      case op::skew_exponential_pullback:
        return in_stage(
            n,
            [&](const numbers& x, const numbers& g, const numbers& terms) {
              return back_through_exponentials<R>(x, g, terms, shape_of(k).back());
            },
            in<R>(n, 0), in<R>(n, 1), in<R>(n, 2));
      case op::geometric_frequencies:
        return in_stage(
            n, [&](const numbers& bases) { return frequencies_of(n, bases); }, in<R>(n, 0));
      case op::largest_share: {
        const reduced_rows rows(shape_of(n.in[0]), n.integers[0]);
        return in_stage(
            n, [&](numbers x) { return with_shares_of_largest<R>(std::move(x), rows); }, in<R>(n, 0));
      }
      default:
        return row_by_row(n, k);
    }
  }

  array<R> contracted_axes(const node& n, node_id k) const {
    std::optional<contracted_places> room;
    const contracted_places& places = places_of_contraction(n, k, room);
    const truths* mask = n.what == op::contract ? nullptr : &in<boost::tribool>(n, 2);
    return in_stage(
        n,
        [&](const numbers& x, const numbers& y) {
          return n.what == op::contract_where ? contracted_where<R>(x, y, *mask, places)
                                              : contracted<R>(x, y, places, mask);
        },
        in<R>(n, 0), in<R>(n, 1));
  }

  array<R> interpolated_between_rows(const node& n, node_id k) const {
    const interpolated_rows rows(shape_of(n.in[0]), shape_of(n.in[1]));
    const std::size_t size = shape_of(k).back();
    return in_stage(
        n,
        [&](const numbers& x, const numbers& p) {
          return n.what == op::interpolation_shares ? shared_by_places<R>(x, p, rows, size)
                                                    : interpolated<R>(n.what, x, p, rows);
        },
        in<R>(n, 0), in<R>(n, 1));
  }

  static numbers frequencies_of(const node& n, const numbers& bases) {
    numbers all;
    for (const R& base : bases)
      for (std::int64_t t = 0; t < n.integer(1); ++t)
        all.push_back(
            frequency(base, static_cast<std::size_t>(n.integer(0) + t), static_cast<std::size_t>(n.integer(2))));
    return all;
  }

  array<R> row_by_row(const node& n, node_id k) const {
    const rows_along rows(shape_of(n.in[0]), static_cast<std::size_t>(n.integer(0)));
    if (n.what == op::less_heaviest) return formula::less_heaviest(in<R>(n, 0), in<R>(n, 1), rows);
    if (program_.type_of(k).kind == number_kind::integer) return cumulative_sums(in<std::int64_t>(n, 0), rows);
    if (n.what == op::cumulative_difference)
      return in_stage(
          n, [&](const numbers& x, const numbers& y) { return differences_along<R>(x, y, rows); }, in<R>(n, 0),
          in<R>(n, 1));
    const bool twice = n.what == op::cumulative_sum_twice;
    return in_stage(
        n,
        [&](numbers x) {
          numbers made = along_rows<R>(twice ? op::cumulative_sum : n.what, std::move(x), rows);
          return twice ? rows_twice<R>(std::move(made), rows) : made;
        },
        in<R>(n, 0));
  }

  // The loop, turn by turn. The results of all turns lie part by part.
  array<R> scanned(const node& n) const {
    const program& body = *n.body;
    const scan_counts counts(n);
    const auto name_of_input = [&](std::size_t k) -> const std::string& { return body.nodes()[body.inputs()[k]].text; };
    arrays now;
    for (std::size_t k = 0; k < n.in.size(); ++k)
      if (k < counts.carried || k >= counts.carried + counts.stepped) now.emplace(name_of_input(k), *made_[n.in[k]]);
    interpreter turn(body, now, stages_);
    turn.keep_plans();
    std::vector<numbers> given(body.outputs().size());
    for (std::size_t t = 0; t < counts.turns; ++t) {
      for (std::size_t k = counts.carried; k < counts.carried + counts.stepped; ++k)
        now.insert_or_assign(name_of_input(k), element_of(*made_[n.in[k]], t, counts.turns));
      arrays made = turn.run();
      for (std::size_t k = 0; k < given.size(); ++k) {
        auto& one = std::get<numbers>(made.at(body.outputs()[k].name));
        if (k >= counts.carried)
          std::ranges::move(one, std::back_inserter(given[k]));
        else if (t + 1 < counts.turns)
          now.insert_or_assign(name_of_input(k), std::move(one));
        else
          given[k] = std::move(one);
      }
    }
    numbers all;
    for (numbers& part : given) std::ranges::move(part, std::back_inserter(all));
    return all;
  }
  static array<R> element_of(const array<R>& stepped, std::size_t t, std::size_t turns) {
    return std::visit(
        [&]<class T>(const std::vector<T>& all) -> array<R> {
          const auto size = static_cast<std::ptrdiff_t>(all.size() / turns);
          const auto first = all.begin() + static_cast<std::ptrdiff_t>(t) * size;
          return std::vector<T>(first, first + size);
        },
        stepped);
  }

  const program& program_;
  const arrays& inputs_;
  const std::vector<std::string> stages_;
  const evaluation_order order_;
  std::vector<std::optional<array<R>>> made_;
  // Plans of a body, by node.
  std::vector<std::optional<elementwise_run<R>>> runs_;
  mutable std::vector<std::optional<contracted_places>> contractions_;
};

}  // namespace assay::reference::formula
