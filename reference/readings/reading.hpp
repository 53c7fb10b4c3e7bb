// One formula, many readings.
//
// Programs (reference/formula) and the algorithms of the recurrence are evaluated for a number type R. A reading is a
// type R with
//   R(double)            exact
//   +, -, *, /, unary -  and the primitives of reference/primitives, each a file with all readings and its accuracy
//   is_minus_infinity(x) exact knowledge: x is -inf whatever its rounding errors are
//   to_double(x)         a double near x: for choices that change no result, such as the shift of a softmax
//   covering(x, other)   x; the allowance reading takes the error of other(), another way to compute x, if it is larger
// Readings that treat a composition with care specialise the class templates of this file.
//
// Three more are needed by algorithms with an adjoint of their own (reference/algorithms), and by those alone:
//   by_magnitude(x)         a cotangent or slope: its magnitude in the allowance reading (an allowance must not cancel)
//   stored_as_logarithm(x)  x, stored as log|x|
//   exp_of_roundings(x)     exp(x), where x is 0 apart from the rounding of its terms: 1 where nothing is rounded
//
// The readings: `value` (multiprecision), `enclosure` (outward-rounded interval), `ball` (number and radius), `tracked`
// (allowance), `sketched` (allowance by random experiments; for programs alone), `tangent` (dual number), `rounded`
// (the plain arithmetic of a format). The format that `tracked`, `sketched` and `rounded` compute in, and the precision
// of enclosures, are set for each thread (working_format.hpp, enclosure.hpp).
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <type_traits>
#include <utility>

#include "reference/core/operation.hpp"
#include "reference/primitives/all.hpp"

namespace assay::reference {

/// Arrays of a reading, by tensor name.
template <class R>
using field = xt::xarray<R>;
template <class R>
using fields = std::map<std::string, field<R>>;

template <class R>
field<R> make_field(const core::shape& s) {
  field<R> f = field<R>::from_shape(s);
  for (R& x : f.storage()) x = R(0.0);
  return f;
}

/// A call as a reading sees it.
template <class R>
struct arguments {
  std::string operation;
  fields<R> inputs;
  core::attributes settings{};  ///< all settings that the operation declares
  core::tensors integers{};     ///< inputs with a dtype of their own

  [[nodiscard]] const field<R>& operator[](const char* input) const { return inputs.at(input); }
  template <class T>
  [[nodiscard]] const T& setting(const char* name) const {
    return core::setting<T>(settings, name);
  }
};

/// The tensors as exact numbers of the reading.
template <class R>
fields<R> lift(const core::tensors& inputs) {
  fields<R> out;
  for (const auto& [name, t] : inputs) {
    field<R> f = field<R>::from_shape(t.shape());
    for (std::size_t i = 0; i < t.size(); ++i) f.storage()[i] = R(t.values.data()[i]);
    out.emplace(name, std::move(f));
  }
  return out;
}

template <class R>
arguments<R> lift(const core::request& call) {
  core::tensors numbers, integers;
  for (const auto& d : call.operation->inputs)
    (d.own_type ? integers : numbers).emplace(d.name, call.inputs.at(d.name));
  return {call.operation->name, lift<R>(numbers), core::completed(*call.operation, call.attributes),
          std::move(integers)};
}

/// One lane of a tensor: every `stride`-th element.
template <class R>
class strided {
 public:
  strided(R* first, std::size_t stride, std::size_t size) : first_(first), stride_(stride), size_(size) {}
  /// A mutable lane is also a constant one.
  operator strided<const R>() const { return {first_, stride_, size_}; }
  R& operator[](std::size_t i) const { return first_[i * stride_]; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  R* first_;
  std::size_t stride_, size_;
};

template <class R>
using const_lane = strided<const R>;
template <class R>
using lane = strided<R>;

/// An integer as a reading's arithmetic takes it: rounded where the format is too short. A reading that charges for
/// this has a static member of this name: an overload in its own header would not be found from earlier headers.
template <class R>
R from_integer(double x) {
  if constexpr (requires { R::from_integer(x); })
    return R::from_integer(x);
  else
    return R(x);
}

/// An integer that code keeps as an integer: an index or a bucket, which no format rounds.
template <class R>
R index_number(double x) {
  if constexpr (requires { R::index(x); })
    return R::index(x);
  else
    return R(x);
}

template <class R>
R by_magnitude(const R& x) {
  return x;
}
template <class R>
R stored_as_logarithm(const R& x) {
  return x;
}
template <class R, class Other>
R covering(const R& x, Other) {
  return x;
}
template <class R>
R exp_of_roundings(const R&) {
  return R(1.0);
}

/// A sum of products and terms, in no particular order (a dot product, a reduction over batch and time).
template <class R>
class accumulator {
 public:
  void add(const R& x) { sum_ = sum_ + x; }
  void add_product(const R& x, const R& y) { sum_ = sum_ + x * y; }
  [[nodiscard]] R total() const { return sum_; }

 private:
  R sum_ = R(0.0);
};

/// A running sum A that is subtracted from the inputs of a recurrence and added back to its results.
/// A enters twice and cancels; the allowance reading charges its rounding once, as a backward error.
template <class R>
class inclusive_sum {
 public:
  void add(const R& a) { sum_ = sum_ + a; }
  [[nodiscard]] R enter(const R& h) const { return h - sum_; }  ///< input relative to A
  [[nodiscard]] R carry(const R& l) const { return l; }         ///< state relative to A, one step later
  [[nodiscard]] R leave(const R& l) const { return l + sum_; }  ///< back to the absolute state

 private:
  R sum_ = R(0.0);
};

/// X = y e^m with a running shift m: the linear domain X_i = p_i X_{i-1} + e^{h_i} without overflow.
template <class R>
class rescaled_sum {
 public:
  explicit rescaled_sum(const R& s0) : shift_(s0), mantissa_(is_minus_infinity(s0) ? R(0.0) : R(1.0)) {}
  void step(const R& a, const R& h) {
    const R t = a + shift_;
    shift_ = larger(t, h);
    // No input has arrived yet: the state stays empty, whatever the shift is.
    mantissa_ = is_minus_infinity(shift_) ? R(0.0) : mantissa_ * exp(t - shift_) + exp(h - shift_);
  }
  [[nodiscard]] R log_value() const { return is_minus_infinity(shift_) ? shift_ : shift_ + log(mantissa_); }

 private:
  R shift_, mantissa_;
};

}  // namespace assay::reference
