// Arrays that belong to someone else, as a pointer, a shape and strides.
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace assay::optimized {

/// Elements of type T at data[i_1 stride_1 + ... + i_R stride_R], 0 <= i_k < shape_k. Strides count elements. They may
/// be negative; for arrays that are only read, they may also be zero. If `data` is null, the array is absent.
///
///     const view<const float, 3> heads_first{
///         q.data(), {heads, n, d}, {d, heads * d, 1}};  // of an array [n, heads, d]
///     const float element = *heads_first.at(0, 2, 1);
template <class T, std::size_t Rank>
struct view {
  T* data = nullptr;
  std::array<std::size_t, Rank> shape{};
  std::array<std::ptrdiff_t, Rank> stride{};

  [[nodiscard]] bool absent() const { return data == nullptr; }
  [[nodiscard]] std::size_t size() const {
    std::size_t count = 1;
    for (const std::size_t extent : shape) count *= extent;
    return count;
  }
  /// Whether the last axis has no gaps.
  [[nodiscard]] bool has_unit_rows() const { return stride[Rank - 1] == 1 || shape[Rank - 1] <= 1; }

  template <class... Index>
  [[nodiscard]] T* at(Index... index) const {
    return at_offset(std::index_sequence_for<Index...>{}, index...);
  }

  /// A view of writable elements converts to a view of readable elements.
  operator view<const T, Rank>() const requires(!std::is_const_v<T>) { return {data, shape, stride}; }

 private:
  template <std::size_t... K, class... Index>
  T* at_offset(std::index_sequence<K...>, Index... index) const {
    return data + (... + (static_cast<std::ptrdiff_t>(index) * stride[K]));
  }
};

/// Whether v has this shape, and has data if it has elements.
///
///     ASSAY_EXPECTS(has_shape(out, std::array<std::size_t, 2>{n, d}));
template <class T, std::size_t Rank>
bool has_shape(const view<T, Rank>& v, const std::array<std::size_t, Rank>& shape) {
  return v.shape == shape && (v.data != nullptr || v.size() == 0);
}

/// A view of a row-major array without gaps.
///
///     const view<const float, 3> in = dense<const float, 3>(x.data(), {B, n, d});
template <class T, std::size_t Rank>
view<T, Rank> dense(T* data, const std::array<std::size_t, Rank>& shape) {
  view<T, Rank> v{data, shape, {}};
  std::ptrdiff_t step = 1;
  for (std::size_t k = Rank; k-- > 0; step *= static_cast<std::ptrdiff_t>(shape[k])) v.stride[k] = step;
  return v;
}

/// Calls f(step) with the step of a row. If the row has no gaps, the step is a constant, so that the compiler
/// vectorizes loops over the row.
///
///     double sum = 0;
///     with_step(row, [&](auto step) {
///       for (std::size_t k = 0; k < row.shape[0]; ++k) sum += row.data[static_cast<std::ptrdiff_t>(k) * step];
///     });
template <class T, class Function>
void with_step(const view<T, 1>& row, Function f) {
  if (row.has_unit_rows())
    f(std::integral_constant<std::ptrdiff_t, 1>{});
  else
    f(row.stride[0]);
}

/// The part of v at index i of the first axis.
///
///     const view<const float, 2> sequence = part(in, 0);  // [n, d] of [B, n, d]
template <class T, std::size_t Rank>
view<T, Rank - 1> part(const view<T, Rank>& v, std::size_t i) {
  view<T, Rank - 1> inner{v.data + static_cast<std::ptrdiff_t>(i) * v.stride[0], {}, {}};
  for (std::size_t k = 1; k < Rank; ++k) inner.shape[k - 1] = v.shape[k], inner.stride[k - 1] = v.stride[k];
  return inner;
}

/// The part of v at index i of the first axis and index j of the second.
///
///     const view<const float, 1> token = part(in, 0, n - 1);  // [d] of [B, n, d]
template <class T, std::size_t Rank>
view<T, Rank - 2> part(const view<T, Rank>& v, std::size_t i, std::size_t j) {
  return part(part(v, i), j);
}

/// The part of v at the indices [first, first + count) of the first axis.
///
///     const view<const float, 2> later = section(part(in, 0), n / 2, n - n / 2);  // the second half of the tokens
template <class T, std::size_t Rank>
view<T, Rank> section(view<T, Rank> v, std::size_t first, std::size_t count) {
  v.data += static_cast<std::ptrdiff_t>(first) * v.stride[0];
  v.shape[0] = count;
  return v;
}

/// Calls visit(element) for the elements of a view, in row-major order.
///
///     float largest = 0;
///     for_each_element(in, [&](float x) { largest = std::max(largest, std::fabs(x)); });
template <class T, std::size_t Rank, class Visit>
void for_each_element(const view<T, Rank>& v, Visit visit) {
  if constexpr (Rank == 1)
    for (std::size_t i = 0; i < v.shape[0]; ++i) visit(*v.at(i));
  else
    for (std::size_t i = 0; i < v.shape[0]; ++i) for_each_element(part(v, i), visit);
}

}  // namespace assay::optimized
