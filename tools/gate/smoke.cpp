#include "tools/gate/smoke.hpp"

#include <algorithm>
#include <cmath>

#include "properties/harness/runner.hpp"

namespace assay::tools {
namespace {

using properties::test_case;

// A mild case inside the domain that the candidate declares, if one of a few is.
std::optional<test_case> draw_case(const properties::description& about, const core::operation& op, core::dtype type,
                                   std::uint64_t seed, std::size_t tokens) {
  constexpr std::uint64_t draws = 64;
  for (std::uint64_t k = 0; k < draws; ++k) {
    test_case c = properties::make_case(
        properties::key_for(about, op, type, "mild", seed + k, {properties::lengths::exactly, tokens}));
    if (within_domain(about, c)) return c;
  }
  return std::nullopt;
}

bool is_all_nan(const core::tensors& outputs) {
  std::size_t elements = 0;
  for (const auto& [name, t] : outputs)
    for (const double x : t.values.storage()) {
      if (!std::isnan(x)) return false;
      ++elements;
    }
  return elements > 0;
}

}  // namespace

std::optional<adapter_fault> smoke(guarded_candidate& candidate, const core::operation& op, core::dtype type,
                                   std::uint64_t seed) {
  const auto c = draw_case(candidate.describe(), op, type, seed, 3);
  if (!c) return std::nullopt;
  const auto outputs = candidate.evaluate(c->call);
  if (!outputs && outputs.error().kind == properties::fault::unsupported) return std::nullopt;
  if (!outputs) return fault_of(outputs.error(), &op, type, mild_case);
  if (is_all_nan(*outputs))
    return adapter_fault{&op, type, nan_flood, "NaN flood", "every element of every output is NaN", mild_case};
  return std::nullopt;
}

}  // namespace assay::tools
