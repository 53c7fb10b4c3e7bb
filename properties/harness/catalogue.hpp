// The contents of the harness: the properties of any operation, and the contributions of each encoding, which are
// families of inputs, mutants, controls and its own laws. The harness knows no encoding; a program installs its
// catalogue.
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
  std::string id;       ///< "mutant/NAME", "control/NAME" (after "builtin:" on the command line) or "generated/NAME"
  std::string models;   ///< the public report that a mutant models, or what a control does otherwise
  std::string summary;  ///< the fault, in one sentence
  std::function<std::unique_ptr<implementation>()> make;
  core::dtype shown_in = core::dtype::f32;  ///< the dtype in which a mutant's fault shows
  bool remembers = false;                   ///< faulty only from its second call on
  /// For a mutant: it is in the small set that gives every property a mutant to kill; short tests run this set.
  bool representative = false;
  /// For a mutant that answers another call correctly: that call, from one with all settings.
  std::function<request(const request& call)> answered{};
};

/// A reported bug that no mutant models, and why.
struct unmodelled {
  const char* report;
  const char* reason;
};

/// An answer that leaves out the point of an operation. If it passes a case only because the allowance is wide, the
/// case proves nothing. If it is right to 2 ulp (class `uniform`), the part left out does not matter there.
struct uninformed_answer {
  std::string what;  ///< "the maximum for the sum"
  std::function<bool(const core::operation&)> applies;
  std::function<core::tensors(const request& call)> answer;
};

/// Stands in place of a family's name: all families, one case of each.
inline constexpr const char* every_family = "every family";

/// A size at which implementations are run: where blocks, strides and integers of kernels end. The size is drawn around
/// the numbers given here, unless a number must be exact (sizes.hpp: it stands for itself).
struct usual_size {
  std::vector<std::string> functions;  ///< operations without their derivatives
  core::axis_sizes axes;
  bool always = false;  ///< in a quick run too
  /// The family of its inputs. Empty: the first family that is tried at large sizes, once; other families in turn if
  /// there are several cases, or if another case is cheap. Mild inputs show faults that gates near zero hide.
  /// `every_family`: faults that only wide rows show with infinities.
  std::string family{};
  /// Settings beyond those that are drawn; a candidate that does not have one keeps its own value.
  core::attributes settings{};
};

/// The way in which calls with one long axis are made (sizes.hpp).
struct long_calls {
  std::vector<std::string> functions;  ///< operations without their derivatives
  /// The sizes of the other axes: 1 if none is given, and 0 if the family or a setting decides. With one key alone,
  /// attention gives its value, whatever the logits are.
  core::axis_sizes beside;
  core::axis_sizes affordable{};  ///< the largest size of an axis at which the truth costs at most a second
};

struct encoding_tests {
  std::string name;
  std::vector<family> families;  ///< the first one is mild
  std::vector<variant> mutants, controls;
  std::vector<unmodelled> not_modelled;
  std::vector<usual_size> sizes{};  ///< an operation without sizes here gets them by its roles (usual_sizes.hpp)
  std::vector<long_calls> long_ones{};
  std::vector<property> laws;  ///< properties of this encoding alone
  /// Mutants made by rule, and the right code from which they are made. The rules are those of the encoding itself and,
  /// once it is registered, those of its declarations.
  std::function<std::vector<variant>()> generated{};
  std::function<std::unique_ptr<implementation>()> unmutated{};
  std::vector<hypothesis> hypotheses{};  ///< what is often wrong, for the diagnosis of failures
  /// For a failure that no hypothesis explains; the fact that says most comes first.
  std::vector<family_fact> facts{};
  std::vector<uninformed_answer> uninformed{};  ///< in addition to zeros and the previous step
  /// Whether some output of a call is a matter of convention: there is nothing to weigh, and programs give 0 or NaN.
  /// Families draw no such calls; a separate law does. No counterexample becomes such a call by shrinking.
  std::function<bool(const request& call)> rests_on_convention{};
};

struct catalogue {
  std::vector<property> general;  ///< properties of any operation, in the order in which they are run
  std::vector<encoding_tests> encodings;
  /// Adds to the tests what follows from the declarations of their operations; empty if nothing does.
  std::function<encoding_tests(encoding_tests)> completed{};
};

/// Installs the function that makes the catalogue; it is called once, when the catalogue is first needed.
/// Precondition: none was installed before.
void install_catalogue(catalogue (*make)());

/// Makes tests of an owner of formulas by rule, from its declarations. The tests have the owner's name, and a mild
/// family that applies to all its functions.
using owner_tests = std::function<encoding_tests(const reference::formula_owner& owner)>;
/// Installs the rule for owners without tests in the catalogue: formulas that a program has added
/// (reference/registry.hpp). The rule is called once for each of them, when the catalogue is first needed. It is a
/// contract violation if there is a rule already, or if the catalogue was needed before.
void install_owner_tests(owner_tests make);

const std::vector<encoding_tests>& all_encoding_tests();
/// The tests of an operation's encoding, or of the owner of its formula; null if none are installed.
const encoding_tests* encoding_tests_of(const core::operation& op);
/// See encoding_tests.
bool rests_on_convention(const request& call);

}  // namespace assay::properties
