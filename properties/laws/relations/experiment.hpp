// One case of a law under way: what is called, what is compared, and the first thing that is wrong. Calls carry the
// errors that they are allowed, comparisons that could not have failed are not counted, and what ends a law early ends
// it: a law is written as if all calls gave outputs and all comparisons held.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <limits>
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

  /// What ends a law before its end.
  struct ended {
    outcome how;
  };

  const test_case& c;

  /// The outputs of a call, by default that of the case. Where there are none the law ends: outside the domain, as
  /// unsupported where the implementation lacks the operation, or failed.
  const measured_call& call() { return call(c); }
  const measured_call& call(const test_case& other);
  /// A call of another operation, in the dtype of the case.
  const measured_call& call(const core::operation* other, core::tensors inputs, core::attributes settings = {});
  /// A call whose outputs must be right: judged against the truth.
  const measured_call& right_call(const test_case& other);
  /// A call with an empty axis, inside the declared domain: right; or answered with an error where `beside`, the same
  /// call with elements, gives outputs, which is a refusal unless empty axes are declared to be taken; or unsupported.
  enum class answer { right, refused, declined };
  answer right_or_refused(const test_case& empty, const test_case& beside, std::string& error);
  /// Notes a refusal, which fails nothing.
  void note(refusal of) { refused_.push_back(std::move(of)); }
  /// Outputs of the case, with the errors that they are allowed.
  [[nodiscard]] measured_call allowed(core::tensors outputs) const {
    return with_allowances(about(), c, std::move(outputs));
  }
  /// The outputs of any call, of a case outside the declared domain too.
  const core::tensors& outputs_of(const test_case& other);
  /// The forward call at the point of a derivative's case.
  const measured_call& forward() { return forward(c); }
  const measured_call& forward(const test_case& of_derivative);
  [[nodiscard]] bool offers(const std::string& operation) const;
  [[nodiscard]] const description& about() const { return under_test_.describe(); }

  /// Ends the law where the implementation lacks the operation.
  void needs_operation(const std::string& name) const {
    if (!offers(name)) throw ended{{status::unsupported}};
  }
  /// Ends the law where the case lies outside the declared domain.
  void needs_domain(const test_case& of) const;
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
  /// x is at most y, within their errors; a NaN is at most nothing.
  template <class... Args>
  void at_most(approximate x, approximate y, double scale, fmt::format_string<Args...> words, Args&&... args) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (std::isnan(x.value) || std::isnan(y.value))
      differ(x, y, fmt::format(words, std::forward<Args>(args)...));
    else if (x.value != -infinity && y.value != infinity)  // else it could not fail
      equal(x, {std::min(y.value, x.value), y.error}, scale, words, std::forward<Args>(args)...);
  }
  template <class... Args>
  void at_most(approximate x, approximate y, fmt::format_string<Args...> words, Args&&... args) {
    at_most(x, y, 0.0, words, std::forward<Args>(args)...);
  }
  /// x lies in [low, high], within its error: it agrees with the nearest number there.
  template <class... Args>
  void within(double low, double high, approximate x, fmt::format_string<Args...> words, Args&&... args) {
    const double nearest = x.value > high ? high : x.value >= low ? x.value : low;
    equal(exactly(nearest), x, high - low, words, std::forward<Args>(args)...);
  }
  /// All outputs of two calls, or the elements `to` of one output that are the elements `from` of the same.
  void equal(const measured_call& expected, const measured_call& actual, const std::string& what);
  void equal(const std::string& output, const measured_call& expected, const std::vector<std::size_t>& from,
             const measured_call& actual, const std::vector<std::size_t>& to, const std::string& what);
  /// What the outputs hold at the positions `to` of an axis is what others hold at the positions `from`. Of outputs
  /// that lack the axis all is equal, or nothing is said.
  enum class without_axis { equal, left_out };
  void equal_along(const std::string& axis, const measured_call& expected, const std::vector<std::size_t>& from,
                   const measured_call& actual, const std::vector<std::size_t>& to, without_axis others,
                   const std::string& what);
  /// Elements of an output are 0. `scale`: the size of what else they could be.
  void zero(const std::string& output, const measured_call& actual, const std::vector<std::size_t>& elements,
            double scale, const std::string& what) {
    for (const std::size_t i : elements)
      equal(exactly(0), element(actual, output, i), scale, "{}: {} element {}", what, output, i);
  }
  /// Equal but for a number of each row, the last axis.
  void equal_but_row_constants(const std::string& output, const measured_call& expected, const measured_call& actual,
                               const std::string& what);

  /// The first element whose bits differ (NaNs and zeros aside); nothing where there is none.
  std::optional<std::string> changed_bits(const core::tensors& expected, const core::tensors& actual) {
    return compare_bits(all_, expected, actual);
  }
  /// A comparison that was made otherwise, and holds.
  void count(bool informative) { all_.count(informative); }
  /// These are the outputs of a call: judged against the truth.
  void judge(const test_case& of, const core::tensors& outputs);

  /// Where it ends in there, the message begins with these words.
  template <class Part>
  void during(const std::string& words, Part part) {
    try {
      part();
    } catch (ended& end) {
      if (!end.how.message.empty()) end.how.message = words + ": " + end.how.message;
      throw;
    }
  }
  /// Ends the law as failed.
  [[noreturn]] void wrong(std::string message) const;

  [[nodiscard]] outcome result() const { return all_.result(); }
  [[nodiscard]] const std::vector<refusal>& refused() const { return refused_; }

 private:
  [[noreturn]] void differ(approximate expected, approximate actual, const std::string& what) const;

  implementation& under_test_;
  comparisons all_;
  std::vector<refusal> refused_{};
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

/// A term of a long sum in double, with its share of the sum's rounding.
inline approximate summand(approximate x) { return {x.value, x.error + 0x1p-44 * std::fabs(x.value)}; }

/// A sum whose terms may cancel, and their size.
struct cancelling_sum {
  approximate value;
  double size = 0;
  void add(approximate term) {
    value += term;
    size += std::fabs(term.value);
  }
};

}  // namespace assay::properties
