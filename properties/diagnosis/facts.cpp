#include "properties/diagnosis/facts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "properties/harness/catalogue.hpp"

namespace assay::properties {
namespace {

std::string sentence_of(const family_fact& f, const probe& p) {
  if (p.not_a_number) return f.gives + " NaN";
  if (p.infinite) return f.as_infinity.empty() ? f.gives + " infinities" : f.as_infinity;
  return f.otherwise.empty() ? f.gives + " wrong values" : f.otherwise;
}

// What its encoding can say of a family, and what can be said of any.
std::vector<family_fact> facts_about(const core::operation& op) {
  std::vector<family_fact> all;
  if (const encoding_tests* tests = encoding_tests_of(op)) all = tests->facts;
  for (const family& f : families_of(op)) {
    if (std::any_of(all.begin(), all.end(), [&](const family_fact& known) { return known.family == f.name; })) continue;
    constexpr const char* lost = "a NaN among the inputs does not come out as NaN where it should";
    all.push_back(
        f.holds_nan
            ? family_fact{f.name, "a NaN among the inputs reaches what does not depend on it: there is", lost, lost}
            : family_fact{f.name, fmt::format("inputs of the family {} give", f.name)});
  }
  return all;
}

// The first fact says most.
std::string families_alone(const std::vector<probe>& probes) {
  std::map<std::string, const probe*> wrong;
  for (const probe& p : probes)
    if (!p.right) wrong.emplace(p.c.family, &p);
  std::string text;
  std::vector<std::string> others;
  for (const family_fact& f : facts_about(*probes.front().c.call.operation))
    if (const auto it = wrong.find(f.family); it != wrong.end())
      text.empty() ? void(text = sentence_of(f, *it->second)) : others.push_back(f.family);
  if (!others.empty()) text += fmt::format(" (wrong in the families {} too)", fmt::join(others, ", "));
  return text + "; mild inputs of all lengths tried are right";
}

std::string first_few(const std::set<std::size_t>& lengths) {
  constexpr std::size_t most = 6;
  const std::vector<std::size_t> all(lengths.begin(), lengths.end());
  return fmt::format(
      "{}{}", fmt::join(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), most)), ", "),
      all.size() > most ? ", ..." : "");
}

std::string lengths_sentence(const std::set<std::size_t>& wrong, const std::set<std::size_t>& right) {
  if (right.empty() || *wrong.begin() <= 1) return "from the first token on";
  if (*wrong.rbegin() < *right.begin()) return fmt::format("for fewer than {} tokens", *right.begin());
  if (*right.rbegin() < *wrong.begin())
    return fmt::format("first seen at {} tokens, right up to {}", *wrong.begin(), *right.rbegin());
  return fmt::format("at the lengths {} among those tried, not at {}", first_few(wrong), first_few(right));
}

}  // namespace

core::tensors rounded(const core::tensors& values, core::dtype type) {
  core::tensors out;
  for (const auto& [name, t] : values) out.emplace(name, core::cast(type, t));
  return out;
}

std::string facts_of(const std::vector<probe>& probes) {
  std::set<std::string> outputs;
  std::set<std::size_t> wrong, right;
  std::size_t all_outputs = 0;
  bool has_nan = true;
  for (const probe& p : probes) {
    all_outputs = std::max(all_outputs, p.actual.size());
    if (p.kind == probe_kind::length) (p.right ? right : wrong).insert(p.tokens);
    if (p.right || p.kind == probe_kind::family) continue;
    outputs.insert(p.wrong_outputs.begin(), p.wrong_outputs.end());
    has_nan = has_nan && p.not_a_number;
  }
  if (wrong.empty()) return families_alone(probes);
  const std::string what = fmt::format("{}{} {}", fmt::join(outputs, ", "),
                                       outputs.size() < all_outputs ? " alone" : "", outputs.size() > 1 ? "are" : "is");
  return fmt::format("{} {} on mild inputs {}", what, has_nan ? "NaN" : "wrong", lengths_sentence(wrong, right));
}

}  // namespace assay::properties
