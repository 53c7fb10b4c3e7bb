// Definition: the formula with its source (author, title, year, arXiv number, equation). This one is an example:
//
//   y_tk = a_k x_tk + s b_k p_t,    s = 1, or -1 where `sign` is "minus"
//
// Shapes: x, y [B, n, d]; a, b [d]; position p [n], integers, whatever the dtype of the call.
// Errors: against max(1, |y|), for a x and b p may cancel. Powers and products declare core::error_scale::relative.
// Special values: NaN and infinities follow IEEE 754 arithmetic. A sequence may have no token.
// Gradients: grad_x = a grad_y; grad_a = sum of x grad_y and grad_b = s sum of p grad_y, over rows and tokens.
#pragma once

#include <functional>
#include <string_view>

#include "reference/operation_record.hpp"

namespace assay::reference::encodings {

struct skeleton {
  static constexpr std::string_view name = "skeleton";

  /// The steps of the computation. Mutants, controls and accuracy classes replace them. R is a number type:
  /// multiprecision, an interval, a number with its error bound, a dual number (reference/readings/reading.hpp).
  template <class R>
  struct recipe {
    std::function<R(double p)> position = [](double p) { return from_integer<R>(p); };
    std::function<R(const R& a, const R& x)> scaled = [](const R& a, const R& x) { return a * x; };
    std::function<R(const_lane<R> x, const_lane<R> y)> dot = [](const_lane<R> x, const_lane<R> y) {
      accumulator<R> sum;  // in any order: candidates may add as they like
      for (std::size_t i = 0; i < x.size(); ++i) sum.add_product(x[i], y[i]);
      return sum.total();
    };
  };

  /// An operation is one record; leaving an evaluator out of it does not compile. Commands, tests and reports read
  /// nothing else of the encoding than the declaration.
  template <class R>
  using record = operation_record<R, recipe<R>>;
  template <class R>
  static std::vector<record<R>> records();

 private:
  template <class R>
  static fields<R> formula(const arguments<R>& call, const recipe<R>& how);
  template <class R>
  static fields<R> adjoint(const arguments<R>& call, const recipe<R>& how);
  /// The position of each token of all rows.
  template <class R>
  static std::vector<R> positions_of(const arguments<R>& call, const recipe<R>& how);
  static bool has_minus(const core::attributes& settings) {
    return core::chosen<bool>(settings, "sign", {{"plus", false}, {"minus", true}});
  }
};

template <class R>
std::vector<skeleton::record<R>> skeleton::records() {
  return {
      {.declaration =
           {.name = "skeleton/scale",
            .source = "author year, arXiv number, equation",
            .inputs = {{.name = "x", .axes = {"B", "n", "d"}, .meaning = "what is encoded"},
                       core::parameter("a", {"d"}, "scale"),
                       core::parameter("b", {"d"}, "step from position to position"),
                       core::integers("position", {"n"}, "of each token", {0.0, 0x1p53}, core::input_role::position)},
            .outputs = {{.name = "y", .axes = {"B", "n", "d"}, .meaning = "x with its position"}},
            .attributes = {{.name = "sign", .meaning = "of the step", .standard = "plus", .values = {"plus", "minus"}}},
            .independent = {"B", "n", "d"}},
       .algorithms = one_algorithm,
       .forward = formula<R>,
       .vjp = adjoint<R>,
       .jvp = not_offered}};
}

template <class R>
std::vector<R> skeleton::positions_of(const arguments<R>& call, const recipe<R>& how) {
  const auto& of_row = call.integers.at("position").values.storage();
  std::vector<R> positions;
  for (std::size_t row = 0; row < call["x"].shape(0); ++row)
    for (const double p : of_row) positions.push_back(how.position(p));
  return positions;
}

template <class R>
fields<R> skeleton::formula(const arguments<R>& call, const recipe<R>& how) {
  const field<R>&x = call["x"], &a = call["a"], &b = call["b"];
  const bool minus = has_minus(call.settings);
  const std::vector<R> positions = positions_of(call, how);
  field<R> y = x;
  for (std::size_t i = 0, d = x.shape(2); i < y.size(); ++i)
    y.storage()[i] = how.scaled(a[i % d], x.storage()[i]) + (minus ? -b[i % d] : b[i % d]) * positions[i / d];
  return {{"y", std::move(y)}};
}

template <class R>
fields<R> skeleton::adjoint(const arguments<R>& call, const recipe<R>& how) {
  const field<R>&x = call["x"], &a = call["a"];
  const std::size_t n = x.shape(1), d = x.shape(2), tokens = x.shape(0) * n;
  std::vector<R> positions = positions_of(call, how);
  // by_magnitude(): bounds must not cancel as sums do.
  field<R> grad_x = make_field<R>({x.shape(0), n, d}), grad_a = make_field<R>({d}), grad_b = make_field<R>({d});
  field<R> grad_y = call["grad_y"], charged_x = x;
  for (R& r : grad_y.storage()) r = by_magnitude(r);
  for (R& r : charged_x.storage()) r = by_magnitude(r);
  for (R& r : positions) r = by_magnitude(r);
  for (std::size_t i = 0; i < x.size(); ++i) grad_x.storage()[i] = by_magnitude(a[i % d]) * grad_y.storage()[i];
  for (std::size_t k = 0; k < d; ++k) {
    const const_lane<R> cotangents(grad_y.data() + k, d, tokens);
    grad_a[k] = how.dot({charged_x.data() + k, d, tokens}, cotangents);
    const R of_b = how.dot({positions.data(), 1, tokens}, cotangents);
    grad_b[k] = has_minus(call.settings) ? -of_b : of_b;
  }
  return {{"grad_x", std::move(grad_x)}, {"grad_a", std::move(grad_a)}, {"grad_b", std::move(grad_b)}};
}

}  // namespace assay::reference::encodings
