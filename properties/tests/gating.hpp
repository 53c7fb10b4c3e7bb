// Code that the tests of the gate share: options with a fixed seed, runs over all operations, reproduction.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>
#include <vector>

#include "properties/builtin.hpp"
#include "properties/harness/catalogue.hpp"
#include "properties/harness/runner.hpp"
#include "properties/tests/effort.hpp"
#include "reference/oracle.hpp"

namespace assay::properties::testing {

/// Fixed, so that CI repeats itself; a soak sets the environment variable ASSAY_TEST_SEED.
inline std::uint64_t chosen_seed() {
  const char* text = std::getenv("ASSAY_TEST_SEED");
  return text ? std::strtoull(text, nullptr, 10) : 20240301;
}
inline const std::uint64_t seed = chosen_seed();

/// The outputs of a right implementation that rounds once.
inline core::tensors rounded_truth_of(const expectation& e) {
  core::tensors truth;
  for (const auto& [name, c] : e.truth) truth.emplace(name, c.rounded);
  return truth;
}

/// Short cases, `cases` of each family, scaled by ASSAY_TEST_SCALE. With ASSAY_TEST_SIZES=all also the cases of a full
/// run of the gate: long ones, and all usual sizes.
inline run_options options(std::size_t cases) {
  run_options o;
  o.seed = seed;
  o.cases = scaled(cases);
  o.long_lengths = false;
  if (const char* sizes = std::getenv("ASSAY_TEST_SIZES"); sizes && std::string(sizes) == "all") {
    o.long_lengths = true;
    o.sizes = run_options::usual::all;
  }
  return o;
}

/// False if a builtin is an algorithm that the operation shares with an earlier class: it would run twice.
inline bool is_own_algorithm(const std::string& builtin, const core::operation& op) {
  const auto c = reference::accuracy_class_named(builtin);
  const auto& own = reference::algorithms_of(op);
  return !c || std::find(own.begin(), own.end(), *c) != own.end();
}

/// The property that compares an operation with the truth.
inline const property& truth_property(const core::operation& op) {
  const core::derivative kind = op.kind();
  return *find_property(kind == core::derivative::vjp ? "vjp" : kind == core::derivative::jvp ? "jvp" : "value");
}

inline const encoding_tests& tests_of(const std::string& encoding) {
  const auto& all = all_encoding_tests();
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& t) { return t.name == encoding; });
  REQUIRE(found != all.end());
  return *found;
}

inline std::vector<core::operation> operations_of(const std::string& encoding) {
  std::vector<core::operation> own;
  for (const core::operation& op : reference::operations())
    if (op.name.starts_with(encoding + "/")) own.push_back(op);
  return own;
}

/// Why a check failed and the command that runs it again.
inline std::string reproduction(const std::string& name, const check_result& r) {
  return fmt::format("{} {} {} {}: {}\n  {}\n  assay gate --candidate builtin:{} --operation {} --dtype {} --seed {}",
                     name, r.checked->name, r.operation->name, core::name_of(r.type),
                     r.found ? r.found->shown.message : "", r.found ? summary(r.found->minimal) : "", name,
                     r.operation->name, core::name_of(r.type), seed);
}

}  // namespace assay::properties::testing
