#include "tools/gate/findings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <utility>

#include "properties/diagnosis/diagnose.hpp"
#include "reference/oracle.hpp"
#include "tools/report/sentences.hpp"

namespace assay::tools {
namespace {

using properties::check_result;
using properties::status;

struct part_key {
  const core::operation* operation;
  core::dtype type;
  friend bool operator==(const part_key&, const part_key&) = default;
};

// Sentences in order of appearance, each with the parts to which it applies.
class sentence_list {
 public:
  void add(const std::string& sentence, const part_key& part) {
    auto it = std::find_if(all_.begin(), all_.end(), [&](const auto& s) { return s.first == sentence; });
    if (it == all_.end()) it = all_.insert(it, {sentence, {}});
    it->second.push_back(part);
  }
  [[nodiscard]] std::vector<std::string> sentences_about(const part_key& part) const {
    std::vector<std::string> said;
    for (const auto& [sentence, parts] : all_)
      if (std::find(parts.begin(), parts.end(), part) != parts.end()) said.push_back(sentence);
    return said;
  }
  [[nodiscard]] std::vector<std::string> texts() const {
    std::vector<std::string> lines;
    for (const auto& [sentence, parts] : all_) {
      std::vector<std::string> operations, types;
      for (const part_key& p : parts) {
        note(operations, p.operation->name);
        note(types, std::string(core::name_of(p.type)));
      }
      const bool exact =
          std::all_of(parts.begin(), parts.end(), [](const part_key& p) { return is_exact(*p.operation); });
      const std::string dtypes = exact ? "" : fmt::format(" in {}", fmt::join(types, ", "));
      lines.push_back(fmt::format("{} ({}{})", sentence, fmt::join(operations, ", "), dtypes));
    }
    return lines;
  }

