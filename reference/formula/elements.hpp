// The results of an elementwise node, from lanes of its operands, in a reading.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "reference/formula/functions.hpp"
#include "reference/readings/stages.hpp"

namespace assay::reference::formula {

/// An operand of a node, for the wanted lanes.
template <class T>
class lanes {
 public:
  lanes(const std::vector<T>& all, const std::vector<std::size_t>& places, const std::vector<std::size_t>& wanted)
      : all_(all), places_(places), wanted_(wanted) {}
  [[nodiscard]] std::size_t size() const { return wanted_.size(); }
  decltype(auto) operator[](std::size_t k) const { return all_[places_[wanted_[k]]]; }

 private:
  const std::vector<T>& all_;
  const std::vector<std::size_t>&places_, &wanted_;
};
template <computes_in_formats R>
std::vector<R> in_units(const lanes<R>& x, double factor) {
  std::vector<R> all;
  all.reserve(x.size());
  for (std::size_t k = 0; k < x.size(); ++k) all.push_back(reference::in_units(x[k], factor));
  return all;
}

template <computes_in_formats R>
std::vector<std::vector<R>> in_units(const std::vector<lanes<R>>& all, double factor) {
  std::vector<std::vector<R>> made;
  for (const lanes<R>& x : all) made.push_back(formula::in_units(x, factor));
  return made;
}

/// The place of a stage among the stages with a format of their own.
inline std::optional<std::size_t> place_of_stage(const std::string& stage, const std::vector<std::string>& stages) {
  const auto it = stage.empty() ? stages.end() : std::find(stages.begin(), stages.end(), stage);
  return it == stages.end() ? std::nullopt : std::optional(static_cast<std::size_t>(it - stages.begin()));
}

/// f(operands...) in the format of the node's stage. `stages` are the names of the stages with a format of their own,
/// in their order; nodes of other stages have the format of all.
template <class R, class F, class... Operands>
auto in_stage_of(const node& n, const std::vector<std::string>& stages, F&& f, const Operands&... operands) {
  const auto place = place_of_stage(n.stage, stages);
  return place ? in_stage<R>(*place, std::forward<F>(f), operands...) : f(operands...);
}

template <class R>
class elements {
 public:
  /// An array, and the places of its elements for the lanes of a tile.
  struct operand {
    const array<R>* values;
    const std::vector<std::size_t>* places;
  };
  /// `wanted` are the lanes that are computed. Precondition: all arguments outlive this object.
  elements(const node& n, const std::vector<operand>& in, const std::vector<std::size_t>& wanted,
           const std::vector<std::string>& stages)
      : n_(n), in_(in), wanted_(wanted), stages_(stages) {}

  /// The results for the wanted lanes, in order.
  [[nodiscard]] array<R> results_of_kind(number_kind kind) const {
    if (kind == number_kind::real) return real_results();
    if (kind == number_kind::integer) return integer_results();
    return truth_results();
  }

 private:
  using truth = boost::tribool;
  using integer = std::int64_t;

  template <class T>
  lanes<T> in(std::size_t k) const {
    return {std::get<std::vector<T>>(*in_[k].values), *in_[k].places, wanted_};
  }

  template <class Result, class F, class... Inputs>
  std::vector<Result> each(F f, const Inputs&... inputs) const {
    const std::size_t count = wanted_.size();
    if constexpr (std::is_trivially_copyable_v<Result>) {
      std::vector<Result> made(count);
      for (std::size_t k = 0; k < count; ++k) made[k] = f(inputs[k]...);
      return made;
    } else {
      std::vector<Result> made;
      made.reserve(count);
      for (std::size_t k = 0; k < count; ++k) made.push_back(f(inputs[k]...));
      return made;
    }
  }

