#include "properties/harness/catalogue.hpp"

#include <algorithm>

#include "properties/harness/one_sign.hpp"
#include "reference/oracle.hpp"
#include "reference/registry.hpp"

namespace assay::properties {
namespace {

catalogue (*&installed())() {
  static catalogue (*make)() = nullptr;
  return make;
}

struct owner_rule {
  owner_tests make{};
  bool is_closed = false;
};
owner_rule& rule_of_owners() {
  static owner_rule rule;
  return rule;
}

bool has_tests_of(const std::vector<encoding_tests>& all, std::string_view name) {
  return std::any_of(all.begin(), all.end(), [&](const encoding_tests& tests) { return tests.name == name; });
}

// Adds tests by rule for each owner that has none.
void add_by_rule(std::vector<encoding_tests>& all) {
  owner_rule& rule = rule_of_owners();
  rule.is_closed = true;
  if (!rule.make) return;
  for (const auto& owner : reference::formula_owners()) {
    if (has_tests_of(all, owner->name())) continue;
    encoding_tests tests = rule.make(*owner);
    ASSAY_EXPECTS(tests.name == owner->name() && !tests.families.empty());
    all.push_back(std::move(tests));
  }
}

const catalogue& current() {
  static const catalogue all = [] {
    ASSAY_EXPECTS(installed() != nullptr);
    catalogue made = installed()();
    add_by_rule(made.encodings);
    for (encoding_tests& tests : made.encodings) {
      if (made.completed) tests = made.completed(std::move(tests));
      if (!tests.families.empty()) tests.families.front().is_mild = true;
      if (!tests.families.empty()) tests.families.push_back(one_sign_family(tests.families));
    }
    return made;
  }();
  return all;
}

}  // namespace

void install_catalogue(catalogue (*make)()) {
  ASSAY_EXPECTS(installed() == nullptr);
  installed() = make;
}

void install_owner_tests(owner_tests make) {
  ASSAY_EXPECTS(make && !rule_of_owners().make && !rule_of_owners().is_closed);
  rule_of_owners().make = std::move(make);
}

const std::vector<encoding_tests>& all_encoding_tests() { return current().encodings; }

const encoding_tests* encoding_tests_of(const core::operation& op) {
  const auto& all = all_encoding_tests();
  const auto it =
      std::find_if(all.begin(), all.end(), [&](const auto& tests) { return op.name.starts_with(tests.name + "/"); });
  return it == all.end() ? nullptr : &*it;
}

bool rests_on_convention(const request& call) {
  const encoding_tests* tests = encoding_tests_of(*call.operation);
  return tests != nullptr && tests->rests_on_convention && tests->rests_on_convention(call);
}

const std::vector<property>& properties() {
  static const std::vector<property> all = [] {
    std::vector<property> list = current().general;
    for (const encoding_tests& tests : all_encoding_tests())
      list.insert(list.end(), tests.laws.begin(), tests.laws.end());
    return list;
  }();
  return all;
}

const property* find_property(const std::string& name) {
  const auto& all = properties();
  const auto it = std::find_if(all.begin(), all.end(), [&](const property& p) { return p.name == name; });
  return it == all.end() ? nullptr : &*it;
}

std::vector<family> families_of(const core::operation& op) {
  std::vector<family> all;
  const core::operation& forward = reference::forward_of(op);
  if (const encoding_tests* tests = encoding_tests_of(op))
    for (const family& f : tests->families)
      if (f.applies(forward) && (op.is_forward() || !f.holds_nan)) all.push_back(f);
  return all;
}

std::vector<family> without_later(std::vector<family> all, core::list_version known) {
  std::erase_if(all, [&](const family& f) { return f.since > known; });
  return all;
}

bool has_additions_between(const core::operation& op, core::list_version one, core::list_version other) {
  const auto all = families_of(op);
  return std::any_of(op.attributes.begin(), op.attributes.end(),
                     [&](const auto& a) { return a.values_of(one) != a.values_of(other); }) ||
         without_later(all, one).size() != without_later(all, other).size();
}

const family* find_family(const core::operation& op, const std::string& name) {
  if (const encoding_tests* tests = encoding_tests_of(op))
    for (const family& f : tests->families)
      if (f.name == name && f.applies(reference::forward_of(op))) return &f;
  return nullptr;
}

const family& mild_family_of(const core::operation& op) {
  const encoding_tests* tests = encoding_tests_of(op);
  ASSAY_EXPECTS(tests != nullptr && !tests->families.empty() &&
                tests->families.front().applies(reference::forward_of(op)));
  return tests->families.front();
}

bool is_mild(const core::operation& op, const std::string& name) {
  const family* named = find_family(op, name);
  return named != nullptr && named->is_mild;
}

}  // namespace assay::properties
