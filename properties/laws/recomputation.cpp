// A call that only looks like the previous one must be computed anew: a cache by shape, by address, by first element or
// without the settings would give the results of the previous call.
#include <algorithm>
#include <cmath>
#include <optional>

#include "properties/laws/laws.hpp"
#include "properties/laws/relations/relations.hpp"

namespace assay::properties {
namespace {

// The case with the same shapes and first elements, and the other elements in reverse order. Inputs with infinities
// stay: a mask in another order may leave a query without a key, on which implementations differ. Inputs whose numbers
// together keep to a rule stay too. Nothing if nothing changes.
std::optional<test_case> alike(const test_case& c) {
  test_case other = c;
  bool differs = false;
  for (auto& [name, t] : other.call.inputs) {
    auto& x = t.values.storage();
    if (c.call.operation->input(name)->rule == core::value_rule::none && x.size() > 2 &&
        std::none_of(x.begin(), x.end(), [](double v) { return std::isinf(v); }))
      std::reverse(x.begin() + 1, x.end());
    differs = differs || !core::identical(t, c.call.inputs.at(name));
  }
  return differs ? std::optional(std::move(other)) : std::nullopt;
}

// The same inputs with another value of one setting. Nothing if no other value goes together with these shapes.
std::optional<test_case> in_another_setting(const description& about, const test_case& c) {
  const core::operation& op = *c.call.operation;
  core::counter_random random(c.seed);
  const std::size_t first = op.attributes.empty() ? 0 : random.below(op.attributes.size());
  for (std::size_t k = 0; k < op.attributes.size(); ++k) {
    const core::attribute_declaration& a = op.attributes[(first + k) % op.attributes.size()];
    if (!a.axis.empty()) continue;
    test_case other = c;
    other.call.attributes = core::completed(op, c.call.attributes);
    const auto now = std::find(a.values.begin(), a.values.end(), other.call.attributes.at(a.name));
    for (std::size_t step = 1; step < a.values.size(); ++step) {
      const auto place = static_cast<std::size_t>(now - a.values.begin()) % a.values.size();
      other.call.attributes[a.name] = a.values[(place + step) % a.values.size()];
      if (core::check_request(other.call) && within_domain(about, other)) return other;
    }
  }
  return std::nullopt;
}

void check_recomputation(experiment& e) {
  const auto compute_after = [&](const std::optional<test_case>& other, const char* words) {
    if (!other || !within_domain(e.about(), *other) || rests_on_convention(other->call)) return;
    // A result that is wrong before the two calls have met is not caused by an earlier call.
    e.right_call(*other);
    e.during(words, [&] { e.right_call(e.c); });
  };
  e.needs_domain(e.c);
  compute_after(alike(e.c), "after a call of the same shapes and first elements");
  compute_after(in_another_setting(e.about(), e.c), "after a call with the same inputs in another setting");
}

}  // namespace

property recomputation_property() {
  property p = law("recomputation", "a call of the same shapes or the same inputs as the one before is computed anew",
                   {.with = [](const core::operation& op) { return !op.inputs.empty(); }}, {4, check_recomputation});
  p.about_state = true;
  return p;
}

}  // namespace assay::properties
