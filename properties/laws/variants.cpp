// Settings that an implementation declares, such as block sizes, may not change what it computes.
#include <algorithm>

#include "properties/laws/laws.hpp"
#include "properties/laws/relations/relations.hpp"

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

void check_variants(experiment& e) {
  for (const core::attributes& setting : settings_of(e.about(), e.c.seed))
    e.during("with " + core::to_string(setting), [&] { e.right_call(with_settings(e.c, setting)); });
}

}  // namespace

property variants_property() {
  property p = law("variants", "every declared setting, such as a block size, gives a right result",
                   {.with = [](const core::operation&) { return true; }}, {4, check_variants});
  p.concerns = [](const description& about) { return !about.variants.empty(); };
  return p;
}

}  // namespace assay::properties
