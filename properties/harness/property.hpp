// A property: what must hold for every implementation of an operation, written once.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "properties/harness/case.hpp"
#include "properties/harness/verdict.hpp"

namespace assay::properties {

enum class status { passed, failed, uninformative, unsupported, outside_domain };
const char* name_of(status s);

/// A call with an empty axis that was answered with an error, where the same call with elements gave outputs.
struct refusal {
  std::string axis;      ///< the symbol of the axis
  std::string settings;  ///< the settings with which it was refused, as text; empty if all that were tried
  std::string message;   ///< the error
};

/// The result of one case.
struct outcome {
  status verdict = status::passed;
  std::string message{};                  ///< why it failed
  std::optional<call_failure> failure{};  ///< the call gave no outputs
  std::optional<value_report> value{};    ///< from properties that compare with the truth
  core::tensors expected{}, actual{};     ///< outputs of a failed comparison
  std::vector<refusal> refused{};         ///< calls that an implementation may decline, and did
};

struct property {
  std::string name, summary;
  /// The operations that it says something about.
  std::function<bool(const core::operation&)> applies{};
  std::function<outcome(implementation&, const test_case&)> check{};
  /// Whether it compares with the truth and so decides accuracy classes, over long cases too.
  bool decides_class = false;
  /// About how many calls one case costs: an expensive property runs fewer cases.
  std::size_t calls = 1;
  /// The families over which it runs; empty: all that apply to the operation.
  std::vector<std::string> families{};
  bool of_mild_inputs = false;  ///< it runs over the mild family alone
  /// Why it stays although it alone kills no mutant; empty if it kills some.
  std::string stays_because{};
  /// Whether it tests if earlier calls change an answer.
  bool about_state = false;
  /// The implementations that it concerns; all if empty.
  std::function<bool(const description&)> concerns{};
};

/// Whether the property is checked for an operation of this implementation.
bool is_checked(const property& p, const core::operation& op, const description& about);

/// The families over which a property runs for an operation.
std::vector<family> families_of(const property& p, const core::operation& op);

/// All properties, in the order in which they are run.
const std::vector<property>& properties();
const property* find_property(const std::string& name);

/// Whether the case has settings, sizes and inputs that the implementation declares, and the rules of its operation
/// allow them.
bool within_domain(const description& about, const test_case& c);

}  // namespace assay::properties
