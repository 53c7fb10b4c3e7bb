// For operations that need a last axis without gaps: an array that has gaps there is replaced by a copy without gaps.
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "optimized/views.hpp"

namespace assay::optimized::c_api {

/// Copies `from` to `to`. Both arrays have the same shape.
template <class T>
void copy_elements(const view<const T, 3>& from, const view<T, 3>& to) {
  constexpr std::size_t rows = 32;  // rows of a tile; in one of the two arrays, tokens often lie side by side
  for (std::size_t b = 0; b < from.shape[0]; ++b)
    for (std::size_t first = 0; first < from.shape[1]; first += rows) {
      const std::size_t end = std::min(first + rows, from.shape[1]);
      for (std::size_t j = 0; j < from.shape[2]; ++j)
        for (std::size_t i = first; i < end; ++i) *to.at(b, i, j) = *from.at(b, i, j);
    }
}

/// The array itself if its rows have no gaps, else a copy. T may be const.
template <class T>
class dense_rows {
  using element = std::remove_const_t<T>;

 public:
  explicit dense_rows(const view<T, 3>& v) : given_(v), used_(v) {
    if (v.has_unit_rows()) return;
    copy_.resize(v.size());
    const auto copy = dense<element, 3>(copy_.data(), v.shape);
    used_ = copy;
    if constexpr (std::is_const_v<T>) copy_elements<element>(v, copy);
  }
  [[nodiscard]] const view<T, 3>& rows() const { return used_; }
  /// Copies the rows back to the array, if they are a copy.
  void write_back() const requires(!std::is_const_v<T>) {
    if (!copy_.empty()) copy_elements<element>(used_, given_);
  }

 private:
  view<T, 3> given_, used_;
  std::vector<element> copy_;
};

}  // namespace assay::optimized::c_api
