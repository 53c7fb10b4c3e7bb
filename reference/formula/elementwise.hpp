// Elementwise nodes of a program in a reading, in tiles of lanes.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "reference/formula/functions.hpp"
#include "reference/readings/stages.hpp"

namespace assay::reference::formula {

/// An operand of a node: of the lanes that are asked for.
template <class T>
class lanes {
 public:
  lanes(const std::vector<T>& all, const std::vector<std::size_t>& places, const std::vector<std::size_t>& asked)
      : all_(all), places_(places), asked_(asked) {}
  [[nodiscard]] std::size_t size() const { return asked_.size(); }
  decltype(auto) operator[](std::size_t k) const { return all_[places_[asked_[k]]]; }

 private:
  const std::vector<T>& all_;
  const std::vector<std::size_t>&places_, &asked_;
};
template <computes_in_formats R>
std::vector<R> in_units(const lanes<R>& x, double factor) {
  std::vector<R> all;
  all.reserve(x.size());
  for (std::size_t k = 0; k < x.size(); ++k) all.push_back(reference::in_units(x[k], factor));
  return all;
}

/// f(operands...) in the format of the node's stage. `stages`: the names of those that formats are given for, in their
/// order; nodes of others have that of all.
template <class R, class F, class... Operands>
auto in_stage_of(const node& n, const std::vector<std::string>& stages, F&& f, const Operands&... operands) {
  const auto it = n.stage.empty() ? stages.end() : std::find(stages.begin(), stages.end(), n.stage);
  if (it == stages.end()) return f(operands...);
  return in_stage<R>(static_cast<std::size_t>(it - stages.begin()), std::forward<F>(f), operands...);
}

/// Nodes that are evaluated together (evaluation_order): of one shape, each taken by others of them alone, but the
/// last.
template <class R>
class elementwise_run {
 public:
  /// Precondition: what they take from elsewhere is made.
  elementwise_run(const program& p, const std::vector<node_id>& members,
                  const std::vector<std::optional<array<R>>>& made, const std::vector<std::string>& stages)
      : shape_(p.type_of(members.back()).shape), stages_(stages), own_places_(tile) {
    steps_.reserve(members.size());
    std::iota(own_places_.begin(), own_places_.end(), std::size_t{0});
    for (const node_id k : members) {
      step s{k, p.nodes()[k], p.type_of(k).kind, p.type_of(k).kind != number_kind::real};
      for (const node_id taken : s.n.in) {
        const auto* const member = std::find(members.data(), members.data() + steps_.size(), taken);
        const auto place = static_cast<std::size_t>(member - members.data());
        if (place < steps_.size()) {
          s.is_early = s.is_early && steps_[place].is_early;
          s.in.push_back({place, nullptr, walk_by_rows({}, {}), {}});
        } else {
          s.in.push_back(
              {0, &*made[taken], walk_by_rows(shape_, broadcast_strides(p.type_of(taken).shape, shape_)), {}});
        }
      }
      s.made = room_for(s.kind);
      steps_.push_back(std::move(s));
    }
  }

  /// The array of the last of them. Throws evaluation_error, which names the node.
  array<R> operator()() {
    const std::size_t count = elements_of(shape_);
    array<R> all = nothing_of(steps_.back().kind);
    std::visit([&](auto& values) { values.reserve(count); }, all);
    for (std::size_t first = 0; first < count; first += tile) {
      const std::size_t size = std::min(tile, count - first);
      find_places(size);
      // They say which branches are asked for.
      for (step& s : steps_)
        if (s.is_early) evaluate(s, size);
      ask(size);
      for (step& s : steps_)
        if (!s.is_early) evaluate(s, size);
      std::visit(
          [&]<class T>(std::vector<T>& values) {
            auto& from = std::get<std::vector<T>>(steps_.back().made);
            const auto begin = std::make_move_iterator(from.begin());
            values.insert(values.end(), begin, begin + static_cast<std::ptrdiff_t>(size));
          },
          all);
    }
    return all;
  }

 private:
  static constexpr std::size_t tile = 128;
  using truth = boost::tribool;
  using integer = std::int64_t;

  // Some of the lanes of a tile, in order.
  struct lane_set {
    bool has_all = false;
    std::vector<char> is_in{};  ///< by lane; of no meaning where it has all
    std::vector<std::size_t> places{};

