// A law of an encoding by declaration: a sentence, of which operations it speaks, and what it says: mostly one of a few
// relations between calls.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "properties/laws/relations/experiment.hpp"

namespace assay::properties {

/// What a law says of a case, and about how many calls that costs.
struct statement {
  std::size_t calls;
  std::function<void(experiment&)> says;
};

/// The operations of a law by name, or all of an encoding as "fox/*", or those that have something; and the families,
/// all where none are named, or the mild one alone.
struct law_scope {
  std::vector<std::string> operations{}, families{};
  std::function<bool(const core::operation&)> with{};
  bool of_mild_inputs = false;
};

property law(const char* name, const char* sentence, const law_scope& scope, statement what);

/// Another case; nothing where there is none.
using change = std::function<std::optional<test_case>(const test_case&)>;
/// How the outputs of two calls are to be compared; `what` says which calls.
using comparison = std::function<void(experiment&, const measured_call& expected, const measured_call& actual,
                                      const std::string& what)>;

comparison all_elements();
/// Equal but for a number of each row: the same behind a softmax.
comparison but_row_constants(std::string output);
/// The outputs of the first call are those of the second times a factor.
comparison times(double factor);

/// The outputs stay under a change: shift, padding, another layout.
statement agree_after(change of, std::string what, comparison how = all_elements());
/// Two other calls agree.
statement agree_between(change one, change other, std::string what, comparison how = all_elements());
/// The outputs of some positions of an axis are those of a call of these positions alone. `kept` draws them: none where
/// the case says nothing.
statement agree_alone(std::string axis,
                      std::function<std::vector<std::size_t>(const test_case&, std::size_t size)> kept,
                      std::string what);
/// The bits of an output of two calls.
statement identical_after(change of, std::string output, std::string what);

// Changes.

/// Every value x of the inputs becomes f(x); nothing where one leaves its domain.
change each_of(std::vector<std::string> inputs, std::function<double(const test_case&, double x)> f);
change with(core::attributes settings);
change unchanged_case();
/// The second change after the first.
change then(change first, change second);
/// Only where a condition holds.
change where(std::function<bool(const test_case&)> holds, change of);

/// The elements of an input at some positions of an axis become x.
void fill_along(const core::operation& op, core::tensors& inputs, const std::string& name, const std::string& axis,
                const std::vector<std::size_t>& positions, double x);

/// No input of the case is empty.
bool has_elements(const test_case& c);

}  // namespace assay::properties
