// One case of a law under way: what is called, what is compared, and the first thing that is wrong. Calls carry the
// errors that they are allowed, comparisons that could not have failed are not counted, and what ends a law early ends
// it: a law is written as if all calls gave outputs and all comparisons held.
#pragma once

#include <fmt/format.h>

#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "properties/laws/approximate.hpp"
#include "properties/laws/compared_calls.hpp"
#include "properties/laws/settings.hpp"

namespace assay::properties {

class experiment {
 public:
  experiment(implementation& under_test, const test_case& of) : c(of), under_test_(under_test) {}

  const test_case& c;

  /// The outputs of a call, by default that of the case. Where there are none the law ends: outside the domain, as
  /// unsupported where the implementation lacks the operation, or failed.
  const measured_call& call() { return call(c); }
  const measured_call& call(const test_case& other);
  /// A call of another operation, in the dtype of the case.
  const measured_call& call(const core::operation* other, core::tensors inputs, core::attributes settings = {});
  /// A call whose outputs are allowed the errors of another one: where its own inputs, NaN say, leave none.
  const measured_call& call_allowed(const test_case& other, const measured_call& like);
  /// The forward call at the point of a derivative's case.
  const measured_call& forward() { return forward(c); }
  const measured_call& forward(const test_case& of_derivative);
  [[nodiscard]] bool offers(const std::string& operation) const;
  [[nodiscard]] const description& about() const { return under_test_.describe(); }

  /// The case says nothing unless this holds.
  void needs(bool informative) const;

  /// The two numbers must agree within their errors. `scale`: the size of what is compared, where it may cancel to
  /// less. The words say what is compared, up to ": x and y, allowed difference z".
  template <class... Args>
  void equal(approximate expected, approximate actual, double scale, fmt::format_string<Args...> words,
             Args&&... args) {
    if (!agree(all_, expected, actual, scale))
      differ(expected, actual, fmt::format(words, std::forward<Args>(args)...));
  }
  template <class... Args>
  void equal(approximate expected, approximate actual, fmt::format_string<Args...> words, Args&&... args) {
    equal(expected, actual, 0.0, words, std::forward<Args>(args)...);
  }
  /// x is at most y, within their errors.
  template <class... Args>
  void at_most(approximate x, approximate y, fmt::format_string<Args...> words, Args&&... args) {
    equal(x, {std::min(y.value, x.value), y.error}, words, std::forward<Args>(args)...);
  }
  /// All outputs of two calls, or the elements `to` of one output that are the elements `from` of the same.
  void equal(const measured_call& expected, const measured_call& actual, const std::string& what);
  void equal(const std::string& output, const measured_call& expected, const std::vector<std::size_t>& from,
             const measured_call& actual, const std::vector<std::size_t>& to, const std::string& what);
  /// Equal but for a number of each row, the last axis.
  void equal_but_row_constants(const std::string& output, const measured_call& expected, const measured_call& actual,
                               const std::string& what);

  /// Ends the law as failed.
  [[noreturn]] void wrong(std::string message) const;

  [[nodiscard]] outcome result() const { return all_.result(); }

  /// What ends a law before its end.
  struct ended {
    outcome how;
  };

 private:
  [[noreturn]] void differ(approximate expected, approximate actual, const std::string& what) const;

  implementation& under_test_;
  comparisons all_;
  std::deque<measured_call> calls_;  ///< references to its elements stay
};

/// The inputs of the case, as numbers without error.
class given_numbers {
 public:
  given_numbers(const test_case& c, const std::string& input) : x_(c.call.inputs.at(input).values.storage()) {}
  [[nodiscard]] std::size_t size() const { return x_.size(); }
  [[nodiscard]] approximate operator[](std::size_t i) const { return exactly(x_[i]); }

 private:
  const xt::xarray<double>::storage_type& x_;
};

/// sum of x[i] y[i] over [first, last).
template <class X, class Y>
approximate inner_product(const X& x, const Y& y, std::size_t first, std::size_t last) {
  approximate sum;
  for (std::size_t i = first; i < last; ++i) sum += x[i] * y[i];
  return sum;
}
template <class X>
approximate sum_of(const X& x, std::size_t first, std::size_t last) {
  approximate sum;
  for (std::size_t i = first; i < last; ++i) sum += x[i];
  return sum;
}

}  // namespace assay::properties
