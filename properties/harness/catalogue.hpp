// What the harness runs: the properties of any operation, and what each encoding contributes: families of inputs,
// mutants, controls and its own laws. The harness knows no encoding; a program installs its catalogue.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "properties/harness/case.hpp"
#include "properties/harness/hypothesis.hpp"
#include "properties/harness/implementation.hpp"
#include "properties/harness/property.hpp"

namespace assay::reference {
class formula_owner;
}

namespace assay::properties {

/// A wrong (mutant) or a right but different (control) implementation.
struct variant {
  std::string id;       ///< "mutant/NAME" or "control/NAME", behind "builtin:" on the command line
  std::string models;   ///< the public report that a mutant models, or what a control does otherwise
  std::string summary;  ///< the fault, in one sentence
  std::function<std::unique_ptr<implementation>()> make;
  core::dtype shown_in = core::dtype::f32;  ///< the dtype in which a mutant's fault shows
  bool remembers = false;                   ///< faulty only from its second call on
  /// Of a mutant: it is one of a few that together give every property one to kill, and that short tests run.
  bool telling = false;
  /// Of a mutant that answers another call rightly: that call, of one with all settings.
  std::function<request(const request& call)> answered{};
};

/// A reported bug that no mutant models, and why.
struct unmodelled {
  const char* report;
  const char* reason;
};

/// An answer that leaves out what an operation is about. A case that it passes only because the allowance is wide
/// proves nothing; where it is right to 2 ulp (class `uniform`), what is left out does not matter there.
struct uninformed_answer {
  std::string what;  ///< "the maximum for the sum"
  std::function<bool(const core::operation&)> applies;
  std::function<core::tensors(const request& call)> answer;
};

/// In place of a family's name: all of them, one case of each.
inline constexpr const char* every_family = "every family";

/// A size at which implementations are run: where blocks, strides and integers of kernels end. It is drawn around what
/// is said here, unless it stands for itself (sizes.hpp).
struct usual_size {
  std::vector<std::string> functions;  ///< operations without their derivatives
  core::axis_sizes axes;
  bool always = false;  ///< in a quick run too
  /// Whose inputs it has; empty: once the first of those that are tried at large sizes, and others in turn where there
  /// are several cases, or where another one is cheap. What gates near zero hide, mild ones show. `every_family`: what
  /// wide rows alone do with infinities is seen there alone.
  std::string family{};
  /// Numbers beyond those that are drawn; a candidate that does not have one keeps its own.
  core::attributes settings{};
};

/// How calls with one long axis are made (sizes.hpp).
struct long_calls {
  std::vector<std::string> functions;  ///< operations without their derivatives
  /// The sizes of the other axes: 1 where none is said, and 0 where the family, or a setting, is to say it. Of one key
  /// alone attention gives the value, whatever the logits are.
  core::axis_sizes beside;
  core::axis_sizes affordable{};  ///< the largest size of an axis of which the truth costs no more than a second
};

struct encoding_tests {
  std::string name;
  std::vector<family> families;  ///< the first one is mild
  std::vector<variant> mutants, controls;
  std::vector<unmodelled> not_modelled;
  std::vector<usual_size> sizes{};  ///< an operation that has none here gets them by its roles (usual_sizes.hpp)
  std::vector<long_calls> long_ones{};
  std::vector<property> laws;  ///< properties of this encoding alone
  /// Mutants made by rule: those of the encoding's own rules and, once it is registered, those that its declarations
  /// have; and the right code that they were made from.
  std::function<std::vector<variant>()> generated{};
  std::function<std::unique_ptr<implementation>()> unmutated{};
  std::vector<hypothesis> hypotheses{};         ///< what is often wrong, for the diagnosis of failures
  std::vector<family_fact> facts{};             ///< where no hypothesis explains a failure; what says most comes first
  std::vector<uninformed_answer> uninformed{};  ///< besides zeros and the previous step
  /// Whether some output of a call is a matter of convention: there is nothing to weigh, and programs give 0 or NaN.
  /// Families draw no such calls, a law of its own does; no counterexample becomes one by shrinking.
  std::function<bool(const request& call)> rests_on_convention{};
};

struct catalogue {
  std::vector<property> general;  ///< properties of any operation, in the order in which they are run
  std::vector<encoding_tests> encodings;
  /// The tests with what follows from the declarations of their operations; empty where nothing does.
  std::function<encoding_tests(encoding_tests)> completed{};
};

/// Installs the function that makes the catalogue; it is called once, when the catalogue is first needed.
/// Precondition: none was installed before.
void install_catalogue(catalogue (*make)());

/// Makes the tests of an owner of formulas by rule, from what it declares. They have its name, and a mild family that
/// applies to all its functions.
using owner_tests = std::function<encoding_tests(const reference::formula_owner& owner)>;
/// Installs the rule for owners of whom the catalogue has no tests: formulas that a program has added
/// (reference/registry.hpp). It is called once for each of them, when the catalogue is first needed. A contract
/// violation where there is a rule, or where the catalogue was needed before.
void install_owner_tests(owner_tests make);

const std::vector<encoding_tests>& all_encoding_tests();
/// Those of an operation's encoding, or of the owner of its formula; null where none are installed.
const encoding_tests* encoding_tests_of(const core::operation& op);
/// See encoding_tests.
bool rests_on_convention(const request& call);

}  // namespace assay::properties
