// A law of an encoding as a declaration: a sentence, the operations that it covers, and what it states: mostly one of a
// few relations between calls.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "properties/laws/relations/experiment.hpp"

namespace assay::properties {

/// The statement of a law about a case, and the approximate number of calls that it costs.
struct statement {
  std::size_t calls;
  std::function<void(experiment&)> says;
};

/// The operations of a law by name, all of an encoding as "fox/*", or those for which `with` holds; and its families:
/// all if none are named, or only the mild one.
struct law_scope {
  std::vector<std::string> operations{}, families{};
  std::function<bool(const core::operation&)> with{};
  bool of_mild_inputs = false;
};

property law(const char* name, const char* sentence, const law_scope& scope, statement what);

/// Makes another case; nothing if there is none.
using change = std::function<std::optional<test_case>(const test_case&)>;
/// The way in which the outputs of two calls are compared; `what` says which calls.
using comparison = std::function<void(experiment&, const measured_call& expected, const measured_call& actual,
                                      const std::string& what)>;

comparison all_elements();
/// The outputs of the first call are those of the second times a factor.
comparison times(double factor);

/// The outputs do not change under a change of the case: shift, padding, another layout.
statement agree_after(change edit, std::string what, comparison rule = all_elements());
/// Two other calls agree.
statement agree_between(change one, change other, std::string what, comparison rule = all_elements());
/// The outputs at some positions of an axis equal those of a call with these positions alone. `kept` draws them; none
/// if the case says nothing.
statement agree_alone(std::string axis,
                      std::function<std::vector<std::size_t>(const test_case&, std::size_t size)> kept,
                      std::string what);
/// An output of two calls has the same bits.
statement identical_after(change edit, std::string output, std::string what);

// Changes.

/// Replaces every value x of the inputs by f(x); nothing if one leaves its domain.
change each_of(std::vector<std::string> inputs, std::function<double(const test_case&, double x)> f);
change with(core::attributes settings);
change unchanged_case();
/// Makes the first change, then the second.
change then(change first, change second);
/// Makes the change only if a condition holds.
change where(std::function<bool(const test_case&)> holds, change edit);

/// Sets the elements of an input at some positions of an axis to x.
void fill_along(const core::operation& op, core::tensors& inputs, const std::string& name, const std::string& axis,
                const std::vector<std::size_t>& positions, double x);

/// Whether no input of the case is empty.
bool has_elements(const test_case& c);

}  // namespace assay::properties