    void clear(std::size_t size) {
      has_all = false;
      is_in.assign(size, 0);
    }
    void add_all() { has_all = true; }
    void finish(const std::vector<std::size_t>& all, std::size_t size) {
      if (has_all) {
        places.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(size));
        return;
      }
      places.clear();
      for (std::size_t k = 0; k < size; ++k)
        if (is_in[k] != 0) places.push_back(k);
    }
  };
  struct operand {
    std::size_t member;     ///< where it is one of the run
    const array<R>* whole;  ///< where it is not
    walk_by_rows at;
    std::vector<std::size_t> places;  ///< of the lanes of a tile
  };
  struct step {
    node_id id;
    const node& n;
    number_kind kind;
    bool is_early;  ///< an integer or boolean that hangs on no real number of the run
    std::vector<operand> in{};
    array<R> made{};  ///< by lane
    lane_set asked{};
  };

  static array<R> nothing_of(number_kind kind) {
    if (kind == number_kind::real) return reals<R>{};
    if (kind == number_kind::integer) return integers{};
    return truths{};
  }
  static array<R> room_for(number_kind kind) {
    array<R> room = nothing_of(kind);
    std::visit([](auto& values) { values.resize(tile); }, room);
    return room;
  }

  void find_places(std::size_t size) {
    for (step& s : steps_) {
      s.asked.clear(size);
      if (s.is_early) s.asked.add_all();
      for (operand& o : s.in) {
        if (o.whole == nullptr) continue;
        o.places.resize(size);
        o.at.next(o.places.data(), size);
      }
    }
  }

  // From the last to the first: a branch is asked for where its condition does not rule it out.
  void ask(std::size_t size) {
    if (!steps_.back().is_early) steps_.back().asked.add_all();
    for (auto s = steps_.rbegin(); s != steps_.rend(); ++s) {
      if (s->is_early) continue;
      s->asked.finish(own_places_, size);
      const bool chooses = s->n.what == op::where && (s->in[0].whole != nullptr || steps_[s->in[0].member].is_early);
      for (std::size_t a = 0; a < s->in.size(); ++a) {
        if (s->in[a].whole != nullptr || steps_[s->in[a].member].is_early) continue;
        lane_set& also = steps_[s->in[a].member].asked;
        if (chooses && a > 0)
          ask_for_branch(also, s->asked.places, s->in[0], a == 1, size);
        else if (s->asked.has_all)
          also.add_all();
        else
          for (const std::size_t k : s->asked.places) also.is_in[k] = 1;
      }
    }
  }
  void ask_for_branch(lane_set& branch, const std::vector<std::size_t>& asked, const operand& condition, bool if_true,
                      std::size_t size) const {
    const std::vector<truth>& values = values_of<truth>(condition);
    const std::vector<std::size_t>& places = places_of(condition);
    std::size_t count = 0;
    for (const std::size_t k : asked) {
      const truth c = values[places[k]];
      const bool is_ruled_out = !boost::indeterminate(c) && bool(c) != if_true;
      branch.is_in[k] = branch.is_in[k] != 0 || !is_ruled_out ? 1 : 0;
      count += is_ruled_out ? 0 : 1;
    }
    if (count == size) branch.add_all();
  }

  template <class T>
  const std::vector<T>& values_of(const operand& o) const {
    return std::get<std::vector<T>>(o.whole != nullptr ? *o.whole : steps_[o.member].made);
  }
  const std::vector<std::size_t>& places_of(const operand& o) const {
    return o.whole != nullptr ? o.places : own_places_;
  }
  template <class T>
  lanes<T> in(const step& s, std::size_t k) const {
    return {values_of<T>(s.in[k]), places_of(s.in[k]), s.asked.places};
  }

  void evaluate(step& s, std::size_t size) {
    if (s.is_early) s.asked.finish(own_places_, size);
    if (s.asked.places.empty()) return;
    try {
      if (s.kind == number_kind::real)
        put(s, of_reals(s));
      else if (s.kind == number_kind::integer)
        put(s, of_integers(s));
      else
        put(s, of_truths(s));
    } catch (const evaluation_error& e) {
      throw evaluation_error(fmt::format("node {} ({}): {}", s.id, row_of(s.n.what).name, e.what()));
    }
  }
  template <class T>
  static void put(step& s, std::vector<T>&& made) {
    auto& all = std::get<std::vector<T>>(s.made);
    if (made.size() == tile) {
      all.swap(made);
      return;
    }
    for (std::size_t k = 0; k < made.size(); ++k) all[s.asked.places[k]] = std::move(made[k]);
  }

