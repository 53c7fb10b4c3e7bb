// The cases on which a diagnosis rests, and what an implementation gave for them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "properties/harness/property.hpp"

namespace assay::properties {

/// Whether an input holds a NaN or an infinity.
bool holds_special(const test_case& c);

enum class probe_kind { counterexample, length, family };

/// A call and its outputs, with the truth. An element is wrong if the verdict calls it a bug.
struct probe {
  test_case c;
  probe_kind kind = probe_kind::family;
  std::size_t tokens = 0;
  core::tensors actual{};
  std::shared_ptr<const expectation> truth{};
  std::map<std::string, std::vector<double>> allowed{};     ///< allowed error of each element, by output
  std::map<std::string, std::vector<std::size_t>> wrong{};  ///< elements, by output; empty if all are right
  bool right = true;
  /// An answer that knows nothing would be wrong here: zeros, the sines and cosines of position 0, or an input handed
  /// through, as a rotation does at position 0.
  bool informative = true;
  /// The inputs hold a NaN or an infinity, and with a number in its place everything is right.
  bool needs_special = false;
  /// Whether its inputs are as its family draws them; false if a check or a smaller case has changed them.
  bool is_as_drawn = true;
  /// For a probe that needs special values: the inputs without whose special values everything is right.
  std::set<std::string> special_inputs{};

  [[nodiscard]] double truth_of(const std::string& output, std::size_t i) const {
    return truth->truth.at(output).truth(i);
  }
  /// Whether it is a mild case as drawn: no check has put special or large values into it.
  [[nodiscard]] bool is_mild() const { return is_as_drawn && properties::is_mild(c) && !holds_special(c); }
  /// Whether hardly any function but the right one gives the element: it is not 0, 1 or -1, and not what an input holds
  /// in its place.
  [[nodiscard]] bool informative_at(const std::string& output, std::size_t i) const;
};

/// Whether some axis of its call has size 0.
bool has_empty_axis(const probe& p);

/// The right elements that count as evidence. If a fault would make an element wrong that is right, the fault is
/// refuted there, even if nothing else can be wrong there. But an element that nothing can make wrong does not show
/// that an implementation is right.
enum class evidence { any, informative };

/// Whether an implementation that rounds gives the actual outputs if a model gives these. Each element lies within
/// twice what the verdict allows there and the model's own rounding. Each wrong element is clearly nearer to the model
/// than to the truth, or equals the model but for rounding; at least half of them are clearly nearer.
bool agrees(const probe& p, const core::tensors& predicted);

/// The same for an implementation that answers another call of equal shapes: against that call's truth, within twice
/// what the verdict allows there. The allowance of the call that was made does not apply: of sin x and cos x, where one
/// has the larger error, the other has the smaller one.
bool agrees(const probe& p, const request& answered);

/// Whether outputs are right. Nothing if they are, but an answer that knows nothing would be right too.
std::optional<bool> is_right(const test_case& c, core::tensors actual, const core::precisions& compute);

/// A call and its outputs as a probe.
probe probe_of(const test_case& c, probe_kind kind, core::tensors actual, const core::precisions& compute);

/// An explanation needs at least so many wrong probes: the counterexample and a fresh case.
inline constexpr std::size_t least_explained = 2;

struct probe_plan {
  std::vector<test_case> counterexamples{}, others{};
  std::uint64_t seed = 1;
};

/// The planned cases, cases like the counterexamples, short cases of every family, and three rows of mild inputs at
/// many lengths, as far as the implementation answered them. Cases outside its declared domain are left out. No case
/// follows a call that failed, unless the implementation declined the call. The wrong probes come first, and the
/// smaller before the larger ones.
std::vector<probe> run_probes(implementation& under_test, const core::operation& op, core::dtype type,
                              const probe_plan& planned);

/// Fresh mild cases with the sizes and settings of a wrong case, at its positions and a little behind them. If only far
/// positions are wrong, few of the cases that a family draws are wrong.
std::vector<test_case> at_places_of(const test_case& wrong, std::uint64_t seed);

/// Adds cases like the counterexamples that are too large to try every entry of a dictionary on. Precondition: the
/// first probe is wrong.
void add_large_probes(std::vector<probe>& probes, implementation& under_test, std::uint64_t seed);

/// Adds more cases of the families that are wrong. Precondition: the first probe is wrong.
void add_probes(std::vector<probe>& probes, implementation& under_test, std::uint64_t seed);

}  // namespace assay::properties