 private:
  static void note(std::vector<std::string>& names, const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  std::vector<std::pair<std::string, std::vector<part_key>>> all_;
};

std::vector<const check_result*> failed_checks(const gate_report& r, const part_key& part) {
  std::vector<const check_result*> failed;
  for (const check_result& c : r.checks)
    if (c.operation == part.operation && c.type == part.type && c.verdict() == status::failed) failed.push_back(&c);
  return failed;
}

// Adds what the failed properties themselves say.
void add_property_facts(const std::vector<const check_result*>& failed, const part_key& part,
                        const properties::diagnosis& found, sentence_list& sentences) {
  const bool diagnosed = found.says_something();
  bool said = false;
  for (const check_result* c : failed) {
    const bool broke = c->found && c->found->shown.failure;
    if (broke && !said) {
      // Other properties make their own calls from a case; their message names the call.
      const std::string call_words = c->checked->decides_class
                                         ? summary(c->found->minimal)
                                         : fmt::format("a call of the check '{}'", c->checked->name);
      const bool has_sizes = c->checked->decides_class && found.unanswered;
      sentences.add(
          broke_sentence(
              has_sizes ? fmt::format("calls where {}, such as {}", *found.unanswered, call_words) : call_words,
              c->found->shown.message, c->found->shown.failure->kind == properties::fault::timed_out),
          part);
    }
    said = said || broke;
  }
  if (said || diagnosed) return;
  std::vector<const properties::property*> violated;
  for (const check_result* c : failed) violated.push_back(c->checked);
  sentences.add(violation_sentence(violated), part);
}

struct examined_part {
  part_key part;
  properties::diagnosis found;
};

// Whether another finding accounts for this one: that of the operation whose derivative it is, or of the scan inside
// it. A gradient that is wrong where its function is right has a fault of its own.
bool is_consequence(const gate_report& report, const examined_part& examined, const std::vector<examined_part>& all) {
  if (examined.found.explained || examined.found.function_is_right) return false;
  const core::operation& forward = reference::forward_of(*examined.part.operation);
  return std::any_of(all.begin(), all.end(), [&](const examined_part& other) {
    if (other.part == examined.part || other.part.type != examined.part.type) return false;
    // A function that fails only a law of its own (such as empty axes) does not explain a wrong gradient.
    if (!examined.part.operation->is_forward() && other.part.operation == &forward) {
      const auto failed = failed_checks(report, other.part);
      return other.found.explained ||
             std::any_of(failed.begin(), failed.end(), [](const check_result* c) { return c->checked->decides_class; });
    }
    // The module contains the scan: its failure adds nothing to an explained failure of the same kind.
    return other.found.explained && other.part.operation->recurrent && examined.part.operation->recurrent &&
           other.part.operation->kind() == examined.part.operation->kind();
  });
}

void add_faults(const std::vector<part_record>& records, const gate_report& report, sentence_list& sentences) {
  std::vector<examined_part> parts;
  for (const part_record& r : records) {
    // If no call is answered, a complaint says so.
    if (r.adapter && !r.adapter->others_answered) continue;
    if (const part_key part{r.operation, r.type}; !failed_checks(report, part).empty())
      parts.push_back({part, r.found});
  }
  for (const examined_part& e : parts) {
    const auto failed = failed_checks(report, e.part);
    const bool consequence = is_consequence(report, e, parts);
    if (e.found.other_bits) sentences.add(*e.found.other_bits, e.part);
    for (const std::string& sentence : e.found.of_settings) sentences.add(sentence, e.part);
    if (e.found.explained)
      sentences.add(*e.found.explained, e.part);
    else if (e.found.facts && !consequence)
      sentences.add(*e.found.facts, e.part);
    if (!e.found.vanished.empty() && !e.found.explained) sentences.add(vanished_sentence(e.found.vanished), e.part);
    if (!consequence) add_property_facts(failed, e.part, e.found, sentences);
  }
}

// Adds what rounding explains of the errors of parts that passed. Operations with one algorithm share one sentence.
void add_passed(const gate_report& report, sentence_list& sentences) {
  const bool run_passed = report.verdict == gate_verdict::passed;
  std::vector<const check_result*> explained;
  for (const check_result& c : report.checks) {
    const part_key part{c.operation, c.type};
    if (!c.checked->decides_class || c.verdict() == status::failed || !failed_checks(report, part).empty()) continue;
    if (c.suspicious)
      sentences.add(fmt::format("suspicious: {}, in {}", properties::in_words(*c.suspicious), c.suspicious_case), part);
    if (c.verdict() != status::passed) continue;
    if (run_passed && is_exact(*c.operation))
      sentences.add(exact_sentence, part);
    else if (run_passed && c.share_of_law().value_or(properties::bug_slack) <= properties::class_slack)
      explained.push_back(&c);
    else if (const auto sentence = sentence_of_passed(c, run_passed))
      sentences.add(*sentence, part);
  }
  double most = 0;
  for (const check_result* c : explained) most = std::max(most, *c->share_of_law());
  for (const check_result* c : explained) sentences.add(share_sentence(most), {c->operation, c->type});
}

std::vector<std::string> digits_of(const gate_report& report) {
  std::vector<std::pair<const core::operation*, std::vector<kept_digits>>> all;
  for (const check_result& c : report.checks) {
    if (!c.operation->is_forward() || !c.checked->decides_class || c.verdict() != status::passed) continue;
    if (c.digits().empty() || !failed_checks(report, {c.operation, c.type}).empty()) continue;
    if (all.empty() || all.back().first != c.operation) all.push_back({c.operation, {}});
    all.back().second.emplace_back(c.type, c.digits());
  }
  std::vector<std::string> texts;
  for (const auto& [op, by_type] : all) texts.push_back(digits_sentence(*op, by_type));
  return texts;
}

// Adds calls that are refused without a declaration: this is no fault, but users may have relied on them. Sentences
// that differ only in numbers, such as the sizes of other dtypes, count as one.
void add_refusals(const gate_report& report, sentence_list& sentences) {
  std::map<std::string, std::string> said;
  for (const check_result& c : report.checks) {
    if (c.refused.empty()) continue;
    const bool all_judged = report.only_properties.empty() && report.only_families.empty();
    const std::string sentence = refusals_in_words(c) + (all_judged ? "; all else was judged" : "");
    sentences.add(said.emplace(without_digits(sentence), sentence).first->second + "; empty=False declares it",
                  {c.operation, c.type});
  }
}

}  // namespace

std::optional<std::string> sentence_of_passed(const check_result& c, bool run_passed) {
  const bool has_classes = reference::has_classes(*c.operation);
  const auto reached = c.accuracy_class();
  const double share = has_classes ? properties::class_slack * c.ratios.back() : c.share_of_law().value_or(0.0);
  if (!reached && share > properties::class_slack) {
    const auto widest = reference::algorithms_of(*c.operation).back();
    return suspicious_sentence(share, has_classes ? name_of(widest) : "");
  }
  if (has_classes) {
    const bool loses_digits = *reached >= reference::accuracy_class::linear;
    return run_passed || loses_digits ? std::optional(class_sentence(*c.operation, *reached, run_passed))
                                      : std::nullopt;
  }
  return run_passed ? std::optional(share_sentence(share)) : std::nullopt;
}

void add_findings(const std::vector<part_record>& parts, gate_report& report) {
  sentence_list judged, refused;
  add_faults(parts, report, judged);
  report.faults.clear();
  for (const part_record& r : parts)
    if (auto faults = judged.sentences_about({r.operation, r.type}); !faults.empty())
      report.faults.emplace(part_name{r.operation->name, r.type}, std::move(faults));
  add_passed(report, judged);
  add_refusals(report, refused);
  report.findings.clear();
  for (std::vector<std::string>& texts : std::array{judged.texts(), digits_of(report), refused.texts()})
    std::move(texts.begin(), texts.end(), std::back_inserter(report.findings));
}

}  // namespace assay::tools
