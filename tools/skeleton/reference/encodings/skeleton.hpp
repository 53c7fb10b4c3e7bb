// Definition: the formula with its source (author, title, year, arXiv number, equation). This one is an example:
//
//   y_tk = a_k x_tk + s b_k p_t,    s = 1, or -1 where `sign` is "minus"
//
// Shapes: x, y [B, n, d]; a, b [d]; position p [n], integers, whatever the dtype of the call.
// Special values: NaN and infinities follow IEEE 754 arithmetic. A sequence may have no token.
// Gradients: grad_x = a grad_y; grad_a = sum of x grad_y and grad_b = s sum of p grad_y, over rows and tokens.
#pragma once

#include <functional>
#include <string_view>

#include "reference/core/operation.hpp"
#include "reference/readings/reading.hpp"

namespace assay::reference::encodings {

struct skeleton {
  static constexpr std::string_view name = "skeleton";

  /// The declaration. Commands, tests and reports read nothing else of the encoding.
  static std::vector<core::operation> operations();

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

  /// The formula and, for the name with ":vjp", its adjoint.
  template <class R>
  static fields<R> evaluate(const arguments<R>& call, const recipe<R>& how);
};

inline std::vector<core::operation> skeleton::operations() {
  const core::value_domain finite{}, counted{0.0, 0x1p53};
  core::operation scale{"skeleton/scale",
                        {{"x", {"B", "n", "d"}, finite, true, "what is encoded"},
                         {"a", {"d"}, finite, true, "scale"},
                         {"b", {"d"}, finite, true, "step from position to position"},
                         {"position", {"n"}, counted, false, "of each token", false, core::dtype::i64}},
                        {{"y", {"B", "n", "d"}, finite, true, "x with its position"}}};
  scale.source = "author year, arXiv number, equation";
  scale.independent = {"B", "n", "d"};
  scale.attributes = {{"sign", "plus", {"plus", "minus"}, "of the step"}};
  return {scale};
}

template <class R>
fields<R> skeleton::evaluate(const arguments<R>& call, const recipe<R>& how) {
  const field<R>&x = call["x"], &a = call["a"], &b = call["b"];
  const bool minus = call.template setting<std::string>("sign") == "minus";
  const auto with_sign = [minus](const R& r) { return minus ? -r : r; };
  const std::size_t n = x.shape(1), d = x.shape(2), tokens = x.shape(0) * n;
  std::vector<R> positions;  // of the tokens of all rows
  for (std::size_t i = 0; i < tokens; ++i)
    positions.push_back(how.position(call.integers.at("position").values.storage()[i % n]));
  if (!call.operation.ends_with(":vjp")) {
    field<R> y = make_field<R>({x.shape(0), n, d});
    for (std::size_t i = 0; i < y.size(); ++i)
      y.storage()[i] = how.scaled(a[i % d], x.storage()[i]) + with_sign(b[i % d]) * positions[i / d];
    return {{"y", std::move(y)}};
  }
  // charged(): the error bounds of sums must not cancel as the sums do.
  field<R> grad_x = make_field<R>({x.shape(0), n, d}), grad_a = make_field<R>({d}), grad_b = make_field<R>({d});
  field<R> grad_y = call["grad_y"], charged_x = x;
  for (R& r : grad_y.storage()) r = charged(r);
  for (R& r : charged_x.storage()) r = charged(r);
  for (R& r : positions) r = charged(r);
  for (std::size_t i = 0; i < x.size(); ++i) grad_x.storage()[i] = charged(a[i % d]) * grad_y.storage()[i];
  for (std::size_t k = 0; k < d; ++k) {
    const const_lane<R> cotangents(grad_y.data() + k, d, tokens);
    grad_a[k] = how.dot({charged_x.data() + k, d, tokens}, cotangents);
    grad_b[k] = with_sign(how.dot({positions.data(), 1, tokens}, cotangents));
  }
  return {{"grad_x", std::move(grad_x)}, {"grad_a", std::move(grad_a)}, {"grad_b", std::move(grad_b)}};
}

}  // namespace assay::reference::encodings