  reals<R> real_results() const {
    if (n_.what == op::where)
      return each<R>([](truth c, const R& x, const R& y) { return either(c, x, y); }, in<truth>(0), in<R>(1), in<R>(2));
    if (n_.what == op::to_real) return in_stage_of<R>(n_, stages_, [&] { return read(); });
    if (n_.what == op::index_number)
      return each<R>([](std::int64_t x) { return reference::index_number<R>(static_cast<double>(x)); },
                     in<std::int64_t>(0));
    if (n_.what == op::taken_by) return taken();
    if (n_.what == op::sum_of_products) {
      std::vector<lanes<R>> factors;
      for (std::size_t k = 0; k < n_.in.size(); ++k) factors.push_back(in<R>(k));
      return in_stage_of<R>(
          n_, stages_, [&](const auto& all) { return sums_of_products(all); }, factors);
    }
    if (n_.in.size() == 1)
      return in_stage_of<R>(
          n_, stages_, [&](const auto& x) { return each<R>([&](const R& a) { return function_of(n_, a); }, x); },
          in<R>(0));
    if (n_.in.size() == 2)
      return in_stage_of<R>(
          n_, stages_,
          [&](const auto& x, const auto& y) {
            return each<R>([&](const R& a, const R& b) { return function_of(n_, a, b); }, x, y);
          },
          in<R>(0), in<R>(1));
    return in_stage_of<R>(
        n_, stages_,
        [&](const auto& x, const auto& y, const auto& z) {
          return each<R>([&](const R& a, const R& b, const R& c) { return function_of(n_, a, b, c); }, x, y, z);
        },
        in<R>(0), in<R>(1), in<R>(2));
  }
  reals<R> taken() const {
    const auto into = place_of_stage(n_.stage, stages_), from = place_of_stage(n_.text, stages_);
    return each<R>([&](const R& x) { return into && from ? reference::taken_by(*into, *from, x) : x; }, in<R>(0));
  }
  template <class Factors>
  reals<R> sums_of_products(const std::vector<Factors>& all) const {
    reals<R> made;
    made.reserve(wanted_.size());
    for (std::size_t k = 0; k < wanted_.size(); ++k) {
      accumulator<R> sum;
      for (std::size_t a = 0; a < all.size(); a += 2)
        if (!adds_nothing(all[a][k], all[a + 1][k])) sum.add_product(all[a][k], all[a + 1][k]);
      made.push_back(sum.total());
    }
    return made;
  }
  reals<R> read() const {
    if (std::holds_alternative<truths>(*in_[0].values))
      return each<R>([](truth x) { return either(x, R(1.0), R(0.0)); }, in<truth>(0));
    return each<R>([](integer x) { return real_of(x); }, in<integer>(0));
  }
  static R real_of(integer x) {
    if (x > integer{1} << 53 || x < -(integer{1} << 53))
      throw evaluation_error("an integer beyond 2^53 becomes a real");
    return reference::from_integer<R>(static_cast<double>(x));
  }

  integers integer_results() const {
    if (n_.what == op::to_integer) return each<integer>([](truth x) { return integer{known(x)}; }, in<truth>(0));
    if (n_.what == op::where)
      return each<integer>([](truth c, integer x, integer y) { return known(c) ? x : y; }, in<truth>(0), in<integer>(1),
                           in<integer>(2));
    if (n_.in.size() == 2)
      return each<integer>([&](integer a, integer b) { return integer_result(n_.what, a, b); }, in<integer>(0),
                           in<integer>(1));
    const bool keeps_sign = n_.what == op::magnitude;
    return each<integer>([&](integer a) { return keeps_sign && a >= 0 ? a : integer_result(op::negative, 0, a); },
                         in<integer>(0));
  }
  // Integers have no hull of two branches, so the comparison must be decided.
  static bool known(truth x) {
    if (boost::indeterminate(x)) throw undecided_integer();
    return static_cast<bool>(x);
  }

  truths truth_results() const {
    switch (n_.what) {
      case op::less:
      case op::less_equal:
      case op::equal:
        return std::holds_alternative<integers>(*in_[0].values) ? compare<integer>() : compare<R>();
      case op::is_nan:
        return each<truth>([](const R& x) { return is_no_number(x); }, in<R>(0));
      case op::where:
        return each<truth>([](truth c, truth x, truth y) { return (c && x) || (!c && y); }, in<truth>(0), in<truth>(1),
                           in<truth>(2));
      case op::negation:
        return each<truth>([](truth a) { return !a; }, in<truth>(0));
      default: {
        const bool both = n_.what == op::both;
        return each<truth>([&](truth a, truth b) { return both ? a && b : a || b; }, in<truth>(0), in<truth>(1));
      }
    }
  }
  template <class T>
  truths compare() const {
    return each<truth>([&](const T& a, const T& b) { return compared<T>(n_.what, a, b); }, in<T>(0), in<T>(1));
  }

  const node& n_;
  const std::vector<operand>& in_;
  const std::vector<std::size_t>& wanted_;
  const std::vector<std::string>& stages_;
};

}  // namespace assay::reference::formula
