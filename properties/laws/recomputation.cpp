// What only looks like the call before is computed anew: a cache by shape, by address, by first element or without the
// settings would give the results of that call.
#include <algorithm>
#include <optional>

#include "properties/laws/laws.hpp"

namespace assay::properties {
namespace {

// The same shapes and first elements; what follows stands in the other order. Nothing where that changes nothing.
std::optional<test_case> alike(const test_case& c) {
  test_case other = c;
  bool differs = false;
  for (auto& [name, t] : other.call.inputs) {
    auto& x = t.values.storage();
    if (x.size() > 2) std::reverse(x.begin() + 1, x.end());
    differs = differs || !core::identical(t, c.call.inputs.at(name));
  }
  return differs ? std::optional(std::move(other)) : std::nullopt;
}

// The same inputs under another setting: the next value of one of them. Nothing where there is none that goes together
// with these shapes.
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

outcome check_recomputation(implementation& under_test, const test_case& c) {
  const description& about = under_test.describe();
  if (!within_domain(about, c)) return {status::outside_domain};
  outcome all{status::uninformative};
  const auto compare = [&](const std::optional<test_case>& other, const char* after) {
    if (!other || !within_domain(about, *other)) return true;
    if (const call_result before = under_test.evaluate(c.call); !before) {
      all = no_outputs(before.error());
      return false;
    }
    outcome o = judge_call(under_test, other->call).result;
    if (o.verdict == status::passed) all = {};
    if (o.verdict == status::passed || o.verdict == status::uninformative) return true;
    o.message = std::string(after) + ": " + o.message;
    all = std::move(o);
    return false;
  };
  if (compare(alike(c), "after a call of the same shapes and first elements"))
    compare(in_another_setting(about, c), "after a call with the same inputs in another setting");
  return all;
}

}  // namespace

property recomputation_property() {
  property p{"recomputation", "a call of the same shapes or the same inputs as the one before is computed anew",
             [](const core::operation& op) { return !op.inputs.empty(); }, check_recomputation};
  p.calls = 4;
  return p;
}

}  // namespace assay::properties
