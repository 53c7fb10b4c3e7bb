// A case of rope/rotate or rope/rotate_by, or of their gradients, by tokens, heads and pairs.
#pragma once

#include <utility>

#include "properties/laws/relations/relations.hpp"
#include "reference/encodings/rope.hpp"

namespace assay::properties::encodings::rope {

class rotary_case {
 public:
  explicit rotary_case(const test_case& c) : rotary_case(c.call) {}
  explicit rotary_case(const request& call)
      : settings_(core::completed(*call.operation, call.attributes)), sizes_(core::sizes_of(call)) {
    const auto r = sizes_.find("r");
    layout_ = {sizes_.at("d"),
               r != sizes_.end() ? r->second
                                 : reference::encodings::rope::pairs_of(
                                       sizes_.at("d"), core::setting<std::int64_t>(settings_, "rotary")),
               core::setting<std::string>(settings_, "layout") == "half_split"};
  }
  [[nodiscard]] std::size_t rows() const { return sizes_.at("B"); }
  [[nodiscard]] std::size_t tokens() const { return sizes_.at("n"); }
  [[nodiscard]] std::size_t heads() const { return sizes_.at("h"); }
  [[nodiscard]] std::size_t features() const { return layout_.features; }
  [[nodiscard]] std::size_t pairs() const { return layout_.pairs; }
  [[nodiscard]] const reference::rotary_layout& layout() const { return layout_; }
  /// Rows, tokens and heads together: vectors of d coordinates.
  [[nodiscard]] std::size_t vectors() const { return rows() * tokens() * heads(); }
  [[nodiscard]] std::size_t vector(std::size_t row, std::size_t token, std::size_t head) const {
    return (row * tokens() + token) * heads() + head;
  }
  /// The elements of pair t of a vector.
  [[nodiscard]] std::pair<std::size_t, std::size_t> pair(std::size_t vector, std::size_t t) const {
    return {vector * features() + layout_.first(t), vector * features() + layout_.second(t)};
  }

 private:
  core::attributes settings_;
  core::axis_sizes sizes_;
  reference::rotary_layout layout_{};
};

/// The case with positions changed one by one, row by row; nothing where a new one is none of the domain or of the
/// dtype.
template <class Change>
std::optional<test_case> with_positions(const test_case& c, Change change) {
  test_case moved = c;
  core::tensor& position = moved.call.inputs.at("position");
  for (double& m : position.values.storage()) {
    m = change(m);
    // Integers too must be numbers that the dtype of the call reaches: f16 ends at 65504.
    if (std::fabs(m) > core::largest_finite(c.call.type) || core::round_to(position.type, m) != m) return std::nullopt;
    if (!c.call.operation->input("position")->domain.contains(m)) return std::nullopt;
  }
  return moved;
}

/// Visits the two coordinates of every pair of every vector.
template <class Visit>
void for_pairs(const rotary_case& shape, Visit visit) {
  for (std::size_t v = 0; v < shape.vectors(); ++v)
    for (std::size_t t = 0; t < shape.pairs(); ++t) {
      const auto [first, second] = shape.pair(v, t);
      visit(v, t, first, second);
    }
}

}  // namespace assay::properties::encodings::rope
