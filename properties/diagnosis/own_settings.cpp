#include "properties/diagnosis/own_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "properties/diagnosis/facts.hpp"
#include "properties/harness/catalogue.hpp"
#include "properties/harness/runner.hpp"

namespace assay::properties {
namespace {

constexpr std::size_t fresh_of_family = 8;

// A setting of the call that its operation does not declare; "" if there is none. Checks set one at a time.
std::string own_setting(const request& call) {
  for (const auto& [name, value] : call.attributes)
    if (call.operation->attribute(name) == nullptr) return name;
  return "";
}

test_case with_own(test_case c, const std::string& name, const core::attribute* value) {
  c.call.attributes.erase(name);
  if (value != nullptr) c.call.attributes.emplace(name, *value);
  return c;
}

std::optional<probe> answered_probe(implementation& under_test, const test_case& c) {
  call_result outputs = under_test.evaluate(c.call);
  if (!outputs) return std::nullopt;
  return probe_of(c, probe_kind::family, std::move(*outputs), under_test.describe().precisions_of(c.call));
}

std::string words_of(const std::string& setting, const core::attribute& value) {
  if (setting == strides_variant) {
    static const std::map<std::string, std::string> known{{"transposed", "transposed views"},
                                                          {"sliced", "slices of wider tensors"},
                                                          {"spaced", "every second element of a tensor"},
                                                          {"expanded", "expanded views, of stride 0"}};
    const auto* name = std::get_if<std::string>(&value);
    if (const auto it = known.find(name == nullptr ? "" : *name); it != known.end()) return it->second;
  }
  return core::to_string(core::attributes{{setting, value}});
}

// Fresh cases that are right without the setting: of the families of the wrong ones, and mild ones.
std::vector<test_case> fresh_cases_like(const std::vector<const probe*>& wrong, const std::string& setting,
                                        implementation& under_test, std::uint64_t seed) {
  const test_case& like = wrong.front()->c;
  const core::operation& op = *like.call.operation;
  std::set<std::string> families{mild_family_of(op).name};
  for (const probe* p : wrong) families.insert(p->c.family);
  std::vector<test_case> all;
  for (const std::string& name : families)
    for (std::size_t k = 0; k < fresh_of_family && find_family(op, name) != nullptr; ++k) {
      const test_case c =
          make_case(key_for(under_test.describe(), op, like.call.type, name, seed + 11000 + k, lengths::short_ones));
      if (!within_domain(under_test.describe(), c)) continue;
      const auto plain = answered_probe(under_test, with_own(c, setting, nullptr));
      if (plain && plain->right && plain->informative) all.push_back(c);
    }
  return all;
}

// "a", "a or b", "a, b or c".
std::string any_of_words(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  return text;
}

// The results of fresh cases with one value of the setting.
struct outcomes {
  std::size_t wrong = 0, right = 0;
};

outcomes outcomes_with(const std::string& setting, const core::attribute& value, const std::vector<test_case>& cases,
                       implementation& under_test) {
  outcomes all;
  for (const test_case& c : cases)
    if (const auto p = answered_probe(under_test, with_own(c, setting, &value))) ++(p->right ? all.right : all.wrong);
  return all;
}

// "y is NaN where inputs are transposed views, in 7 of 8 fresh cases; the same values are right where inputs are slices
// of wider tensors, and where they are contiguous".
std::string sentence_of(const std::string& setting, const std::vector<const probe*>& wrong, implementation& under_test,
                        std::uint64_t seed) {
  const auto cases = fresh_cases_like(wrong, setting, under_test, seed);
  std::vector<std::string> wrong_with, right_with;
  outcomes counts;
  for (const core::attribute& value : under_test.describe().variants.at(setting)) {
    const bool shown = std::any_of(wrong.begin(), wrong.end(),
                                   [&](const probe* p) { return p->c.call.attributes.at(setting) == value; });
    const outcomes o = outcomes_with(setting, value, cases, under_test);
    if (shown || o.wrong > 0) {
      wrong_with.push_back(words_of(setting, value));
      counts = {counts.wrong + o.wrong, counts.right + o.right};
    } else if (o.right > 0) {
      right_with.push_back(words_of(setting, value));
    }
  }
  const bool strides = setting == strides_variant;
  const char* with = strides ? "where inputs are" : "with";
  std::string text = fmt::format("{} {} {}", what_is_wrong(wrong), with, any_of_words(wrong_with));
  if (counts.right > 0) text += fmt::format(", in {} of {} fresh cases", counts.wrong, counts.wrong + counts.right);
  text += "; the same values are right ";
  if (!right_with.empty()) text += fmt::format("{} {}, and ", with, any_of_words(right_with));
  return text + (strides ? "where they are contiguous" : "without it");
}

}  // namespace

std::vector<std::string> take_wrong_in_own_settings(std::vector<probe>& probes, implementation& under_test,
                                                    std::uint64_t seed) {
  std::map<std::string, std::vector<const probe*>> by_setting;
  for (const probe& p : probes) {
    const std::string setting = own_setting(p.c.call);
    if (p.right || !under_test.describe().variants.contains(setting)) continue;
    const auto plain = answered_probe(under_test, with_own(p.c, setting, nullptr));
    if (plain && plain->right) by_setting[setting].push_back(&p);
  }
  std::vector<std::string> sentences;
  std::set<const probe*> taken;
  for (const auto& [setting, wrong] : by_setting) {
    sentences.push_back(sentence_of(setting, wrong, under_test, seed));
    taken.insert(wrong.begin(), wrong.end());
  }
  std::erase_if(probes, [&](const probe& p) { return taken.contains(&p); });
  return sentences;
}

}  // namespace assay::properties
