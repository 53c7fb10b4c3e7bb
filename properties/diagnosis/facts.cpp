#include "properties/diagnosis/facts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace assay::properties {
namespace {

// What it means that one family alone, or mainly, goes wrong, as NaN, as an infinity or otherwise.
struct family_fact {
  const char* family;
  const char* as_nan;
  const char* as_infinity;
  const char* otherwise;
};
constexpr family_fact family_facts[] = {
    {"infinite_prefix", "a -inf prefix gives NaN", "a -inf prefix gives infinities",
     "a -inf prefix gives wrong values"},
    {"infinite_inside", "h = -inf or log p = -inf gives NaN", "h = -inf or log p = -inf gives infinities",
     "h = -inf or log p = -inf gives wrong values"},
    {"large_h", "large |h| gives NaN", "large |h| gives infinities: something overflows",
     "large |h| gives wrong values"},
    {"late_spike", "a late spike of h gives NaN",
     "a late spike of h gives infinities: it overflows, or wipes out what came before",
     "a late spike of h gives wrong values"},
    {"neutral_padding", "neutral elements (0, -inf) give NaN", "neutral elements (0, -inf) give infinities",
     "neutral elements (0, -inf) change the state"},
    {"extreme_gates", "decays beyond the exponent range give NaN", "decays beyond the exponent range give infinities",
     "decays beyond the exponent range give wrong values"},
    {"nan_inside", "", "", "a NaN among the inputs does not come out as NaN where it should, or reaches other lanes"},
    {"no_decay", "gates at 1 (log p = 0) give NaN", "gates at 1 (log p = 0) give infinities",
     "gates at 1 (log p = 0, or nearly) give wrong values"},
    {"gates_near_one", "gates near 1 give NaN", "gates near 1 give infinities", "gates near 1 give wrong values"},
    {"gates_near_zero", "gates near 0 give NaN", "gates near 0 give infinities", "gates near 0 give wrong values"},
    {"special_values", "special values (zeros, infinities, ends of the formats) give NaN",
     "special values (zeros, ends of the formats) give infinities",
     "special values (zeros, infinities, ends of the formats) give wrong values"},
};

std::string family_sentence(const probe& p) {
  for (const family_fact& f : family_facts)
    if (p.c.family == f.family)
      return p.not_a_number ? f.as_nan : p.infinite && *f.as_infinity != '\0' ? f.as_infinity : f.otherwise;
  return fmt::format("inputs of the family {} give {}", p.c.family, p.not_a_number ? "NaN" : "wrong values");
}

// In the order of the table above, then by name; the first says most.
std::string families_alone(const std::vector<probe>& probes) {
  std::map<std::string, std::string> sentences;
  for (const probe& p : probes)
    if (!p.right && !sentences.contains(p.c.family)) sentences[p.c.family] = family_sentence(p);
  std::string text;
  std::vector<std::string> others;
  for (const family_fact& f : family_facts)
    if (const auto it = sentences.find(f.family); it != sentences.end()) {
      if (text.empty())
        text = it->second;
      else
        others.push_back(it->first);
      sentences.erase(it);
    }
  for (const auto& [name, sentence] : sentences) text.empty() ? void(text = sentence) : others.push_back(name);
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
