// Settings that an implementation declares, such as block sizes, must not change what it computes. The same holds for
// the layout of its inputs in memory, which one of these settings gives.
#include <algorithm>

#include "properties/laws/laws.hpp"
#include "properties/laws/relations/relations.hpp"

namespace assay::properties {
namespace {

constexpr std::size_t most_settings = 8;

// One attribute at a time; the implementation chooses the others. If there are many, the seed picks some.
std::vector<core::attributes> settings_of(const description& about, std::uint64_t seed) {
  std::vector<core::attributes> all;
  for (const auto& [name, values] : about.variants)
    for (const core::attribute& value : values)
      if (name != strides_variant) all.push_back({{name, value}});
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

// Views, such as transposed tensors and slices of larger ones. Code that refuses a view gives no wrong value. A result
// that is wrong without a view says nothing about views.
void check_strides(experiment& e) {
  const measured_call& contiguous = e.call();
  e.needs(judged(e.about(), e.c.call, contiguous.outputs).verdict != status::failed);
  e.judge(e.c, contiguous.outputs);
  const auto declared = e.about().variants.find(strides_variant);
  if (declared == e.about().variants.end()) return;  // as with the reference
  bool answered = false;
  for (const core::attribute& value : declared->second) {
    try {
      const test_case view = with_setting(e.c, strides_variant, value);
      e.during(core::to_string(core::attributes{{strides_variant, value}}), [&] { e.right_call(view); });
      answered = true;
    } catch (const experiment::ended& end) {
      if (end.result.verdict != status::unsupported) throw;
    }
  }
  if (!answered) throw experiment::ended{{status::unsupported}};
}

}  // namespace

property variants_property() {
  property p = law("variants", "every declared setting, such as a block size, gives a right result",
                   {.with = [](const core::operation&) { return true; }}, {4, check_variants});
  p.concerns = [](const description& about) {
    return about.variants.size() > (about.variants.contains(strides_variant) ? 1u : 0u);
  };
  return p;
}

property strides_property() {
  property p = law("strides", "inputs that are views, such as transposed or sliced tensors, give right results",
                   {.with = [](const core::operation& op) { return !op.inputs.empty(); }}, {4, check_strides});
  p.concerns = [](const description& about) { return about.variants.contains(strides_variant); };
  return p;
}

}  // namespace assay::properties
