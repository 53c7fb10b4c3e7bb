// A program evaluated in a reading: one interpreter for proofs, allowances, gradients and plain arithmetic.
//
// Precision: sums, means and contractions are sums in any order (accumulator<R>), so that an allowance covers every
// order; the other operators are those of reference/primitives. A node with a stage is computed in its format.
#pragma once

#include <fmt/format.h>

#include <map>
#include <optional>
#include <utility>

#include "reference/formula/functions.hpp"
#include "reference/readings/stages.hpp"

namespace assay::reference::formula {

template <class R>
class interpreter {
 public:
  using arrays = std::map<std::string, array<R>>;

  /// `stages`: the names of the stages that formats are given for, in their order; nodes of others have that of all.
  /// Preconditions: p and inputs outlive it; an input has the elements that its node says.
  interpreter(const program& p, const arrays& inputs, const std::vector<std::string>& stages = {})
      : program_(p), inputs_(inputs), stages_(stages), made_(p.nodes().size()) {}

  /// The outputs. Throws evaluation_error, which names the node. Arrays are forgotten behind their last use.
  arrays run() {
    const std::vector<node_id> last = program_.last_uses();
    const auto count = static_cast<node_id>(made_.size());
    for (node_id k = 0; k < count; ++k) {
      if (last[k] == 0) continue;  // no output needs it
      try {
        made_[k] = compute(k);
      } catch (const evaluation_error& e) {
        throw evaluation_error(fmt::format("node {} ({}): {}", k, row_of(program_.nodes()[k].what).name, e.what()));
      }
      for (const node_id taken : program_.nodes()[k].in)
        if (last[taken] == k) made_[taken].reset();
    }
    arrays all;
    for (const program::output& o : program_.outputs()) all.emplace(o.name, *made_[o.of]);
    return all;
  }

 private:
  using numbers = reals<R>;

  [[nodiscard]] const core::shape& shape_of(node_id k) const { return program_.type_of(k).shape; }
  [[nodiscard]] number_kind kind_of(node_id k) const { return program_.type_of(k).kind; }
  template <class T>
  [[nodiscard]] const std::vector<T>& in(const node& n, std::size_t k) const {
    return std::get<std::vector<T>>(*made_[n.in[k]]);
  }

  array<R> compute(node_id k) const {
    const node& n = program_.nodes()[k];
    switch (row_of(n.what).of) {
      case family::leaf:
        return leaf(n);
      case family::movement:
        return moved(n, k);
      case family::scattering:
        return scattered(n, k);
      case family::reduction:
        return reduced(n, k);
      case family::along_axis:
        return along(n, k);
      case family::cast_or_choice:
        return cast_or_choice(n, k);
      case family::comparison:
        if (kind_of(n.in[0]) == number_kind::integer) return compare<std::int64_t>(n, k);
        return compare<R>(n, k);
      case family::logic:
        return logic(n, k);
      case family::real_function:
      case family::arithmetic:
      case family::integer_function:
        return kind_of(k) == number_kind::integer ? array<R>(of_integers(n, k)) : array<R>(of_reals(n, k));
    }
    throw core::contract_violation("no operator");
  }

  array<R> leaf(const node& n) const {
    switch (n.what) {
      case op::input:
        return inputs_.at(n.text);
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
        return numbers{in_stage_of(n, [&] { return constant<R>(n); })};
    }
  }

  // f(operands...), in the format of the node's stage.
  template <class F, class... Operands>
  auto in_stage_of(const node& n, F&& f, const Operands&... operands) const {
    const auto it = n.stage.empty() ? stages_.end() : std::find(stages_.begin(), stages_.end(), n.stage);
    if (it == stages_.end()) return f(operands...);
    return in_stage<R>(static_cast<std::size_t>(it - stages_.begin()), std::forward<F>(f), operands...);
  }

