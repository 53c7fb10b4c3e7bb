// Settings that an implementation declares, such as block sizes, may not change what it computes.
#include <algorithm>

#include "properties/laws/laws.hpp"

namespace assay::properties {
namespace {

constexpr std::size_t most_settings = 8;

// One attribute at a time, the others left to the implementation; of many, those that the seed picks.
std::vector<core::attributes> settings_of(const description& about, std::uint64_t seed) {
  std::vector<core::attributes> all;
  for (const auto& [name, values] : about.variants)
    for (const core::attribute& value : values) all.push_back({{name, value}});
  if (all.size() <= most_settings) return all;
  core::counter_random random(seed);
  std::rotate(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(random.below(all.size())), all.end());
  all.resize(most_settings);
  return all;
}

outcome check_variants(implementation& under_test, const test_case& c) {
  if (!within_domain(under_test.describe(), c)) return {status::outside_domain};
  outcome all{status::uninformative};
  for (const core::attributes& setting : settings_of(under_test.describe(), c.seed)) {
    request call = c.call;
    for (const auto& [name, value] : setting) call.attributes[name] = value;
    outcome o = judge_call(under_test, call).result;
    if (o.verdict == status::passed) all = {};
    if (o.verdict == status::passed || o.verdict == status::uninformative) continue;
    o.message = "with " + core::to_string(setting) + ": " + o.message;
    return o;
  }
  return all;
}

}  // namespace

property variants_property() {
  property p{"variants", "every declared setting, such as a block size, gives a right result",
             [](const core::operation&) { return true; }, check_variants};
  p.concerns = [](const description& about) { return !about.variants.empty(); };
  p.calls = 4;
  return p;
}

}  // namespace assay::properties
