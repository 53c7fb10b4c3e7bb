#include "properties/diagnosis/explanation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "properties/diagnosis/conditions.hpp"

namespace assay::properties {
namespace {

constexpr std::size_t most_named = 3;

struct candidate_entry {
  const dictionary_entry* entry;
  std::string where;
  std::set<std::string> otherwise{};  // families that contradict it
};

// What some published programs do on purpose is not called a bug.
bool is_convention(const dictionary_entry& e) { return e.models.starts_with("a convention of published programs"); }

std::string words_of(const candidate_entry& c) {
  const dictionary_entry& e = *c.entry;
  std::string words = e.words + c.where;
  if (is_convention(e))
    words += ": " + e.models + ", and not the one asked for";
  else if (!e.models.empty())
    words += fmt::format(" (as in {})", e.models);
  if (!c.otherwise.empty()) words += fmt::format("; the families {} do not fit", fmt::join(c.otherwise, ", "));
  return words;
}

// An entry compared with the probes.
struct comparison {
  std::vector<const probe*> explained, spared;  // wrong probes that it explains; right probes that it would get wrong
  std::vector<const probe*> contradicting;      // wrong probes of families other than mild that it does not explain
};

// Nothing if the entry explains too little, or if more than `most` probes contradict it.
std::optional<comparison> compared(const likeness& is_alike, const std::vector<probe>& probes, std::size_t most) {
  comparison found;
  for (const probe& p : probes) {
    const bool alike = is_alike(p);
    if (p.right && !alike) found.spared.push_back(&p);
    if (p.right) continue;
    if (alike)
      found.explained.push_back(&p);
    else if (p.kind == probe_kind::family && !p.is_mild() && found.contradicting.size() < most)
      found.contradicting.push_back(&p);
    else
      return std::nullopt;
  }
  return found.explained.size() < least_explained ? std::nullopt : std::optional(std::move(found));
}

// Whether and how far an entry explains the probes; nothing if it does not.
std::optional<candidate_entry> tried(const dictionary_entry& entry, const std::vector<probe>& probes,
                                     size_experiments& again) {
  // Mutants are code: at special values they do what such code does, so that nothing may contradict them. Hypotheses
  // are formulas.
  const auto wrong =
      static_cast<std::size_t>(std::count_if(probes.begin(), probes.end(), [](const probe& p) { return !p.right; }));
  const std::size_t most = entry.from == entry_source::hypothesis ? wrong / 4 : 0;
  auto c = compared(likeness_to(entry), probes, most);
  if (!c) return std::nullopt;
  auto rule = where(c->explained, c->spared, again);
  if (!rule) {
    // The implementation may guard special values that the entry would get wrong.
    const auto mild = [](const probe* p) { return p->is_mild() || p->kind == probe_kind::counterexample; };
    const auto others = std::stable_partition(c->spared.begin(), c->spared.end(), mild);
    c->contradicting.insert(c->contradicting.end(), others, c->spared.end());
    c->spared.erase(others, c->spared.end());
    rule = where(c->explained, c->spared, again);
  }
  if (!rule || c->contradicting.size() > most) return std::nullopt;
  candidate_entry found{&entry, *rule == entry.implied ? "" : *rule};
  for (const probe* p : c->contradicting) found.otherwise.insert(p->c.family);
  return found;
}

// Other values of settings and hypotheses are whole sentences; faults are named.
const char* introduction(const candidate_entry& c) {
  return c.entry->from <= entry_source::other_number || is_convention(*c.entry) ? "" : "behaves like: ";
}

explanation named_alike(const std::vector<const candidate_entry*>& alike) {
  explanation e;
  std::vector<std::string> words;
  for (const candidate_entry* c : alike) {
    e.named.push_back(c->entry->id);
    if (std::find(words.begin(), words.end(), words_of(*c)) == words.end()) words.push_back(words_of(*c));
  }
  const std::size_t shown = std::min(words.size(), most_named);
  e.sentence = introduction(*alike.front());
  e.sentence +=
      fmt::format("{}", fmt::join(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(shown), ", or "));
  if (const std::size_t more = words.size() - shown; more > 0)
    e.sentence +=
        more == 1 ? ", or another fault that looks alike" : fmt::format(", or {} other faults that look alike", more);
  return e;
}

// The candidates that explain everything, from the first source that has any, and those without a condition if there
// are some; else the candidate with the fewest contradictions.
std::optional<explanation> chosen(const std::vector<candidate_entry>& all) {
  std::vector<const candidate_entry*> alike;
  const candidate_entry* best = nullptr;
  for (const candidate_entry& c : all) {
    if (c.otherwise.empty() && (alike.empty() || alike.front()->entry->from == c.entry->from)) alike.push_back(&c);
    if (best == nullptr || c.otherwise.size() < best->otherwise.size()) best = &c;
  }
  if (std::any_of(alike.begin(), alike.end(), [](const auto* c) { return c->where.empty(); }))
    std::erase_if(alike, [](const auto* c) { return !c->where.empty(); });
  if (alike.empty() && best != nullptr) alike.push_back(best);
  return alike.empty() ? std::nullopt : std::optional(named_alike(alike));
}

bool explains_session(const dictionary_entry& entry, const std::vector<probe>& session) {
  const wrong_model model = entry.make();
  std::size_t explained = 0;
  for (const probe& p : session) {
    const call_result predicted = model(p.c.call);
    if (!predicted || !agrees(p, *predicted)) return false;
    explained += !p.right;
  }
  return explained >= least_explained;
}

}  // namespace

std::optional<explanation> explanation_of(const std::vector<probe>& probes,
                                          const std::vector<dictionary_entry>& dictionary, size_experiments& again) {
  std::vector<candidate_entry> all;
  std::optional<entry_source> explains_all;
  for (const dictionary_entry& entry : dictionary) {
    // If a source explains everything, later sources are not tried.
    if (explains_all && *explains_all != entry.from) break;
    if (entry.remembers) continue;
    auto c = tried(entry, probes, again);
    if (!c) continue;
    if (c->otherwise.empty()) explains_all = entry.from;
    all.push_back(std::move(*c));
  }
  return chosen(all);
}

std::optional<explanation> explanation_of_call(const probe& wrong, const std::vector<dictionary_entry>& dictionary) {
  std::vector<candidate_entry> all;
  for (const dictionary_entry& entry : dictionary) {
    if (!all.empty() && all.front().entry->from != entry.from) break;
    if (!entry.remembers && likeness_to(entry)(wrong)) all.push_back({&entry, ""});
  }
  return chosen(all);
}

std::optional<explanation> explanation_of_session(const std::vector<probe>& session,
                                                  const std::vector<dictionary_entry>& dictionary) {
  std::vector<candidate_entry> all;
  for (const dictionary_entry& entry : dictionary)
    if (entry.remembers && explains_session(entry, session)) all.push_back({&entry, ""});
  return chosen(all);
}

}  // namespace assay::properties