  // The elements of the result from those of N inputs, which broadcast.
  template <class Result, std::size_t N, class F, class... Inputs>
  std::vector<Result> each(node_id k, F f, const Inputs&... inputs) const {
    const core::shape& shape = shape_of(k);
    std::vector<Result> made;
    const std::size_t count = elements_of(shape);
    made.reserve(count);
    const node& n = program_.nodes()[k];
    std::array<strides, N> steps;
    for (std::size_t a = 0; a < N; ++a) steps[a] = broadcast_strides(shape_of(n.in[a]), shape);
    walk<N> at(shape, std::move(steps));
    for (std::size_t i = 0; i < count; ++i, at.next()) [&]<std::size_t... A>(std::index_sequence<A...>) {
        made.push_back(f(inputs[at.at()[A]]...));
      }
    (std::make_index_sequence<N>{});
    return made;
  }

  numbers of_reals(const node& n, node_id k) const {
    if (n.in.size() == 1) {
      const auto apply = [&](const numbers& x) {
        return each<R, 1>(
            k, [&](const R& a) { return function_of(n, a); }, x);
      };
      return in_stage_of(n, apply, in<R>(n, 0));
    }
    const auto apply = [&](const numbers& x, const numbers& y) {
      return each<R, 2>(
          k, [&](const R& a, const R& b) { return function_of(n, a, b); }, x, y);
    };
    return in_stage_of(n, apply, in<R>(n, 0), in<R>(n, 1));
  }

  integers of_integers(const node& n, node_id k) const {
    using I = std::int64_t;
    if (n.in.size() == 2)
      return each<I, 2>(
          k, [&](I a, I b) { return integer_result(n.what, a, b); }, in<I>(n, 0), in<I>(n, 1));
    const bool keeps_sign = n.what == op::magnitude;
    return each<I, 1>(
        k, [&](I a) { return keeps_sign && a >= 0 ? a : integer_result(op::negative, 0, a); }, in<I>(n, 0));
  }

  template <class T>
  truths compare(const node& n, node_id k) const {
    return each<boost::tribool, 2>(
        k, [&](const T& a, const T& b) { return compared<T>(n.what, a, b); }, in<T>(n, 0), in<T>(n, 1));
  }

  truths logic(const node& n, node_id k) const {
    using T = boost::tribool;
    if (n.what == op::negation)
      return each<T, 1>(
          k, [](T a) { return !a; }, in<T>(n, 0));
    const bool both = n.what == op::both;
    return each<T, 2>(
        k, [&](T a, T b) { return both ? a && b : a || b; }, in<T>(n, 0), in<T>(n, 1));
  }

  array<R> cast_or_choice(const node& n, node_id k) const {
    using T = boost::tribool;
    using I = std::int64_t;
    if (n.what == op::is_nan)
      return each<T, 1>(
          k, [](const R& x) { return is_no_number(x); }, in<R>(n, 0));
    if (n.what == op::to_integer)
      return each<I, 1>(
          k, [](T x) { return I{known(x)}; }, in<T>(n, 0));
    if (n.what == op::where) {
      if (kind_of(k) == number_kind::integer)
        return each<I, 3>(
            k, [](T c, I x, I y) { return known(c) ? x : y; }, in<T>(n, 0), in<I>(n, 1), in<I>(n, 2));
      if (kind_of(k) == number_kind::boolean)
        return each<T, 3>(
            k, [](T c, T x, T y) { return (c && x) || (!c && y); }, in<T>(n, 0), in<T>(n, 1), in<T>(n, 2));
      return each<R, 3>(
          k, [](T c, const R& x, const R& y) { return reference::either(c, x, y); }, in<T>(n, 0), in<R>(n, 1),
          in<R>(n, 2));
    }
    const auto read = [&] {
      if (kind_of(n.in[0]) == number_kind::boolean)
        return each<R, 1>(
            k, [](T x) { return reference::either(x, R(1.0), R(0.0)); }, in<T>(n, 0));
      return each<R, 1>(
          k, [](I x) { return real_of(x); }, in<I>(n, 0));
    };
    return in_stage_of(n, read);
  }
  static R real_of(std::int64_t x) {
    if (x > std::int64_t{1} << 53 || x < -(std::int64_t{1} << 53))
      throw evaluation_error("an integer beyond 2^53 becomes a real");
    return reference::from_integer<R>(static_cast<double>(x));
  }
  // Integers have no hull of two branches.
  static bool known(boost::tribool x) {
    if (boost::indeterminate(x)) throw undecided_integer();
    return static_cast<bool>(x);
  }

