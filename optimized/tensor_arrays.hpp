// Converts between tensors, which hold doubles, and the views that operations read and write. All encodings share this
// code.
#pragma once

#include <algorithm>
#include <any>
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "optimized/operations.hpp"
#include "optimized/storage.hpp"
#include "optimized/views.hpp"
#include "reference/core/result.hpp"
#include "reference/core/tensor.hpp"

namespace assay::optimized {

/// Convert an element to a number and back. The conversion is exact, because a tensor of a dtype holds values of that
/// dtype.
template <class T>
double number_of(const T& x) {
  if constexpr (std::is_same_v<T, arithmetic_of<T>>)
    return static_cast<double>(x);
  else
    return T::widened(x.bits);
}
template <class T>
T stored(double x) {
  if constexpr (std::is_same_v<T, arithmetic_of<T>>)
    return static_cast<T>(x);
  else
    return {T::rounded(static_cast<float>(x))};
}

/// The inputs of a call as arrays of Real, and the outputs of the call.
template <class Real>
class tensor_arrays {
 public:
  explicit tensor_arrays(const arguments& call) : call_(call) {}
  tensor_arrays(const tensor_arrays&) = delete;
  tensor_arrays& operator=(const tensor_arrays&) = delete;

  /// Returns an input. The copy is exact, because a tensor of dtype f32 holds values of float.
  template <std::size_t Rank>
  view<const Real, Rank> input(const std::string& name) {
    return copy_of<Real, Rank>(call_.inputs.at(name));
  }
  /// Returns an input in the type in which the operation computes. The states of 16-bit arrays have this type.
  template <std::size_t Rank>
  view<const arithmetic_of<Real>, Rank> state(const std::string& name) {
    return copy_of<arithmetic_of<Real>, Rank>(call_.inputs.at(name));
  }
  /// Returns an input that counts or measures positions. Every i64 position can be held by a double.
  template <std::size_t Rank>
  view<const double, Rank> positions(const std::string& name) {
    return copy_of<double, Rank>(call_.inputs.at(name));
  }
  view<const double, 1> positions(const std::string& name) { return positions<1>(name); }
  /// Return an input with one axis, and one with two axes.
  view<const Real, 1> vector(const std::string& name) { return input<1>(name); }
  view<const Real, 2> matrix(const std::string& name) { return input<2>(name); }

  /// Makes a new output, with the dtype of the call or of integers.
  template <std::size_t Rank, class T = Real>
  view<T, Rank> output(const std::string& name, const std::array<std::size_t, Rank>& shape) {
    if (again_) return next_view<view<T, Rank>>();
    memory<T>& elements = memory_of<T>();
    const view<T, Rank> v = place<T>(elements, shape);
    views_.emplace_back(v);
    collect_.push_back([this, name, v, &elements](core::tensors& outputs) {
      const core::dtype type = std::is_same_v<T, std::int64_t> ? core::dtype::i64 : call_.type;
      core::tensor t = core::unwritten(type, core::shape(v.shape.begin(), v.shape.end()));
      double* to = t.values.data();
      for_each_piece(v, [=](const view<T, 1>& piece, std::size_t first) {
        for (std::size_t i = 0; i < piece.shape[0]; ++i) {
          T& x = *piece.at(i);
          to[first + i] = core::round_to(type, number_of(x)), x = mark_of<T>();
        }
      });
      ASSAY_EXPECTS(call_.gap == 0 || std::all_of(elements.data.get(), elements.data.get() + elements.size,
                                                  [](const T& x) { return number_of(x) == number_of(mark_of<T>()); }));
      outputs.emplace(name, std::move(t));
    });
    return v;
  }

  template <std::size_t Rank>
  view<Real, Rank> output(const std::string& name, const std::size_t (&shape)[Rank]) {
    return output<Rank>(name, std::to_array(shape));
  }

  /// Makes an array that is not an output.
  template <std::size_t Rank>
  view<Real, Rank> scratch(const std::array<std::size_t, Rank>& shape) {
    if (again_) return next_view<view<Real, Rank>>();
    const view<Real, Rank> v = place<Real>(memory_of<Real>(), shape);
    views_.emplace_back(v);
    return v;
  }

  /// After this call, the object returns the arrays that it has made, in the order of their first requests.
  void begin_again() {
    again_ = true;
    next_ = 0;
  }

  /// Returns the outputs as tensors.
  core::tensors take() {
    core::tensors outputs;
    for (const auto& collect : collect_) collect(outputs);
    return outputs;
  }

 private:
  template <class View>
  View next_view() {
    return std::any_cast<View>(views_.at(next_++));
  }

  // A number that no test expects.
  template <class T>
  static T mark_of() {
    return stored<T>(-12345);
  }

  template <class T>
  struct memory {
    std::size_t size = 0;
    std::unique_ptr<T[]> data;
  };

