// The cases that a diagnosis rests on, and what an implementation made of them.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "properties/harness/property.hpp"

namespace assay::properties {

enum class probe_kind { counterexample, length, family };

struct probe {
  test_case c;
  probe_kind kind = probe_kind::family;
  std::size_t tokens = 0;
  core::tensors truth{};   ///< in double
  core::tensors actual{};  ///< in the dtype
  std::map<std::string, std::vector<double>> tolerance{};
  std::set<std::string> wrong_outputs{};  ///< empty where all is right
  bool right = true;
  bool not_a_number = false;  ///< a NaN where the truth is none
  bool infinite = false;      ///< an infinity where the truth is finite
};

/// Whether `x` is what a model predicts in double, within about twice the errors that the verdict allows the call.
bool matches(const probe& p, const core::tensors& predicted, const core::tensors& x);

/// The probes that the implementation answered; those outside its declared domain are left out, and none
/// follow once a call broke.
std::vector<probe> run_probes(implementation& under_test, const core::operation& op, core::dtype type,
                              const test_case* counterexample, std::uint64_t seed);

}  // namespace assay::properties
