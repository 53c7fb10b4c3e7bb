// The cases that a diagnosis rests on, and what an implementation made of them.
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

/// A call and its outputs, beside the truth. What is wrong is what the verdict calls a bug.
struct probe {
  test_case c;
  probe_kind kind = probe_kind::family;
  std::size_t tokens = 0;
  core::tensors actual{};
  std::shared_ptr<const expectation> truth{};
  std::map<std::string, std::vector<double>> allowed{};     ///< error of each element, by output
  std::map<std::string, std::vector<std::size_t>> wrong{};  ///< elements, by output; none where all is right
  bool right = true;
  /// An answer that knows nothing would not be right as well: zeros, the sines and cosines of position 0, an input
  /// handed through, as a rotation there does.
  bool tells = true;
  /// The inputs hold a NaN or an infinity, and with a number in its place all is right.
  bool needs_special = false;
  /// Its inputs are such as its family draws; not where a check or a smaller case has made them of those.
  bool of_family = true;
  /// Of a probe that needs special values: the inputs without whose own all is right.
  std::set<std::string> special_inputs{};

  [[nodiscard]] double truth_of(const std::string& output, std::size_t i) const {
    return truth->truth.at(output).truth(i);
  }
  /// Of the mild family, as it is: no check has put special or large values into it.
  [[nodiscard]] bool is_mild() const { return of_family && properties::is_mild(c) && !holds_special(c); }
  /// Whether little else than the right function gives the element: it is neither 0, 1 or -1 nor what an input holds in
  /// its place.
  [[nodiscard]] bool tells_at(const std::string& output, std::size_t i) const;
};

/// Whether some axis of its call has size 0.
bool has_empty_axis(const probe& p);

/// Which right elements count: a fault that is wrong where nothing can be wrong is refuted there, but what is right
/// there says of no implementation that it is.
enum class evidence { any, telling };

/// Whether an implementation that rounds gives the actual outputs where a model gives these: each element within twice
/// what the verdict allows there, and where it is wrong clearly nearer to the model than to the truth.
bool agrees(const probe& p, const core::tensors& predicted);

/// The same of an implementation that answers another call of equal shapes: by that call's truth, and within twice what
/// the verdict allows there. What the call that was made allows says nothing of it: of sin x and cos x, where one has
/// the larger error, the other has the smaller one.
bool agrees(const probe& p, const request& answered);

/// Whether outputs are right; nothing where they are, and an answer that knows nothing would be as well. A probe
/// without the laws of its elements.
std::optional<bool> is_right(const test_case& c, core::tensors actual, const core::precisions& compute);

/// A call and its outputs as a probe.
probe probe_of(const test_case& c, probe_kind kind, core::tensors actual, const core::precisions& compute);

/// Fewer wrong probes than these explain nothing: the counterexample and a fresh case.
inline constexpr std::size_t least_explained = 2;

struct probe_plan {
  std::vector<test_case> counterexamples{}, others{};
  std::uint64_t seed = 1;
};

/// The planned cases, cases like the counterexamples, short cases of every family, and three rows of mild inputs at
/// many lengths, as far as the implementation answered them; those outside its declared domain are left out, and none
/// follow once a call broke. The wrong ones come first, the smallest of them before the others.
std::vector<probe> run_probes(implementation& under_test, const core::operation& op, core::dtype type,
                              const probe_plan& planned);

/// Fresh cases of the families, sizes and settings of one that is wrong, at its positions and a little behind them:
/// where far ones alone are wrong, few that a family draws are.
std::vector<test_case> at_places_of(const test_case& wrong, std::uint64_t seed);

/// Cases like the counterexamples that are too large to put all entries of a dictionary to them. Precondition: the
/// first probe is wrong.
void add_large_probes(std::vector<probe>& probes, implementation& under_test, std::uint64_t seed);

/// More cases of the families that are wrong. Precondition: the first probe is wrong.
void add_probes(std::vector<probe>& probes, implementation& under_test, std::uint64_t seed);

}  // namespace assay::properties
