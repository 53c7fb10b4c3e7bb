// One case of a law in progress: its calls, its comparisons, and the first thing that is wrong. Calls carry the errors
// allowed to them, and comparisons that cannot fail are not counted. An exception ends a law early: a law is written as
// if all calls gave outputs and all comparisons held.
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
  experiment(implementation& under_test, const test_case& tested) : c(tested), under_test_(under_test) {}

  /// Thrown to end a law early.
  struct ended {
    outcome result;
  };

  const test_case& c;

  /// The outputs of a call, by default that of the case. If there are none, the law ends: as outside the domain, as
  /// unsupported if the implementation lacks the operation or declines the call, or as failed.
  const measured_call& call() { return call(c); }
  const measured_call& call(const test_case& other);
  /// A call of another operation, in the dtype of the case.
  const measured_call& call(const core::operation* other, core::tensors inputs, core::attributes settings = {});
  /// A call whose outputs must be right: judged against the truth.
  const measured_call& right_call(const test_case& other);
  /// A call with an empty axis, inside the declared domain. It may be right. It may be refused: answered with an error
  /// although `beside`, the same call with elements, gives outputs (allowed unless the implementation declares that it
  /// takes empty axes). Or it may be declined, as unsupported.
  enum class answer { right, refused, declined };
  answer right_or_refused(const test_case& empty, const test_case& beside, std::string& error);
  /// Notes a refusal; the law does not fail by it.
  void note(refusal noted) { refused_.push_back(std::move(noted)); }
  /// The outputs of the case, with the errors allowed to them.
  [[nodiscard]] measured_call allowed(core::tensors outputs) const {
    return with_allowances(about(), c, std::move(outputs));
  }
  /// The outputs of any call, even of a case outside the declared domain.
  const core::tensors& outputs_of(const test_case& other);
  /// The forward call at the same point, for the case of a derivative.
  const measured_call& forward() { return forward(c); }
  const measured_call& forward(const test_case& derivative);
  [[nodiscard]] bool offers(const std::string& operation) const;
  [[nodiscard]] const description& about() const { return under_test_.describe(); }

  /// Ends the law if the implementation lacks the operation.
  void needs_operation(const std::string& name) const {
    if (!offers(name)) throw ended{{status::unsupported}};
  }
  /// Ends the law if the case lies outside the declared domain.
  void needs_domain(const test_case& other) const;
  /// The case says nothing unless this holds.
  void needs(bool informative) const;

  /// The two numbers must agree within their errors. `scale`: the size of the compared quantity, if it may cancel to
  /// less. The words say what is compared; ": x and y, allowed difference z" follows.
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
  /// x must be at most y, within their errors; a NaN never is.
  template <class... Args>
  void at_most(approximate x, approximate y, double scale, fmt::format_string<Args...> words, Args&&... args) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (std::isnan(x.value) || std::isnan(y.value))
      differ(x, y, fmt::format(words, std::forward<Args>(args)...));
    else if (x.value != -infinity && y.value != infinity)  // otherwise it could not fail
      equal(x, {std::min(y.value, x.value), y.error}, scale, words, std::forward<Args>(args)...);
  }
  template <class... Args>
  void at_most(approximate x, approximate y, fmt::format_string<Args...> words, Args&&... args) {
    at_most(x, y, 0.0, words, std::forward<Args>(args)...);
  }
  /// x must lie in [low, high], within its error: it agrees with the nearest number there.
  template <class... Args>
  void within(double low, double high, approximate x, fmt::format_string<Args...> words, Args&&... args) {
    const double nearest = x.value > high ? high : x.value >= low ? x.value : low;
    equal(exactly(nearest), x, high - low, words, std::forward<Args>(args)...);
  }
  /// All outputs of two calls must agree, or the elements `to` of one output with the elements `from` of the same
  /// output.
  void equal(const measured_call& expected, const measured_call& actual, const std::string& what);
  void equal(const std::string& output, const measured_call& expected, const std::vector<std::size_t>& from,
             const measured_call& actual, const std::vector<std::size_t>& to, const std::string& what);
  /// The outputs at the positions `to` of an axis must equal the expected ones at the positions `from`. Outputs that
  /// lack the axis must be equal everywhere, or are left out.
  enum class without_axis { equal, left_out };
  void equal_along(const std::string& axis, const measured_call& expected, const std::vector<std::size_t>& from,
                   const measured_call& actual, const std::vector<std::size_t>& to, without_axis others,
                   const std::string& what);
  /// The elements of an output must be 0. `scale`: the size that they could have otherwise.
  void zero(const std::string& output, const measured_call& actual, const std::vector<std::size_t>& elements,
            double scale, const std::string& what) {
    for (const std::size_t i : elements)
      equal(exactly(0), element(actual, output, i), scale, "{}: {} element {}", what, output, i);
  }

  /// The first element whose bits differ, in words; nothing if there is none. All NaNs count as equal, and both zeros.
  std::optional<std::string> changed_bits(const core::tensors& expected, const core::tensors& actual) {
    return compare_bits(all_, expected, actual);
  }
  /// Counts a comparison that was made in another way, and holds.
  void count(bool informative) { all_.count(informative); }
  /// Judges these outputs of a call against the truth.
  void judge(const test_case& other, const core::tensors& outputs);

  /// If the law ends inside `part`, the message begins with these words.
  template <class Part>
  void during(const std::string& words, Part part) {
    try {
      part();
    } catch (ended& end) {
      if (!end.result.message.empty()) end.result.message = words + ": " + end.result.message;
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
  std::deque<measured_call> calls_;  ///< references to its elements stay valid
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

/// The sum of x[i] y[i] over [first, last).
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

/// A sum whose terms may cancel, and the size of its terms.
struct cancelling_sum {
  approximate value;
  double size = 0;
  void add(approximate term) {
    value += term;
    size += std::fabs(term.value);
  }
};

}  // namespace assay::properties