  array<R> moved(const node& n, node_id k) const {
    std::vector<const core::shape*> shapes;
    for (const node_id taken : n.in) shapes.push_back(&shape_of(taken));
    const bool has_indices = n.what == op::gather || n.what == op::take_along;
    const auto places = places_of(n, shape_of(k), shapes, has_indices ? &in<std::int64_t>(n, 1) : nullptr);
    const auto of = [&]<class T>(const std::vector<T>&) -> array<R> {
      std::vector<const std::vector<T>*> from;
      for (std::size_t a = 0; a < (has_indices ? 1 : n.in.size()); ++a) from.push_back(&in<T>(n, a));
      std::vector<T> made;
      made.reserve(places.size());
      for (const place& p : places) made.push_back((*from[p.input])[p.at]);
      return made;
    };
    return std::visit(of, *made_[n.in[0]]);
  }

  array<R> scattered(const node& n, node_id k) const {
    const std::vector<const core::shape*> shapes{&shape_of(n.in[0]), &shape_of(n.in[1]), &shape_of(n.in[2])};
    const auto places = places_of(n, shape_of(k), shapes, &in<std::int64_t>(n, 1));
    const auto apply = [&](const numbers& x, const numbers& added) { return scattered_sums(x, added, places); };
    return in_stage_of(n, apply, in<R>(n, 0), in<R>(n, 2));
  }

  // The rows that an element of a reduction is made of: where they begin, and their elements from there.
  struct reduced_rows {
    std::vector<std::size_t> first, within;
  };
  reduced_rows rows_of(const node& n) const {
    const core::shape& shape = shape_of(n.in[0]);
    const strides own = row_major(shape);
    core::shape kept, gone;
    strides kept_steps, gone_steps;
    for (std::size_t a = 0; a < shape.size(); ++a) {
      const bool goes = std::binary_search(n.integers[0].begin(), n.integers[0].end(), static_cast<std::int64_t>(a));
      (goes ? gone : kept).push_back(shape[a]);
      (goes ? gone_steps : kept_steps).push_back(own[a]);
    }
    const auto all = [](const core::shape& s, const strides& steps) {
      std::vector<std::size_t> places;
      walk<1> at(s, {steps});
      for (std::size_t count = elements_of(s); count > 0; --count, at.next()) places.push_back(at.at()[0]);
      return places;
    };
    return {all(kept, kept_steps), all(gone, gone_steps)};
  }

  array<R> reduced(const node& n, node_id) const {
    const reduced_rows rows = rows_of(n);
    if (n.what == op::any || n.what == op::all) {
      truths made;
      for (const std::size_t first : rows.first) {
        boost::tribool r = n.what == op::all;
        for (const std::size_t at : rows.within) {
          const boost::tribool x = in<boost::tribool>(n, 0)[first + at];
          r = n.what == op::all ? r && x : r || x;
        }
        made.push_back(r);
      }
      return made;
    }
    const auto apply = [&](const numbers& x) {
      numbers made;
      for (const std::size_t first : rows.first) {
        std::vector<R> row;
        for (const std::size_t at : rows.within) row.push_back(x[first + at]);
        made.push_back(of_row(n.what, row));
      }
      return made;
    };
    return in_stage_of(n, apply, in<R>(n, 0));
  }

  static R of_row(op what, const std::vector<R>& row) {
    if (what == op::log_sum_exp) return log_sum_exp_of(row);
    if (what == op::largest) {
      R x = row.front();
      for (std::size_t k = 1; k < row.size(); ++k) x = larger(x, row[k]);
      return x;
    }
    accumulator<R> sum;
    for (const R& x : row)
      if (!adds_nothing(x)) sum.add(x);
    const R total = sum.total();
    return what == op::sum ? total : total / reference::from_integer<R>(static_cast<double>(row.size()));
  }