  template <class Result, class F, class... Inputs>
  static std::vector<Result> each(const step& s, F f, const Inputs&... inputs) {
    const std::size_t count = s.asked.places.size();
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

  reals<R> of_reals(const step& s) const {
    const node& n = s.n;
    if (n.what == op::where)
      return each<R>(
          s, [](truth c, const R& x, const R& y) { return reference::either(c, x, y); }, in<truth>(s, 0), in<R>(s, 1),
          in<R>(s, 2));
    if (n.what == op::to_real) return in_stage_of<R>(n, stages_, [&] { return read(s); });
    if (n.in.size() == 1)
      return in_stage_of<R>(
          n, stages_,
          [&](const auto& x) {
            return each<R>(
                s, [&](const R& a) { return function_of(n, a); }, x);
          },
          in<R>(s, 0));
    return in_stage_of<R>(
        n, stages_,
        [&](const auto& x, const auto& y) {
          return each<R>(
              s, [&](const R& a, const R& b) { return function_of(n, a, b); }, x, y);
        },
        in<R>(s, 0), in<R>(s, 1));
  }
  reals<R> read(const step& s) const {
    const operand& from = s.in[0];
    if (std::holds_alternative<truths>(from.whole != nullptr ? *from.whole : steps_[from.member].made))
      return each<R>(
          s, [](truth x) { return reference::either(x, R(1.0), R(0.0)); }, in<truth>(s, 0));
    return each<R>(
        s, [](integer x) { return real_of(x); }, in<integer>(s, 0));
  }
  static R real_of(integer x) {
    if (x > integer{1} << 53 || x < -(integer{1} << 53))
      throw evaluation_error("an integer beyond 2^53 becomes a real");
    return reference::from_integer<R>(static_cast<double>(x));
  }

  integers of_integers(const step& s) const {
    const node& n = s.n;
    if (n.what == op::to_integer)
      return each<integer>(
          s, [](truth x) { return integer{known(x)}; }, in<truth>(s, 0));
    if (n.what == op::where)
      return each<integer>(
          s, [](truth c, integer x, integer y) { return known(c) ? x : y; }, in<truth>(s, 0), in<integer>(s, 1),
          in<integer>(s, 2));
    if (n.in.size() == 2)
      return each<integer>(
          s, [&](integer a, integer b) { return integer_result(n.what, a, b); }, in<integer>(s, 0), in<integer>(s, 1));
    const bool keeps_sign = n.what == op::magnitude;
    return each<integer>(
        s, [&](integer a) { return keeps_sign && a >= 0 ? a : integer_result(op::negative, 0, a); }, in<integer>(s, 0));
  }
  // Integers have no hull of two branches.
  static bool known(truth x) {
    if (boost::indeterminate(x)) throw undecided_integer();
    return static_cast<bool>(x);
  }

  truths of_truths(const step& s) const {
    switch (s.n.what) {
      case op::less:
      case op::less_equal:
      case op::equal: {
        const operand& first = s.in[0];
        const bool of_integers =
            std::holds_alternative<integers>(first.whole != nullptr ? *first.whole : steps_[first.member].made);
        return of_integers ? compare<integer>(s) : compare<R>(s);
      }
      case op::is_nan:
        return each<truth>(
            s, [](const R& x) { return is_no_number(x); }, in<R>(s, 0));
      case op::where:
        return each<truth>(
            s, [](truth c, truth x, truth y) { return (c && x) || (!c && y); }, in<truth>(s, 0), in<truth>(s, 1),
            in<truth>(s, 2));
      case op::negation:
        return each<truth>(
            s, [](truth a) { return !a; }, in<truth>(s, 0));
      default: {
        const bool both = s.n.what == op::both;
        return each<truth>(
            s, [&](truth a, truth b) { return both ? a && b : a || b; }, in<truth>(s, 0), in<truth>(s, 1));
      }
    }
  }
  template <class T>
  truths compare(const step& s) const {
    return each<truth>(
        s, [&](const T& a, const T& b) { return compared<T>(s.n.what, a, b); }, in<T>(s, 0), in<T>(s, 1));
  }

  const core::shape& shape_;
  const std::vector<std::string>& stages_;
  std::vector<std::size_t> own_places_;
  std::vector<step> steps_;
};

}  // namespace assay::reference::formula
