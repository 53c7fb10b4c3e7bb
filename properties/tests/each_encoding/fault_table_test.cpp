// Every mutant of the catalogue under diagnosis: the diagnosis is true, and most mutants are named. The table by
// encoding: properties_test "properties/diagnosis/mutants*" -s
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>

#include "properties/diagnosis/diagnose.hpp"
#include "properties/diagnosis/dictionary.hpp"
#include "properties/tests/gating.hpp"

using namespace assay;
using namespace assay::properties;
using namespace assay::properties::testing;

namespace {

struct diagnosed_mutant {
  const core::operation* operation = nullptr;
  check_result failed;
  diagnosis said;
  double seconds = 0;
};

// The first failing check; checks against the truth come first.
std::optional<check_result> first_failure(implementation& under_test, core::dtype type, std::size_t cases) {
  run_options o = options(cases);
  o.shrink_calls = 60;
  for (const bool against_truth : {true, false})
    for (const core::operation& op : reference::operations())
      for (const property& p : properties::properties()) {
        if (p.decides_class != against_truth || !is_checked(p, op, under_test.describe())) continue;
        if (!under_test.describe().offers(op.name, type)) continue;
        check_result r = run_property(p, under_test, op, type, o);
        if (r.verdict() == status::failed) return r;
      }
  return std::nullopt;
}

std::optional<diagnosed_mutant> diagnosed(const variant& mutant, core::dtype type, std::size_t cases, bool without_it) {
  const auto under_test = mutant.make();
  auto failed = first_failure(*under_test, type, cases);
  if (!failed) return std::nullopt;
  diagnosed_mutant d{failed->operation, std::move(*failed), {}};
  const auto started = std::chrono::steady_clock::now();
  d.said = diagnose(*under_test, *d.operation, type,
                    {{{d.failed.checked, d.failed.found->minimal}}, seed, mutant.make, without_it ? mutant.id : ""});
  d.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return d;
}

// For cases that no diagnosis saw: how many of the cases that the mutant gets wrong an entry explains, and how many it
// contradicts.
struct agreement {
  std::size_t explained = 0, contradicted = 0;
  std::string contradiction{};
};

agreement agreement_of(const variant& mutant, const diagnosed_mutant& d, const std::string& id) {
  agreement found;
  const core::operation& op = *d.operation;
  const auto under_test = mutant.make();
  const std::vector<dictionary_entry> all = dictionary_of(op, d.failed.type, {});
  const auto entry = std::find_if(all.begin(), all.end(), [&](const dictionary_entry& e) { return e.id == id; });
  if (entry == all.end() || entry->remembers) return found;
  const likeness is_alike = likeness_to(*entry);
  for (const family& f : families_of(op))
    for (std::size_t k = 0; k < 12; ++k) {
      const test_case c = make_case({&op, d.failed.type, f.name, seed + 90000 + k, {}}, f);
      const call_result outputs = under_test->evaluate(c.call);
      if (!outputs || d.said.explained->find(f.name) != std::string::npos) continue;
      const probe p = probe_of(c, probe_kind::family, *outputs, under_test->describe().precisions_of(c.call));
      if (p.right) continue;
      const bool alike = is_alike(p);
      ++(alike ? found.explained : found.contradicted);
      if (!alike) found.contradiction = summary(c);
    }
  return found;
}

struct row {
  std::size_t mutants = 0, own = 0, alike = 0, memory = 0, facts = 0, unsaid = 0, contradicted = 0;
  double seconds = 0, longest = 0;
  [[nodiscard]] std::size_t named() const { return own + alike + memory; }
};

bool is_said_of_memory(const std::string& sentence) {
  return sentence.starts_with("state is kept") || sentence.starts_with("calls race");
}

void add(row& r, const variant& mutant, const diagnosed_mutant& d) {
  ++r.mutants;
  r.seconds += d.seconds;
  r.longest = std::max(r.longest, d.seconds);
  const std::string said = d.said.explained.value_or("");
  if (said.empty())
    ++(d.said.says_something() ? r.facts : r.unsaid);
  else if (std::find(d.said.named.begin(), d.said.named.end(), mutant.id) != d.said.named.end())
    ++r.own;
  else
    ++(is_said_of_memory(said) ? r.memory : r.alike);
}

// Checks the parts of a diagnosis that can be verified in another way.
void check_truth(const variant& mutant, const diagnosed_mutant& d) {
  const std::string said = d.said.explained.value_or("") + d.said.facts.value_or("");
  INFO(mutant.id << " " << d.operation->name << ": " << said << "\n  fault: " << mutant.summary);
  if (d.said.explained) CHECK_FALSE(d.said.explained->empty());
  if (d.said.facts) CHECK_FALSE(d.said.facts->empty());
  CHECK_FALSE(said.starts_with("right"));
  // State and chance are named only for mutants that remember.
  if (is_said_of_memory(said)) CHECK(mutant.remembers);
  // If several named faults look alike, one right name is enough.
  std::size_t fewest = d.said.named.empty() ? 0 : static_cast<std::size_t>(-1);
  std::string contradiction;
  for (const std::string& id : d.said.named) {
    const agreement a = agreement_of(mutant, d, id);
    contradiction +=
        fmt::format("\n  {} explains {} fresh cases, not {}: {}", id, a.explained, a.contradicted, a.contradiction);
    fewest = std::min(fewest, a.contradicted);
  }
  INFO(contradiction);
  CHECK(fewest == 0);
  if (mutant.remembers) CHECK(d.said.says_something());
}

void print(const variant& mutant, const diagnosed_mutant& d) {
  if (std::getenv("ASSAY_PRINT_DIAGNOSES") == nullptr) return;
  fmt::print("{} [{} {}] {:.2f} s\n  fault: {}\n  said:  {}\n", mutant.id, d.failed.checked->name, d.operation->name,
             d.seconds, mutant.summary,
             d.said.explained           ? "EXPLAINED " + *d.said.explained
             : d.said.facts             ? "FACTS " + *d.said.facts
             : d.said.other_bits        ? "BITS " + *d.said.other_bits
             : !d.said.vanished.empty() ? "VANISHED"
             : d.said.says_something()  ? "OF A SETTING " + d.said.of_settings.front()
                                        : "NOTHING");
  std::fflush(stdout);
}

row table_row(const std::vector<variant>& mutants, std::optional<core::dtype> type, std::size_t every,
              bool without_it = false) {
  row r;
  for (std::size_t k = 0; k < mutants.size(); k += every) {
    const auto d = diagnosed(mutants[k], type.value_or(mutants[k].shown_in), 6, without_it);
    if (!d) continue;
    print(mutants[k], *d);
    add(r, mutants[k], *d);
    check_truth(mutants[k], *d);
  }
  return r;
}

void print(const char* encoding, const char* which, const row& r) {
  fmt::print("| {} | {} | {} | {} | {} | {} | {} | {} | {:.0f} % | {:.2f} | {:.2f} |\n", encoding, which, r.mutants,
             r.own, r.alike, r.memory, r.facts, r.unsaid,
             100.0 * static_cast<double>(r.named()) / std::max<double>(1, static_cast<double>(r.mutants)),
             r.seconds / std::max<double>(1, static_cast<double>(r.mutants)), r.longest);
}

void check_catalogue(const char* encoding) {
  const row r = table_row(tests_of(encoding).mutants, {}, 1);
  print(encoding, "catalogue", r);
  CHECK(10 * r.named() >= 7 * r.mutants);
  CHECK(r.unsaid == 0);
}

// The mutant is left out of the dictionary, like a fault that is unknown: nothing false may be said.
void check_unknown(const char* encoding) {
  const row r = table_row(tests_of(encoding).mutants, {}, 1, true);
  print(encoding, "catalogue, each left out", r);
  CHECK(r.unsaid == 0);
}

// Every thirty-first generated mutant.
void check_names_of_generated(const char* encoding) {
  const row r = table_row(tests_of(encoding).generated(), core::dtype::f32, 31);
  print(encoding, "generated", r);
  CHECK(10 * r.named() >= 7 * r.mutants);
}

}  // namespace

#define ASSAY_ENCODING(name)                                                                                          \
  TEST_CASE("properties/diagnosis/mutants_are_named/" #name, "[property][gate]") { check_catalogue(#name); }          \
  TEST_CASE("properties/diagnosis/nothing_false_of_the_unknown/" #name, "[property][gate]") { check_unknown(#name); } \
  TEST_CASE("properties/diagnosis/generated_are_named/" #name, "[property][gate]") { check_names_of_generated(#name); }
#include "assay_encodings.inc"
#undef ASSAY_ENCODING
