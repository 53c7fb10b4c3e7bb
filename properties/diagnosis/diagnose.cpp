#include "properties/diagnosis/diagnose.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "properties/diagnosis/conventions.hpp"
#include "properties/diagnosis/facts.hpp"
#include "properties/harness/catalogue.hpp"

namespace assay::properties {
namespace {

constexpr std::size_t least_explained = 3;  // the counterexample and two fresh cases

// The lengths at which a wrong model was and was not at work.
struct lengths_seen {
  std::set<std::size_t> wrong, right;
};

// To which lengths a fault is confined: nothing where it is not, an empty optional where no rule fits.
std::optional<std::string> confinement(const lengths_seen& seen) {
  if (seen.right.empty()) return "";
  const std::size_t first = *seen.wrong.begin(), last = *seen.wrong.rbegin();
  if (first > *seen.right.rbegin())
    return first == 2 ? " when there is more than one token" : fmt::format(" from {} tokens on", first);
  if (last < *seen.right.begin()) return fmt::format(" for fewer than {} tokens", *seen.right.begin());
  const auto all = [](const std::set<std::size_t>& lengths, auto test) {
    return std::all_of(lengths.begin(), lengths.end(), test);
  };
  for (std::size_t block = 2; block <= 256; block *= 2) {
    const auto is_multiple = [block](std::size_t n) { return n % block == 0; };
    if (all(seen.right, is_multiple) && std::none_of(seen.wrong.begin(), seen.wrong.end(), is_multiple))
      return block == 2 ? " for odd lengths" : fmt::format(" where the length is no multiple of {}", block);
    if (all(seen.wrong, is_multiple) && std::none_of(seen.right.begin(), seen.right.end(), is_multiple))
      return block == 2 ? " for even lengths" : fmt::format(" where the length is a multiple of {}", block);
  }
  return std::nullopt;
}

// The sentence of a hypothesis that explains every wrong probe: mild ones all of them, of those at special values
// three in four, since the same mistake can be coded with or without guards.
std::optional<std::string> sentence_of(const hypothesis& h, const std::vector<probe>& probes) {
  lengths_seen seen;
  std::size_t explained = 0, contradicting = 0;
  for (const probe& p : probes) {
    const core::tensors predicted = h.predict(p.c.call);
    if (p.right) {
      if (p.kind == probe_kind::length && !matches(p, p.truth, rounded(predicted, p.c.call.type)))
        seen.right.insert(p.tokens);
      continue;
    }
    if (matches(p, predicted, p.actual)) {
      ++explained;
      if (p.kind == probe_kind::length) seen.wrong.insert(p.tokens);
    } else if (p.kind != probe_kind::family) {
      return std::nullopt;
    } else {
      ++contradicting;
    }
  }
  if (explained < least_explained || 3 * contradicting > explained) return std::nullopt;
  if (seen.wrong.empty()) return seen.right.empty() ? std::optional(h.sentence) : std::nullopt;
  const auto where = confinement(seen);
  return where ? std::optional(h.sentence + *where) : std::nullopt;
}

}  // namespace

diagnosis diagnose(implementation& under_test, const core::operation& op, core::dtype type,
                   const test_case* counterexample, std::uint64_t seed) {
  std::vector<probe> probes;
  // The wrong ones first: most hypotheses fall at the first.
  std::vector<probe> as_run = run_probes(under_test, op, type, counterexample, seed);
  for (const bool right : {false, true})
    for (probe& p : as_run)
      if (p.right == right) probes.push_back(std::move(p));
  diagnosis d;
  if (probes.empty() || probes.front().right) return d;
  if (const encoding_tests* tests = encoding_tests_of(op))
    for (const hypothesis& h : tests->hypotheses)
      if (h.applies(op) && !d.explained) d.explained = sentence_of(h, probes);
  for (const hypothesis& h : conventions_of(op, probes))
    if (!d.explained) d.explained = sentence_of(h, probes);
  d.facts = facts_of(probes);
  return d;
}

}  // namespace assay::properties
