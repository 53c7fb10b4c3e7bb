// The test of the gate itself: which property kills which mutant, after how many cases, and how small the case is.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "properties/harness/catalogue.hpp"
#include "properties/harness/runner.hpp"

namespace assay::properties {

/// A property that a mutant failed, with its smallest case.
struct kill {
  const property* by = nullptr;
  const core::operation* operation = nullptr;
  std::size_t cases = 0;   ///< run up to the failure, this one included
  std::size_t tokens = 0;  ///< n of the smallest case
  std::size_t lanes = 0;   ///< B d of the smallest case
  bool repeats = false;    ///< the smallest case fails again, alone, in a fresh instance
  counterexample found{};
};

/// A wrong implementation tried with all properties, in one dtype.
struct trial {
  variant mutant;
  core::dtype type{};
  std::vector<kill> kills{};
  std::size_t checks = 0;  ///< properties that were executed, informative or failed
};

struct trial_options {
  std::uint64_t seed = 1;
  std::size_t cases = 6;                              ///< per family and property
  std::size_t shrink_calls = 400;                     ///< for each counterexample
  std::size_t enough = static_cast<std::size_t>(-1);  ///< kills after which no more are looked for
  std::optional<core::dtype> type{};                  ///< in place of the dtype in which the mutant's fault shows
};

/// Tries all operations and all properties on short cases. The trials are in the order of the mutants; `done` is called
/// after each operation.
std::vector<trial> try_mutants(
    const std::vector<variant>& mutants, const trial_options& options,
    const std::function<void(const core::operation&)>& done = [](const core::operation&) {});

/// The smallest number of tokens over the kills that repeat, and the smallest number of lanes with it.
struct smallest_case {
  std::size_t tokens = 0, lanes = 0;
};
std::optional<smallest_case> smallest(const trial& t);

/// Properties without a kill in any trial.
std::vector<const property*> idle_properties(const std::vector<trial>& trials);
/// Whether a property kills none of these mutants. Nothing is tried after the first kill.
bool is_idle(const property& p, const std::vector<variant>& mutants, const trial_options& options);

/// The accuracy classes that a right implementation has, by operation: what a user would pin.
using pinned_classes = std::map<std::string, reference::accuracy_class>;
pinned_classes classes_of(implementation& right, core::dtype type, const trial_options& options);

/// The first check that caught a mutant: a check that failed, or a class worse than the pinned one.
struct capture {
  const property* by = nullptr;
  const core::operation* operation = nullptr;
  std::size_t cases = 0;  ///< run up to the failure; all of them if the class caught it
  bool by_class = false;
};

/// Runs until something catches the mutant, long cases included. Nothing if it survives all properties.
std::optional<capture> first_capture(const variant& mutant, const trial_options& options, const pinned_classes& pinned);

}  // namespace assay::properties
