// The arrays of a call of the C API: checked one by one, then all against one another, before anything is computed.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "optimized/c_api/assay_scan.h"
#include "optimized/storage.hpp"
#include "optimized/views.hpp"

namespace assay::optimized::c_api {

/// Why a call was not made: a code of the header, and what is wrong with which argument. Stays inside the library.
struct refusal {
  int code;
  std::string what;
};

/// The code of a type of elements.
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

/// Where the elements of an array lie, in units of the smallest elements of a call.
struct footprint {
  const char* name;
  bool written;
  std::uintptr_t first;     ///< the address over the size of a unit
  std::uintptr_t last = 0;  ///< the last unit
  int rank = 0;             ///< axes with more than one element, the largest stride first
  std::array<std::int64_t, 3> size{}, stride{};

  void add_axis(std::int64_t its_size, std::int64_t its_stride);
};

/// Whether two arrays have an element in common. Exact, but for strides so irregular that the search for one takes
/// more than a fixed number of steps: then yes.
bool share_elements(const footprint& a, const footprint& b);

/// Whether each element of the array lies in a place of its own: each stride is larger than all that the smaller
/// strides span. Sufficient, and necessary for arrays that are cut, permuted or thinned out from a dense one.
bool has_distinct_elements(const footprint& a);

class checked_arguments {
 public:
  /// The size of the smallest elements of the call, of which that of all others is a multiple.
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
  /// An absent array as a view without data.
  template <class T, std::size_t Rank>
  view<const T, Rank> read_if_any(const char* name, const assay_const_array& a,
                                  const std::array<std::int64_t, Rank>& shape) {
    return a.rank == 0 ? view<const T, Rank>{} : read<T>(name, a, shape);
  }
  template <class T, std::size_t Rank>
  view<T, Rank> written_if_any(const char* name, const assay_array& a, const std::array<std::int64_t, Rank>& shape) {
    return a.rank == 0 ? view<T, Rank>{} : written<T>(name, a, shape);
  }

  /// Throws a refusal where an array that is written shares elements with itself or with another array.
  void check_overlaps() const;

 private:
  /// What an array is to be.
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

  // Strides that are not read are 0, so that nothing is added to a null pointer.
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
  std::array<footprint, 14> arrays_{};  // as many as scan_jvp has
  std::size_t count_ = 0;
};

}  // namespace assay::optimized::c_api