  template <class T>
  memory<T>& memory_of() {
    if constexpr (std::is_same_v<T, Real>)
      return reals_.emplace_back();
    else if constexpr (std::is_same_v<T, arithmetic_of<Real>>)
      return states_.emplace_back();
    else if constexpr (std::is_same_v<T, std::int64_t>)
      return integers_.emplace_back();
    else
      return doubles_.emplace_back();
  }

  // Places elements call.step apart. At the end of each row and of each block of rows there are call.gap unused
  // elements.
  template <class T, std::size_t Rank>
  view<T, Rank> place(memory<T>& elements, const std::array<std::size_t, Rank>& shape) const {
    view<T, Rank> v{nullptr, shape, {}};
    std::size_t length = call_.step;
    for (std::size_t k = Rank; k-- > 0; length = length * shape[k] + call_.gap)
      v.stride[k] = static_cast<std::ptrdiff_t>(length);
    elements = {std::max<std::size_t>(1, length),
                std::make_unique_for_overwrite<T[]>(std::max<std::size_t>(1, length))};
    v.data = elements.data.get();
    for_each_piece(dense<T, 1>(v.data, {elements.size}),
                   [](const view<T, 1>& piece, std::size_t) { std::fill_n(piece.data, piece.shape[0], mark_of<T>()); });
    return v;
  }

  template <class T, std::size_t Rank>
  view<const T, Rank> copy_of(const core::tensor& t) {
    if (again_) return next_view<view<const T, Rank>>();
    const core::shape extents = t.shape();
    ASSAY_EXPECTS(extents.size() == Rank);
    std::array<std::size_t, Rank> shape{};
    std::copy(extents.begin(), extents.end(), shape.begin());
    const view<T, Rank> v = place<T>(memory_of<T>(), shape);
    const double* from = t.values.data();
    for_each_piece(v, [=](const view<T, 1>& piece, std::size_t first) {
      for (std::size_t i = 0; i < piece.shape[0]; ++i) *piece.at(i) = stored<T>(from[first + i]);
    });
    const view<const T, Rank> made = v;
    views_.emplace_back(made);
    return made;
  }

  // Calls visit(piece, number of its first element) for parts of rows along the last axis, on the threads of the call.
  template <class T, std::size_t Rank, class Visit>
  void for_each_piece(const view<T, Rank>& v, Visit visit) const {
    constexpr std::size_t elements_of_task = std::size_t{1} << 16;
    const std::size_t elements = v.size(), length = v.shape[Rank - 1];
    for_each_task(call_.on.threads, (elements + elements_of_task - 1) / elements_of_task, [&](std::size_t task) {
      const std::size_t end = std::min(elements, (task + 1) * elements_of_task);
      for (std::size_t first = task * elements_of_task, count = 0; first < end; first += count) {
        const std::size_t column = first % length;
        count = std::min(length - column, end - first);
        view<T, 1> piece{
            v.data + static_cast<std::ptrdiff_t>(column) * v.stride[Rank - 1], {count}, {v.stride[Rank - 1]}};
        for (std::size_t k = Rank - 1, row = first / length; k-- > 0; row /= v.shape[k])
          piece.data += static_cast<std::ptrdiff_t>(row % v.shape[k]) * v.stride[k];
        visit(piece, first);
      }
    });
  }

  const arguments& call_;
  std::deque<memory<Real>> reals_;
  std::deque<memory<arithmetic_of<Real>>> states_;
  std::deque<memory<double>> doubles_;
  std::deque<memory<std::int64_t>> integers_;
  std::vector<std::function<void(core::tensors&)>> collect_;
  std::vector<std::any> views_;  // in the order of their requests
  std::size_t next_ = 0;
  bool again_ = false;
};

template <class Real, class Run>
core::tensors outputs_of(const arguments& call, Run run) {
  tensor_arrays<Real> arrays(call);
  run(arrays);
  if (call.timing != nullptr) (*call.timing)([&] { arrays.begin_again(), run(arrays); });
  return arrays.take();
}

/// Returns the outputs that run(tensor_arrays<Real>&) makes. Real is the number type of the call: f32 or f64.
template <class Run>
core::tensors with_arrays(const arguments& call, Run run) {
  ASSAY_EXPECTS(call.type == core::dtype::f32 || call.type == core::dtype::f64);
  return call.type == core::dtype::f32 ? outputs_of<float>(call, run) : outputs_of<double>(call, run);
}

/// The same as a routine, with run(call, arrays).
template <auto run>
core::tensors on_arrays(const arguments& call) {
  return with_arrays(call, [&](auto& arrays) { run(call, arrays); });
}

/// The same for operations that also take 16-bit arrays.
template <class Run>
core::tensors with_stored_arrays(const arguments& call, Run run) {
  if (call.type == core::dtype::f16) return outputs_of<float16>(call, run);
  if (call.type == core::dtype::bf16) return outputs_of<bfloat16>(call, run);
  return with_arrays(call, run);
}

}  // namespace assay::optimized
