// Arrays of a program in one reading, and how operators walk through them.
#pragma once

#include <algorithm>
#include <boost/logic/tribool.hpp>
#include <stdexcept>
#include <variant>
#include <vector>

#include "reference/formula/program.hpp"
#include "reference/formula_owner.hpp"

namespace assay::reference::formula {

/// An error that only the numbers of a call show: an integer overflows, is divided by 0, or points outside an array.
struct evaluation_error : no_answer {
  using no_answer::no_answer;
};

template <class R>
using reals = std::vector<R>;
using integers = std::vector<std::int64_t>;
using truths = std::vector<boost::tribool>;

/// An integer depends on a comparison that the reading cannot decide.
struct undecided_integer : std::runtime_error {
  undecided_integer() : std::runtime_error("an integer depends on a comparison that is not decided") {}
};

/// An array in row-major order, with the shape of its node.
template <class R>
using array = std::variant<reals<R>, integers, truths>;

/// The distances between the elements of an array along the axes of another array; 0 along a broadcast axis.
using strides = std::vector<std::size_t>;

inline strides row_major(const core::shape& s) {
  strides all(s.size(), 1);
  for (std::size_t k = s.size(); k-- > 1;) all[k - 1] = all[k] * s[k];
  return all;
}
inline strides broadcast_strides(const core::shape& from, const core::shape& to) {
  const strides own = row_major(from);
  strides all(to.size(), 0);
  for (std::size_t k = 0; k < from.size(); ++k)
    if (from[k] != 1) all[to.size() - from.size() + k] = own[k];
  return all;
}

/// Walks through the indices of a shape in row-major order and keeps the places in N arrays.
template <std::size_t N>
class walk {
 public:
  walk(const core::shape& s, std::array<strides, N> steps) : shape_(s), steps_(std::move(steps)), index_(s.size(), 0) {}
  [[nodiscard]] const std::array<std::size_t, N>& offsets() const { return offsets_; }
  [[nodiscard]] const std::vector<std::size_t>& index() const { return index_; }
  void next() {
    for (std::size_t k = shape_.size(); k-- > 0;) {
      if (++index_[k] < shape_[k]) {
        for (std::size_t a = 0; a < N; ++a) offsets_[a] += steps_[a][k];
        return;
      }
      for (std::size_t a = 0; a < N; ++a) offsets_[a] -= steps_[a][k] * (shape_[k] - 1);
      index_[k] = 0;
    }
  }

 private:
  core::shape shape_;
  std::array<strides, N> steps_;
  std::array<std::size_t, N> offsets_{};
  std::vector<std::size_t> index_;
};

/// The same for one array, many places at a time: the places of the next elements, row by row.
class walk_by_rows {
 public:
  walk_by_rows(const core::shape& s, const strides& steps)
      : size_(s.empty() ? 1 : s.back()),
        step_(s.empty() ? 0 : steps.back()),
        rows_(all_but_last(s), {all_but_last(steps)}) {}
  void next(std::size_t* places, std::size_t count) {
    while (count > 0) {
      const std::size_t taken = std::min(count, size_ - within_row_);
      for (std::size_t k = 0; k < taken; ++k) places[k] = rows_.offsets()[0] + (within_row_ + k) * step_;
      places += taken;
      count -= taken;
      within_row_ += taken;
      if (within_row_ == size_) rows_.next(), within_row_ = 0;
    }
  }

 private:
  template <class Shape>
  static Shape all_but_last(const Shape& s) {
    return s.empty() ? s : Shape(s.begin(), s.end() - 1);
  }
  std::size_t size_, step_, within_row_ = 0;
  walk<1> rows_;
};

/// The rows along an axis: the size of the axis, the distance from one position to the next, and the number of rows.
struct rows_along {
  std::size_t size, step, count;
  rows_along(const core::shape& s, std::size_t axis)
      : size(s[axis]), step(row_major(s)[axis]), count(size == 0 ? 0 : elements_of(s) / size) {}
  /// The place where a row begins.
  [[nodiscard]] std::size_t first(std::size_t row) const { return row / step * step * size + row % step; }
};

/// The rows from which each element of a reduction is made: where they begin, and the places of their elements from
/// there.
struct reduced_rows {
  std::vector<std::size_t> first, within;
  /// The most additions for one sum, where programs go axis by axis in any order.
  double additions = 0.0;
  reduced_rows(const core::shape& shape, const std::vector<std::int64_t>& axes);

  template <class T>
  [[nodiscard]] std::vector<T> row(const std::vector<T>& all, std::size_t from) const {
    std::vector<T> made;
    made.reserve(within.size());
    for (const std::size_t index : within) made.push_back(all[from + index]);
    return made;
  }
};

/// The places of the terms of a contraction: for each element of the result the first places in both operands, and the
/// places of its terms from there.
struct contracted_places {
  using pair = std::array<std::size_t, 2>;
  std::vector<pair> first, within;
  double additions = 0.0;  ///< as in reduced_rows
  contracted_places(const contraction& letters, const core::shape& made, const core::shape& x, const core::shape& y);
};

/// The source of an element of a result that only moves elements: the input it comes from, and its place there.
struct place {
  std::size_t input, element;
};
/// The source of each element. Precondition: the node is of the family of movement, or of scattering. For scattering,
/// each result is the place in x to which an added element goes. `indices` are those of gather, take_along and their
/// transposes.
std::vector<place> places_of(const node& n, const core::shape& made, const std::vector<const core::shape*>& in,
                             const integers* indices);

/// Integer arithmetic; an overflow is an error. // and % are those of Python.
std::int64_t integer_result(op what, std::int64_t x, std::int64_t y);

}  // namespace assay::reference::formula
