// Elementwise nodes of a program in a reading, in tiles of lanes.
#pragma once

#include <fmt/format.h>

#include <numeric>
#include <optional>

#include "reference/formula/elements.hpp"

namespace assay::reference::formula {

/// Nodes that are evaluated together (evaluation_order). All have one shape, and each one except the last is used only
/// by others of them.
template <class R>
class elementwise_run {
 public:
  /// Precondition: the other nodes that they use have been evaluated.
  elementwise_run(const program& p, std::span<const node_id> members, const std::vector<std::optional<array<R>>>& made,
                  const std::vector<std::string>& stages)
      : shape_(p.type_of(members.back()).shape), stages_(stages), own_places_(std::min(tile, elements_of(shape_))) {
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
      s.made = room_for(s.kind, std::min(tile, elements_of(shape_)));
      steps_.push_back(std::move(s));
    }
  }

  /// The array of the last node of the run. Throws evaluation_error, which names the node.
  array<R> operator()() {
    const std::size_t count = elements_of(shape_);
    array<R> all = nothing_of(steps_.back().kind);
    std::visit([&](auto& values) { values.reserve(count); }, all);
    for (std::size_t first = 0; first < count; first += tile) {
      const std::size_t size = std::min(tile, count - first);
      find_places(size);
      // The early steps say which branches are wanted.
      for (step& s : steps_)
        if (s.is_early) evaluate(s, size);
      find_wanted(size);
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
  // Some of the lanes of a tile, in order.
  struct lane_set {
    bool has_all = false;
    std::vector<char> is_in{};  ///< by lane; without a meaning where it has all lanes
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
    std::size_t member;     ///< the number of the operand's step, where the operand is a member of the run
    const array<R>* whole;  ///< the array of the operand, where the operand is not a member
    walk_by_rows walker;
    std::vector<std::size_t> places;  ///< places for the lanes of a tile
  };
  struct step {
    node_id id;
    const node& n;
    number_kind kind;
    bool is_early;  ///< an integer or boolean that depends on no real number of the run
    std::vector<operand> in{};
    array<R> made{};  ///< by lane
    lane_set wanted{};
  };

  static array<R> nothing_of(number_kind kind) {
    if (kind == number_kind::real) return reals<R>{};
    if (kind == number_kind::integer) return integers{};
    return truths{};
  }
  static array<R> room_for(number_kind kind, std::size_t size) {
    array<R> room = nothing_of(kind);
    std::visit([size](auto& values) { values.resize(size); }, room);
    return room;
  }

  void find_places(std::size_t size) {
    for (step& s : steps_) {
      s.wanted.clear(size);
      if (s.is_early) s.wanted.add_all();
      for (operand& o : s.in) {
        if (o.whole == nullptr) continue;
        o.places.resize(size);
        o.walker.next(o.places.data(), size);
      }
    }
  }

  // Goes from the last step to the first: a branch is wanted where its condition does not rule it out.
  void find_wanted(std::size_t size) {
    if (!steps_.back().is_early) steps_.back().wanted.add_all();
    for (auto s = steps_.rbegin(); s != steps_.rend(); ++s) {
      if (s->is_early) continue;
      s->wanted.finish(own_places_, size);
      const bool chooses = s->n.what == op::where && (s->in[0].whole != nullptr || steps_[s->in[0].member].is_early);
      for (std::size_t a = 0; a < s->in.size(); ++a) {
        if (s->in[a].whole != nullptr || steps_[s->in[a].member].is_early) continue;
        lane_set& also = steps_[s->in[a].member].wanted;
        if (chooses && a > 0)
          add_wanted_of_branch(also, s->wanted.places, s->in[0], a == 1, size);
        else if (s->wanted.has_all)
          also.add_all();
        else
          for (const std::size_t k : s->wanted.places) also.is_in[k] = 1;
      }
    }
  }
  void add_wanted_of_branch(lane_set& branch, const std::vector<std::size_t>& wanted, const operand& condition,
                            bool if_true, std::size_t size) const {
    const truths& values = std::get<truths>(array_of(condition));
    const std::vector<std::size_t>& places = places_of(condition);
    std::size_t count = 0;
    for (const std::size_t k : wanted) {
      const boost::tribool c = values[places[k]];
      const bool is_ruled_out = !boost::indeterminate(c) && bool(c) != if_true;
      branch.is_in[k] = branch.is_in[k] != 0 || !is_ruled_out ? 1 : 0;
      count += is_ruled_out ? 0 : 1;
    }
    if (count == size) branch.add_all();
  }

  const array<R>& array_of(const operand& o) const { return o.whole != nullptr ? *o.whole : steps_[o.member].made; }
  const std::vector<std::size_t>& places_of(const operand& o) const {
    return o.whole != nullptr ? o.places : own_places_;
  }

  void evaluate(step& s, std::size_t size) {
    if (s.is_early) s.wanted.finish(own_places_, size);
    if (s.wanted.places.empty()) return;
    std::vector<typename elements<R>::operand> in;
    for (const operand& o : s.in) in.push_back({&array_of(o), &places_of(o)});
    try {
      put(s, elements<R>(s.n, in, s.wanted.places, stages_).results_of_kind(s.kind));
    } catch (const evaluation_error& e) {
      throw evaluation_error(fmt::format("node {} ({}): {}", s.id, row_of(s.n.what).name, e.what()));
    }
  }
  static void put(step& s, array<R>&& found) {
    std::visit(
        [&]<class T>(std::vector<T>& made) {
          auto& all = std::get<std::vector<T>>(s.made);
          if (made.size() == all.size())
            all.swap(made);
          else
            for (std::size_t k = 0; k < made.size(); ++k) all[s.wanted.places[k]] = std::move(made[k]);
        },
        found);
  }

  const core::shape& shape_;
  const std::vector<std::string>& stages_;
  std::vector<std::size_t> own_places_;
  std::vector<step> steps_;
};

}  // namespace assay::reference::formula