  array<R> along(const node& n, node_id k) const {
    if (n.what == op::contract) {
      const auto apply = [&](const numbers& x, const numbers& y) { return contracted(n, k, x, y); };
      return in_stage_of(n, apply, in<R>(n, 0), in<R>(n, 1));
    }
    if (n.what == op::largest_share) {
      const auto apply = [&](numbers x) {
        const reduced_rows rows = rows_of(n);
        for (const std::size_t first : rows.first) {
          std::vector<R> row;
          for (const std::size_t at : rows.within) row.push_back(x[first + at]);
          row = shares_of_largest(row);
          for (std::size_t i = 0; i < row.size(); ++i) x[first + rows.within[i]] = row[i];
        }
        return x;
      };
      return in_stage_of(n, apply, in<R>(n, 0));
    }
    const rows_along rows(shape_of(k), static_cast<std::size_t>(n.integer(0)));
    if (kind_of(k) == number_kind::integer) {
      integers made = in<std::int64_t>(n, 0);
      for (std::size_t r = 0; r < rows.count; ++r)
        for (std::size_t i = 1; i < rows.size; ++i) {
          std::int64_t& x = made[rows.first(r) + i * rows.step];
          x = integer_result(op::add, made[rows.first(r) + (i - 1) * rows.step], x);
        }
      return made;
    }
    const auto apply = [&](numbers x) {
      for (std::size_t r = 0; r < rows.count; ++r) {
        const auto at = [&](std::size_t i) -> R& { return x[rows.first(r) + i * rows.step]; };
        std::vector<R> row;
        for (std::size_t i = 0; i < rows.size; ++i) row.push_back(at(i));
        if (n.what == op::softmax) row = softmax_of(row);
        accumulator<R> sum;
        for (std::size_t i = 0; i < rows.size; ++i) {
          if (n.what == op::cumulative_sum) sum.add(row[i]);
          at(i) = n.what == op::cumulative_sum ? sum.total() : row[i];
        }
      }
      return x;
    };
    return in_stage_of(n, apply, in<R>(n, 0));
  }

  numbers contracted(const node& n, node_id k, const numbers& x, const numbers& y) const {
    const contraction letters = *contraction_of(n.text);
    const auto steps_of = [](const std::string& letters_of_walk, const std::string& own, const core::shape& shape) {
      const strides all = row_major(shape);
      strides steps;
      for (const char letter : letters_of_walk) {
        const std::size_t at = own.find(letter);
        steps.push_back(at == std::string::npos ? 0 : all[at]);
      }
      return steps;
    };
    std::string summed;
    core::shape lengths;
    for (std::size_t a = 0; a < letters.x.size(); ++a)
      if (letters.result.find(letters.x[a]) == std::string::npos) {
        summed += letters.x[a];
        lengths.push_back(shape_of(n.in[0])[a]);
      }
    const auto steps = [&](const std::string& of) {
      return std::array<strides, 2>{steps_of(of, letters.x, shape_of(n.in[0])),
                                    steps_of(of, letters.y, shape_of(n.in[1]))};
    };
    std::vector<std::array<std::size_t, 2>> terms;
    walk<2> within(lengths, steps(summed));
    for (std::size_t count = elements_of(lengths); count > 0; --count, within.next()) terms.push_back(within.at());
    numbers made;
    walk<2> at(shape_of(k), steps(letters.result));
    for (std::size_t count = elements_of(shape_of(k)); count > 0; --count, at.next()) {
      if (terms.size() == 1) {
        made.push_back(x[at.at()[0]] * y[at.at()[1]]);
        continue;
      }
      accumulator<R> sum;
      for (const auto& [a, b] : terms) {
        const R &left = x[at.at()[0] + a], &right = y[at.at()[1] + b];
        if (!adds_nothing(left, right)) sum.add_product(left, right);
      }
      made.push_back(sum.total());
    }
    return made;
  }

  const program& program_;
  const arrays& inputs_;
  const std::vector<std::string>& stages_;
  std::vector<std::optional<array<R>>> made_;
};

}  // namespace assay::reference::formula
