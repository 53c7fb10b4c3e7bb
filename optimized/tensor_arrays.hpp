// Between tensors, which hold doubles, and the views that operations read and write: once for all encodings.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "optimized/operations.hpp"
#include "optimized/views.hpp"
#include "reference/core/result.hpp"
#include "reference/core/tensor.hpp"

namespace assay::optimized {

/// The inputs of a call as arrays of Real, and its outputs.
template <class Real>
class tensor_arrays {
 public:
  explicit tensor_arrays(const arguments& call) : call_(call) {}
  tensor_arrays(const tensor_arrays&) = delete;
  tensor_arrays& operator=(const tensor_arrays&) = delete;

  /// An input. Exact: a tensor of dtype f32 holds values of float.
  template <std::size_t Rank>
  view<const Real, Rank> input(const std::string& name) {
    return copy_of<Real, Rank>(call_.inputs.at(name));
  }
  /// An input that counts or measures positions: every i64 that is one is a double.
  template <std::size_t Rank>
  view<const double, Rank> positions(const std::string& name) {
    return copy_of<double, Rank>(call_.inputs.at(name));
  }

  /// A new output, of the dtype of the call, or of integers.
  template <std::size_t Rank, class T = Real>
  view<T, Rank> output(const std::string& name, const std::array<std::size_t, Rank>& shape) {
    std::vector<T>& memory = memory_of<T>();
    const view<T, Rank> v = place<T>(memory, shape);
    collect_.push_back([this, name, v, &memory](core::tensors& outputs) {
      const core::dtype type = std::is_same_v<T, std::int64_t> ? core::dtype::i64 : call_.type;
      core::tensor t = core::zeros(type, core::shape(v.shape.begin(), v.shape.end()));
      auto to = t.values.begin();
      for_each_element(v, [&](T& x) { *to++ = static_cast<double>(x), x = mark<T>; });
      ASSAY_EXPECTS(call_.gap == 0 || std::count(memory.begin(), memory.end(), mark<T>) == std::ssize(memory));
      outputs.emplace(name, std::move(t));
    });
    return v;
  }

  /// An array for what is no output.
  template <std::size_t Rank>
  view<Real, Rank> scratch(const std::array<std::size_t, Rank>& shape) {
    return place<Real>(memory_of<Real>(), shape);
  }

  /// The outputs as tensors.
  core::tensors take() {
    core::tensors outputs;
    for (const auto& collect : collect_) collect(outputs);
    return outputs;
  }

 private:
  template <class T>
  static constexpr T mark = T(-12345);

  template <class T>
  std::vector<T>& memory_of() {
    if constexpr (std::is_same_v<T, Real>)
      return reals_.emplace_back();
    else if constexpr (std::is_same_v<T, std::int64_t>)
      return integers_.emplace_back();
    else
      return doubles_.emplace_back();
  }

  // Elements call.step apart and, at the end of each row and of each block of rows, call.gap elements of nobody.
  template <class T, std::size_t Rank>
  view<T, Rank> place(std::vector<T>& memory, const std::array<std::size_t, Rank>& shape) const {
    view<T, Rank> v{nullptr, shape, {}};
    std::size_t length = call_.step;
    for (std::size_t k = Rank; k-- > 0; length = length * shape[k] + call_.gap)
      v.stride[k] = static_cast<std::ptrdiff_t>(length);
    memory.assign(std::max<std::size_t>(1, length), mark<T>);
    v.data = memory.data();
    return v;
  }

  template <class T, std::size_t Rank>
  view<const T, Rank> copy_of(const core::tensor& t) {
    const core::shape extents = t.shape();
    ASSAY_EXPECTS(extents.size() == Rank);
    std::array<std::size_t, Rank> shape{};
    std::copy(extents.begin(), extents.end(), shape.begin());
    const view<T, Rank> v = place<T>(memory_of<T>(), shape);
    auto from = t.values.begin();
    for_each_element(v, [&](T& x) { x = static_cast<T>(*from++); });
    return v;
  }

  const arguments& call_;
  std::deque<std::vector<Real>> reals_;
  std::deque<std::vector<double>> doubles_;
  std::deque<std::vector<std::int64_t>> integers_;
  std::vector<std::function<void(core::tensors&)>> collect_;
};

/// The outputs that run(tensor_arrays<Real>&) makes, Real being the number type of the call: f32 or f64.
template <class Run>
core::tensors with_arrays(const arguments& call, Run run) {
  const auto outputs_of = [&]<class Real>(tensor_arrays<Real> arrays) {
    run(arrays);
    return arrays.take();
  };
  ASSAY_EXPECTS(call.type == core::dtype::f32 || call.type == core::dtype::f64);
  return call.type == core::dtype::f32 ? outputs_of(tensor_arrays<float>(call))
                                       : outputs_of(tensor_arrays<double>(call));
}

}  // namespace assay::optimized
