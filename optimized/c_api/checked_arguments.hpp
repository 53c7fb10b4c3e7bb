// The arrays of a call of the C API. Each array is checked alone; then all arrays are checked against one another. Both
// checks happen before any computation.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "optimized/c_api/assay_scan.h"
#include "optimized/storage.hpp"
#include "optimized/views.hpp"

namespace assay::optimized::c_api {

/// The reason why a call was refused: a code of the header, and a text that names the argument and its fault. This
/// exception does not leave the library.
struct refusal {
  int code;
  std::string what;
};

/// The code of an element type.
template <class T>
inline constexpr int dtype_code = 0;
template <>
inline constexpr int dtype_code<float> = ASSAY_SCAN_F32;
template <>
inline constexpr int dtype_code<double> = ASSAY_SCAN_F64;
template <>
inline constexpr int dtype_code<float16> = ASSAY_SCAN_F16;
template <>
inline constexpr int dtype_code<bfloat16> = ASSAY_SCAN_BF16;

/// The places of the elements of an array, in units of the smallest element of a call.
struct footprint {
  const char* name;
  bool written;
  std::uintptr_t first;     ///< the address divided by the size of a unit
  std::uintptr_t last = 0;  ///< the last unit
  int rank = 0;             ///< number of axes with more than one element; the largest stride comes first
  std::array<std::int64_t, 3> size{}, stride{};

  void add_axis(std::int64_t its_size, std::int64_t its_stride);
};

/// Whether two arrays have an element in common. The answer is exact, except for strides so irregular that the search
/// for a common element takes more than a fixed number of steps; then the answer is yes.
bool share_elements(const footprint& a, const footprint& b);

/// Whether each element of the array lies in a place of its own. The test asks that each stride is larger than the span
/// of all smaller strides. This condition is sufficient. It is also necessary for arrays that are cut, permuted or
/// thinned out from a dense array.
bool has_distinct_elements(const footprint& a);

class checked_arguments {
 public:
  /// `unit` is the size of the smallest elements of the call. The size of every other element is a multiple of it.
  explicit checked_arguments(std::size_t unit) : unit_(unit) {}

  template <class T, std::size_t Rank>
  view<const T, Rank> read(const char* name, const assay_const_array& a, const std::array<std::int64_t, Rank>& shape) {
    add<T>(name, a.data, a, false, shape.data(), Rank);
    return view_of<const T, Rank>(static_cast<const T*>(a.data), a);
  }
  template <class T, std::size_t Rank>
  view<T, Rank> written(const char* name, const assay_array& a, const std::array<std::int64_t, Rank>& shape) {
    add<T>(name, a.data, a, true, shape.data(), Rank);
    return view_of<T, Rank>(static_cast<T*>(a.data), a);
  }
  /// Like read; an absent array gives a view without data.
  template <class T, std::size_t Rank>
  view<const T, Rank> read_if_any(const char* name, const assay_const_array& a,
                                  const std::array<std::int64_t, Rank>& shape) {
    return a.rank == 0 ? view<const T, Rank>{} : read<T>(name, a, shape);
  }
  template <class T, std::size_t Rank>
  view<T, Rank> written_if_any(const char* name, const assay_array& a, const std::array<std::int64_t, Rank>& shape) {
    return a.rank == 0 ? view<T, Rank>{} : written<T>(name, a, shape);
  }

  /// Throws a refusal if a written array shares elements with itself or with another array.
  void check_overlaps() const;

 private:
  /// The properties that an array must have.
  struct wanted {
    int dtype;
    std::size_t element_size;
    const std::int64_t* shape;
    int rank;
  };
  template <class T, class Array>
  void add(const char* name, const void* data, const Array& a, bool written, const std::int64_t* shape, int rank) {
    add(name, data, a.dtype, a.rank, a.size, a.stride, written, {dtype_code<T>, sizeof(T), shape, rank});
  }
  void add(const char* name, const void* data, int dtype, int rank, const std::int64_t* size,
           const std::int64_t* stride, bool written, const wanted& what);

  // A stride that is never used becomes 0, so that nothing is added to a null pointer.
  template <class T, std::size_t Rank, class Array>
  static view<T, Rank> view_of(T* data, const Array& a) {
    view<T, Rank> v{data, {}, {}};
    bool empty = false;
    for (std::size_t k = 0; k < Rank; ++k) empty = empty || a.size[k] == 0;
    for (std::size_t k = 0; k < Rank; ++k) {
      v.shape[k] = static_cast<std::size_t>(a.size[k]);
      v.stride[k] = empty || a.size[k] == 1 ? 0 : static_cast<std::ptrdiff_t>(a.stride[k]);
    }
    return v;
  }

  std::size_t unit_;
  std::array<footprint, 14> arrays_{};  // scan_jvp has this many arrays
  std::size_t count_ = 0;
};

}  // namespace assay::optimized::c_api
