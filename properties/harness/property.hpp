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
  std::string axis;      ///< its symbol
  std::string settings;  ///< with which it was refused, as text; empty where with all that were tried
  std::string message;   ///< the error
};

/// What one case showed.
struct outcome {
  status verdict = status::passed;
  std::string message{};                  ///< why it failed
  std::optional<call_failure> failure{};  ///< the call gave no outputs
  std::optional<value_report> value{};    ///< from properties that compare with the truth
  core::tensors expected{}, actual{};     ///< of a failed comparison
  std::vector<refusal> refused{};         ///< calls that are left to the implementation, and that it does not take
};

struct property {
  std::string name, summary;
  /// Operations it says something about.
  std::function<bool(const core::operation&)> applies{};
  std::function<outcome(implementation&, const test_case&)> check{};
  /// Compares with the truth and so decides accuracy classes, over long cases too.
  bool decides_class = false;
  /// About how many calls one case costs: fewer cases are run of an expensive property.
  std::size_t calls = 1;
  /// The families it is run over; empty: all that apply to the operation.
  std::vector<std::string> families{};
  bool of_mild_inputs = false;  ///< it is run over the mild family alone
  /// Why it stays although it kills no mutant alone; empty where it kills some.
  std::string stays_because{};
  /// It asks whether calls before change an answer.
  bool about_state = false;
  /// Implementations that it asks; every one where empty.
  std::function<bool(const description&)> concerns{};
};

/// Whether the property is checked of an operation of this implementation.
bool is_asked(const property& p, const core::operation& op, const description& about);

/// The families that a property runs over for an operation.
std::vector<family> families_of(const property& p, const core::operation& op);

/// All properties, in the order in which they are run.
const std::vector<property>& properties();
const property* find_property(const std::string& name);

/// Whether the case lies in the domain that the implementation declares for its operation.
bool within_domain(const description& about, const test_case& c);

}  // namespace assay::properties
