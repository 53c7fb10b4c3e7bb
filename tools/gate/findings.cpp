#include "tools/gate/findings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "properties/diagnosis/diagnose.hpp"
#include "reference/oracle.hpp"

namespace assay::tools {
namespace {

using properties::check_result;
using properties::status;

struct part_key {
  const core::operation* operation;
  core::dtype type;
  friend bool operator==(const part_key&, const part_key&) = default;
};

// Sentences in the order in which they came up, each with what it is true of.
class sentence_list {
 public:
  void add(const std::string& sentence, const part_key& of) {
    auto it = std::find_if(all_.begin(), all_.end(), [&](const auto& s) { return s.first == sentence; });
    if (it == all_.end()) it = all_.insert(it, {sentence, {}});
    it->second.push_back(of);
  }
  [[nodiscard]] std::vector<std::string> texts() const {
    std::vector<std::string> lines;
    for (const auto& [sentence, parts] : all_) {
      std::vector<std::string> operations, types;
      for (const part_key& p : parts) {
        note(operations, p.operation->name);
        note(types, std::string(core::name_of(p.type)));
      }
      lines.push_back(fmt::format("{} ({} in {})", sentence, fmt::join(operations, ", "), fmt::join(types, ", ")));
    }
    return lines;
  }

 private:
  static void note(std::vector<std::string>& names, const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  std::vector<std::pair<std::string, std::vector<part_key>>> all_;
};

struct property_fact {
  const char *property, *sentence;
};
constexpr property_fact property_facts[] = {
    {"lanes", "lanes influence one another"},
    {"causality", "outputs depend on later tokens"},
    {"permutation", "the order of batch rows or features matters"},
    {"continuation", "a sequence in two chunks differs from the whole"},
    {"recurrence", "n tokens at once differ from n steps of one token"},
    {"attachment", "gradients through two chunks differ from those through the whole"},
    {"adjoint", "the gradient is not the transpose of the directional derivative"},
};

std::vector<const check_result*> failed_checks(const gate_report& r, const part_key& part) {
  std::vector<const check_result*> failed;
  for (const check_result& c : r.checks)
    if (c.operation == part.operation && c.type == part.type && c.verdict() == status::failed) failed.push_back(&c);
  return failed;
}

// What the failed properties themselves say.
void add_property_facts(const std::vector<const check_result*>& failed, const part_key& part, bool diagnosed,
                        sentence_list& sentences) {
  bool said = false;
  for (const check_result* c : failed) {
    const bool broke = c->found && c->found->shown.failure;
    if (broke && !said) {
      const bool slow = c->found->shown.failure->kind == properties::fault::timed_out;
      // Other properties make calls of their own of a case; their message says which.
      const std::string of = c->checked->decides_class ? summary(c->found->minimal)
                                                       : fmt::format("a call of the check '{}'", c->checked->name);
      sentences.add(fmt::format("it does not survive {}: {}{}", of, c->found->shown.message,
                                slow ? "; --case-timeout gives it longer" : ""),
                    part);
    }
    said = said || broke;
  }
  // A wrong value violates most properties.
  for (const property_fact& f : property_facts) {
    const bool concerns = std::any_of(failed.begin(), failed.end(), [&](const check_result* c) {
      return c->checked->name == f.property && !(c->found && c->found->shown.failure);
    });
    if (!concerns || said || diagnosed) continue;
    sentences.add(f.sentence, part);
    said = true;
  }
  if (said || diagnosed) return;
  const check_result& first = *failed.front();
  sentences.add(fmt::format("it violates '{}' ({})", first.checked->name, first.checked->summary), part);
}

struct examined_part {
  part_key part;
  properties::diagnosis found;
};

// Whether another finding accounts for this one: the operation whose derivative it is, or the scan inside it. A
// gradient that is wrong where its function is right has a fault of its own.
bool is_consequence(const gate_report& report, const examined_part& of, const std::vector<examined_part>& all) {
  if (of.found.explained || of.found.function_is_right) return false;
  const core::operation& forward = reference::forward_of(*of.part.operation);
  return std::any_of(all.begin(), all.end(), [&](const examined_part& other) {
    if (other.part == of.part || other.part.type != of.part.type) return false;
    // A function that is right but for a law of its own (empty axes, say) explains no wrong gradient.
    if (!of.part.operation->is_forward() && other.part.operation == &forward) {
      const auto failed = failed_checks(report, other.part);
      return other.found.explained ||
             std::any_of(failed.begin(), failed.end(), [](const check_result* c) { return c->checked->decides_class; });
    }
    // The module holds the scan: its own failure adds nothing to an explained one of the same kind.
    return other.found.explained && other.part.operation->recurrent && of.part.operation->recurrent &&
           other.part.operation->kind() == of.part.operation->kind();
  });
}

void add_faults(const std::vector<part_record>& records, const gate_report& report, sentence_list& sentences) {
  std::vector<examined_part> parts;
  for (const part_record& r : records)
    if (const part_key part{r.operation, r.type}; !failed_checks(report, part).empty())
      parts.push_back({part, r.found});
  for (const examined_part& e : parts) {
    const auto failed = failed_checks(report, e.part);
    const bool consequence = is_consequence(report, e, parts);
    if (e.found.other_bits) sentences.add(*e.found.other_bits, e.part);
    for (const std::string& sentence : e.found.of_settings) sentences.add(sentence, e.part);
    if (e.found.explained)
      sentences.add(*e.found.explained, e.part);
    else if (e.found.facts && !consequence)
      sentences.add(*e.found.facts, e.part);
    if (!e.found.vanished.empty() && !e.found.explained)
      sentences.add(
          fmt::format("the counterexample of {} passed when it was run again", fmt::join(e.found.vanished, ", ")),
          e.part);
    if (!consequence) add_property_facts(failed, e.part, e.found.says_something(), sentences);
  }
}

// On the long sequences of the horizon, else in all cases.
std::string digits_text(const gate_report& report, const check_result& c) {
  for (const measured_horizon& h : report.horizons)
    if (h.operation == c.operation && h.type == c.type)
      for (const auto& m : h.found.marks)
        if (m.reached_end) return fmt::format(": {} digits up to n = {}", m.digits, m.tokens);
  return c.digits().empty() ? "" : ": " + digits_in_words(c);
}

// Of the inputs that digits are told of: gradients of values near the largest number are off by as much, and right.
double error_beside_digits(const check_result& c) {
  if (c.digits().empty()) return largest_error_ulp(c);
  double largest = 0;
  for (const auto& [from, there] : c.by_growth) largest = std::max(largest, there.told_ulp);
  return largest;
}

// What passed is called right only where the whole run passed.
const char* right_but(const gate_report& report) { return report.verdict == gate_verdict::passed ? "right, but " : ""; }

// Why a check that passed has no class, or has one that is worth a sentence; nothing of the others.
std::optional<std::string> class_sentence(const gate_report& report, const check_result& c) {
  using reference::accuracy_class;
  if (!c.checked->decides_class || c.verdict() != status::passed || !reference::has_classes(*c.operation))
    return std::nullopt;
  const auto reached = c.accuracy_class();
  if (!reached) return right_but(report) + no_class_words(*c.operation, c.ratios.back());
  if (*reached != accuracy_class::linear && *reached != accuracy_class::cumsum) return std::nullopt;
  return right_but(report) + class_words(*reached) + digits_text(report, c);
}

void add_classes(const gate_report& report, sentence_list& sentences) {
  for (const check_result& c : report.checks) {
    const part_key part{c.operation, c.type};
    if (!failed_checks(report, part).empty()) continue;
    if (const auto sentence = class_sentence(report, c)) sentences.add(*sentence, part);
  }
}

// Of operations with one algorithm, which have no class: the part that uses most of what rounding explains.
void add_shares(const gate_report& report, sentence_list& sentences) {
  const check_result* most = nullptr;
  for (const check_result& c : report.checks)
    if (const auto share = c.share_of_law(); share && failed_checks(report, {c.operation, c.type}).empty()) {
      if (*share > properties::class_slack)
        sentences.add(fmt::format("{}its error is {:.3g} of what its rounding explains{}", right_but(report), *share,
                                  digits_text(report, c)),
                      {c.operation, c.type});
      if (most == nullptr || *share > *most->share_of_law()) most = &c;
    }
  if (most != nullptr && *most->share_of_law() <= properties::class_slack && report.verdict == gate_verdict::passed) {
    const double share = *most->share_of_law();
    const std::string how =
        share == 0.0  ? "are off by no more than the rounding of their results"
        : share > 1.0 ? fmt::format("err by at most {:.3g} times what rounding explains to first order", share)
                      : fmt::format("err by at most {:.2g} of what rounding explains", share);
    sentences.add(fmt::format("right: operations with one algorithm {}, most here: {:.3g} ulp{}", how,
                              error_beside_digits(*most), digits_text(report, *most)),
                  {most->operation, most->type});
  }
}

}  // namespace

std::string class_words(reference::accuracy_class reached) {
  return fmt::format("carries digits like a {} scan", name_of(reached));
}

std::string no_class_words(const core::operation& op, double ratio) {
  return fmt::format("no class explains it: its error is {:.3g} of what the law '{}' explains, and a bug begins at {}",
                     properties::class_slack * ratio, name_of(reference::algorithms_of(op).back()),
                     properties::bug_slack);
}

void add_findings(const std::vector<part_record>& parts, gate_report& report) {
  sentence_list sentences;
  add_faults(parts, report, sentences);
  add_classes(report, sentences);
  add_shares(report, sentences);
  report.findings = sentences.texts();
}

}  // namespace assay::tools
