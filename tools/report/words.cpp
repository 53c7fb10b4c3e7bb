// Phrases that several documents of a report use.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <regex>
#include <set>

#include "reference/oracle.hpp"
#include "tools/report/escape.hpp"
#include "tools/report/report.hpp"
#include "tools/report/sentences.hpp"

namespace assay::tools {

using properties::check_result;
using properties::status;

const char* name_of(gate_verdict v) {
  switch (v) {
    case gate_verdict::passed:
      return "passed";
    case gate_verdict::failed:
      return "failed";
    case gate_verdict::broken:
      return "broken";
  }
  return "unknown";
}

const char* verdict_word(const check_result& c) {
  switch (c.verdict()) {
    case status::passed:
      return "passed";
    case status::failed:
      return "failed";
    case status::uninformative:
      return "uninformative";
    default:
      return "skipped";
  }
}

const char* smallest_case_words(const check_result& c) {
  return c.checked->decides_class ? "Smallest case found" : "Smallest case found; the check runs a changed copy of it";
}

bool is_exact(const core::operation& op) {
  const auto are_exact = [](const auto& tensors) {
    return std::all_of(tensors.begin(), tensors.end(),
                       [](const auto& d) { return d.own_type && !core::is_floating(*d.own_type); });
  };
  return are_exact(op.inputs) && are_exact(op.outputs);
}

std::string dtype_word(const check_result& c) {
  return std::string(core::name_of(is_exact(*c.operation) ? core::dtype::i64 : c.type));
}

std::string class_word(const check_result& c) {
  if (const auto reached = c.accuracy_class()) return std::string(name_of(*reached));
  if (c.verdict() == status::failed) return "none: a bug";
  if (c.verdict() != status::passed) return "not decided";
  if (is_exact(*c.operation)) return "exact";
  return reference::has_classes(*c.operation) ? "none: near a bug" : "one algorithm";
}

std::string digits_in_words(const check_result& c) {
  const auto digits = c.digits();
  if (!digits.empty()) return digits_in_words(*c.operation, digits);
  return c.operation->grows_with && c.tells_digits() ? "none in some cases" : "";
}

std::optional<double> ratio_to_own_law(const check_result& c) {
  if (const auto reached = c.accuracy_class()) return c.ratios[static_cast<std::size_t>(*reached)];
  return c.share_of_law();
}

std::vector<reference::accuracy_class> classes_of(const core::operation& op) {
  if (!reference::has_classes(op)) return {};
  std::vector<reference::accuracy_class> all{reference::accuracy_class::uniform};
  const auto& own = reference::algorithms_of(op);
  all.insert(all.end(), own.begin(), own.end());
  return all;
}

std::vector<reference::accuracy_class> classes_of(const check_result& c) {
  using reference::accuracy_class;
  std::vector<accuracy_class> all = classes_of(*c.operation);
  const auto reached = c.accuracy_class();
  if (!reached && c.verdict() != status::failed) return all;
  const accuracy_class last = std::max(reached.value_or(accuracy_class::sequential), accuracy_class::sequential);
  std::erase_if(all, [&](accuracy_class k) { return k > last; });
  return all;
}

std::string scale_words(const core::operation& op) {
  std::set<core::error_scale> scales;
  for (const core::tensor_declaration& d : op.outputs) scales.insert(d.scale);
  std::string words;
  for (const core::error_scale s : scales) words += (words.empty() ? "" : " or ") + std::string(words_for(s));
  return words;
}

double largest_error_ulp(const check_result& c) {
  double largest = std::max(c.largest_ulp, c.found ? c.worst.ulp : 0.0);
  for (const auto& [n, e] : c.by_growth) largest = std::max(largest, e.largest_ulp);
  return largest;
}

std::map<std::uint64_t, properties::error_there> drawn_growth(const check_result& c) {
  auto drawn = c.by_growth;
  std::erase_if(drawn, [](const auto& from) { return from.second.cases == 0; });
  return drawn;
}

const char* failure_kind(const check_result& c) {
  return c.found && c.found->shown.failure ? properties::kind_of(c.found->shown.failure->kind) : wrong_result;
}

adapter_fault fault_of(const properties::call_failure& failure, const core::operation* op, core::dtype type,
                       const std::string& on) {
  return {op, type, kind_of(failure.kind), name_of(failure.kind), failure.message, on, failure.errors};
}

std::vector<std::string> texts_of(const std::vector<complaint>& complaints) {
  std::vector<std::string> texts;
  for (const complaint& c : complaints) texts.push_back(c.text);
  return texts;
}

std::string reason_of(const gate_report& r, const check_result& c) {
  switch (c.verdict()) {
    case status::uninformative:
      return c.run() == 0 ? "no case was run"
                          : "uninformative: an answer that knows nothing would pass every one of these cases";
    case status::unsupported:
      if (!c.refused.empty()) return "unsupported: it " + refusals_in_words(c);
      return r.candidate.recorded
                 ? "unsupported: it needs a candidate that runs, because the exported cases do not hold its calls"
                 : "unsupported: the candidate declines what this property needs";
    case status::outside_domain:
      return "outside domain: every case, or a call that it needs, lies outside the domain that the candidate declares";
    default:
      return "";
  }
}

check_counts count_checks(const gate_report& r) {
  check_counts n;
  for (const check_result& c : r.checks) {
    ++n.checks;
    const status s = c.verdict();
    ++(s == status::passed          ? n.passed
       : s == status::failed        ? n.failed
       : s == status::uninformative ? n.uninformative
                                    : n.skipped);
    n.consequences += c.is_consequence;
  }
  return n;
}

std::string counts_in_words(const gate_report& r) {
  const check_counts n = count_checks(r);
  std::string text = fmt::format("{} checks: {} passed, {} failed", n.checks, n.passed, n.failed);
  if (n.consequences > 0) text += fmt::format(" ({} of them only by the fault of another check)", n.consequences);
  if (n.uninformative > 0) text += fmt::format(", {} uninformative", n.uninformative);
  if (n.skipped > 0) text += fmt::format(", {} skipped", n.skipped);
  return text;
}

std::vector<const check_result*> consequences_of(const gate_report& r, const check_result& c) {
  std::vector<const check_result*> all;
  if (c.checked->decides_class)
    for (const check_result& other : r.checks)
      if (other.is_consequence && other.operation == c.operation && other.type == c.type) all.push_back(&other);
  return all;
}

std::string consequences_in_words(const gate_report& r, const check_result& c) {
  const auto all = consequences_of(r, c);
  std::string names;
  for (const check_result* other : all) names += (names.empty() ? "" : ", ") + other->checked->name;
  if (all.empty()) return names;
  return fmt::format("This fault also fails {} other check{}: {}.", all.size(), all.size() == 1 ? "" : "s", names);
}

const check_result* cause_of(const gate_report& r, const check_result& c) {
  if (!c.is_consequence) return nullptr;
  for (const check_result& other : r.checks)
    if (other.checked->decides_class && other.operation == c.operation && other.type == c.type) return &other;
  return nullptr;
}

std::vector<std::string> faults_of(const gate_report& r, const check_result& c) {
  const auto found = r.faults.find({c.operation->name, c.type});
  return found == r.faults.end() ? std::vector<std::string>() : found->second;
}

std::string counterexample_name(const check_result& c) { return failure_id(c) + ".json"; }

std::string failure_id(const check_result& c) {
  std::string name = fmt::format("{}-{}-{}", c.checked->name, c.operation->name, core::name_of(c.type));
  std::replace_if(
      name.begin(), name.end(), [](char x) { return x == '/' || x == ':'; }, '-');
  return name;
}

namespace {

// Limits that differ from the usual ones, as options.
std::string limit_options(const candidate_limits& limits) {
  const candidate_limits usual;
  std::string options;
  if (limits.start_seconds != usual.start_seconds) options += fmt::format(" --start-timeout {}", limits.start_seconds);
  if (limits.case_seconds != usual.case_seconds) options += fmt::format(" --case-timeout {}", limits.case_seconds);
  if (limits.memory_bytes != usual.memory_bytes) options += fmt::format(" --memory-limit {}", limits.memory_bytes);
  return options;
}

}  // namespace

std::string captured_in_words(const judged_formula& f) {
  std::string text;
  if (!f.other_ways.empty()) text += fmt::format(" What {} rounds is right as well.", fmt::join(f.other_ways, ", or "));
  constexpr double much = 100;
  if (const auto found = f.says.find("found");
      found != f.says.end() && found->value("loses", 0.0) > much && found->contains("on"))
    text += fmt::format(
        " As it is written, the formula loses {:.0f} digits in f32 on {} inputs, beyond what rounded inputs cost. Code "
        "that loses as many passes. A stable form of the formula is a stricter check.",
        std::floor(std::log10(found->at("loses").get<double>())), found->at("on").get<std::string>());
  if (!f.captured.empty())
    text += fmt::format(" Taken as {} from it: {}.", f.captured.size() == 1 ? "it is" : "they are",
                        fmt::join(f.captured, "; "));
  return text;
}

std::string replay_command(const gate_report& r, const check_result& c) {
  if (!r.golden.empty())
    return fmt::format("assay golden check {} --against {}{}", shell_word(r.golden.string()),
                       shell_word(r.candidate_spec),
                       r.golden_arithmetic.empty() ? "" : " --arithmetic " + r.golden_arithmetic);
  std::string path = (r.folder / "counterexamples" / counterexample_name(c)).string();
  if (path.starts_with('-')) path.insert(0, "./");  // otherwise it would be taken for an option
  return fmt::format("assay replay {} --candidate {}{}", shell_word(path), shell_word(r.candidate_spec),
                     limit_options(r.limits));
}

namespace {

std::string in_words(const properties::declared_domain& range) {
  constexpr double largest = std::numeric_limits<double>::max();
  if (range.high == largest && range.low == -largest) return "finite";
  if (range.high == largest) return fmt::format("at least {}", range.low);
  return range.low == -largest ? fmt::format("at most {}", range.high)
                               : fmt::format("in [{}, {}]", range.low, range.high);
}

// The size 0 is that of an empty axis; declared sizes do not cover it.
std::string in_words(const properties::declared_sizes& sizes) {
  std::string text;
  if (sizes.multiple_of > 1) text = fmt::format("a multiple of {}", sizes.multiple_of);
  const auto add = [&](std::string more) { text += (text.empty() ? "" : ", ") + more; };
  if (sizes.high == std::numeric_limits<std::size_t>::max()) {
    if (sizes.low > 0) add(fmt::format("at least {}", sizes.low));
  } else if (sizes.low == sizes.high) {
    add(fmt::format("= {}", sizes.low));
  } else {
    add(sizes.low > 0 ? fmt::format("from {} to {}", sizes.low, sizes.high) : fmt::format("at most {}", sizes.high));
  }
  return text.empty() ? "any" : text;
}

}  // namespace

bool is_unnamed_convention(const std::string& operation, const std::string& setting,
                           const std::vector<core::attribute>& values) {
  const core::operation* op = reference::find_operation(operation);
  const core::attribute_declaration* a = op == nullptr ? nullptr : op->attribute(setting);
  return a != nullptr && a->is_later() && values == std::vector{a->standard};
}

std::map<std::string, std::map<std::string, std::string>> narrower_domains(const gate_report& r) {
  std::map<std::string, std::map<std::string, std::string>> all;
  for (const check_result& c : r.checks) {
    const core::operation& op = *c.operation;
    if (all.contains(op.name)) continue;
    std::map<std::string, std::string> narrowed;
    if (const auto inputs = r.candidate.domain.find(op.name); inputs != r.candidate.domain.end())
      for (const auto& [name, range] : inputs->second) narrowed[name] = in_words(range);
    if (const auto axes = r.candidate.sizes.find(op.name); axes != r.candidate.sizes.end())
      for (const auto& [symbol, sizes] : axes->second) narrowed[symbol] = in_words(sizes);
    if (const auto known = r.candidate.relations.find(op.name); known != r.candidate.relations.end())
      for (const properties::axis_relation& relation : known->second) narrowed[relation.text()] = "holds";
    for (const auto& [name, values] : r.candidate.settings_of(op)) {
      if (is_unnamed_convention(op.name, name, values)) continue;
      std::string& text = narrowed[name];
      for (const core::attribute& value : values) text += (text.empty() ? "= " : " or ") + core::to_string(value);
    }
    if (!narrowed.empty()) all.emplace(op.name, std::move(narrowed));
  }
  return all;
}

namespace {

// "rope/rotate in bf16 is judged as computed with angle f32, table bf16, product bf16, as nothing is declared."
void add_precisions(std::vector<std::string>& notes, const gate_report& r) {
  for (const check_result& c : r.checks) {
    const core::precisions p = r.candidate.precisions_of(*c.operation, c.type);
    if (!p.differ()) continue;
    const std::string note = fmt::format("{} in {} is judged as computed with {}{}.", c.operation->forward_name(),
                                         core::name_of(c.type), to_string(p, c.operation->stages),
                                         r.candidate.compute.contains(c.type) ? "" : ", as nothing is declared");
    if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
  }
}

// "New since 0.1, and not tested: rule = "power" of sinusoidal/table."
void add_unasked(std::vector<std::string>& notes, const gate_report& r) {
  std::map<std::string, std::set<std::string>> by_values;
  for (const check_result& c : r.checks)
    if (const auto unasked = r.candidate.unasked.find(c.operation->forward_name());
        unasked != r.candidate.unasked.end())
      for (const auto& [name, values] : unasked->second) {
        std::vector<std::string> words;
        for (const core::attribute& value : values) words.push_back(core::to_string(value));
        by_values[fmt::format("{} = {}", name, fmt::join(words, " or "))].insert(unasked->first);
      }
  for (const check_result& c : r.checks)
    for (const properties::family& f : properties::families_of(*c.operation))
      if (f.since > r.candidate.written_for)
        by_values[fmt::format("the family {}", f.name)].insert(c.operation->forward_name());
  std::vector<std::string> all;
  for (const auto& [values, operations] : by_values)
    all.push_back(fmt::format("{} of {}", values, fmt::join(operations, ", ")));
  if (all.empty()) return;
  notes.push_back(fmt::format(
      "New since {}, and not tested: {}. To test them, name them in the domain or set written_for = \"{}\".",
      to_string(r.candidate.written_for), fmt::join(all, "; "), to_string(core::newest_list)));
}

// " ("interleaved", "half_split")", in the order of the setting's description.
std::string choices_in_words(const core::attribute_declaration& a) {
  if (!std::holds_alternative<std::string>(a.standard)) return "";
  std::vector<std::string> all;
  for (const core::attribute& value : a.values) all.push_back(core::to_string(value));
  return fmt::format(" ({})", fmt::join(all, ", "));
}

// Adds the meaning of each setting whose value a finding names.
void add_settings(std::vector<std::string>& notes, const gate_report& r) {
  if (r.findings.empty()) return;
  std::map<std::string, const core::operation*> judged;
  for (const check_result& c : r.checks) judged.emplace(c.operation->forward_name(), c.operation);
  for (const auto& [name, op] : judged) {
    std::string about;
    const std::regex whole_name("(^|[^A-Za-z0-9_/])" + name + "($|[^A-Za-z0-9_])");
    for (const std::string& sentence : r.findings)
      if (std::regex_search(sentence, whole_name)) about += sentence + "\n";
    if (about.empty()) continue;
    for (const core::attribute_declaration& a : op->attributes)
      if (!a.meaning.empty() && std::regex_search(about, std::regex("(^|[^A-Za-z0-9_])" + a.name + " (=|is) ")))
        notes.push_back(fmt::format("{} of {}{}: {}.", a.name, name, choices_in_words(a), a.meaning));
  }
}

}  // namespace

std::vector<std::string> notes_of(const gate_report& r) {
  std::vector<std::string> notes;
  add_settings(notes, r);
  if (r.effort == "smoke")
    notes.emplace_back(
        "A smoke run: values and derivatives of a few cases in one dtype. The effort quick judges all else.");
  add_precisions(notes, r);
  add_unasked(notes, r);
  if (!r.only_properties.empty())
    notes.push_back(
        fmt::format("Only part of the checks was asked for: properties {}.", fmt::join(r.only_properties, ", ")));
  if (!r.only_families.empty())
    notes.push_back(
        fmt::format("Only part of the cases was asked for: families {}.", fmt::join(r.only_families, ", ")));
  for (const excused_check& e : r.excused)
    notes.push_back(fmt::format("Known to fail: {} of {} in {}: {}", e.property, e.operation, e.dtype, e.reason));
  for (const std::string& w : r.warnings) notes.push_back("Warning: " + w);
  return notes;
}

const excused_check* excuse_of(const gate_report& r, const check_result& c) {
  const auto it = std::find_if(r.excused.begin(), r.excused.end(), [&](const excused_check& e) {
    return e.property == c.checked->name && e.operation == c.operation->name && e.dtype == core::name_of(c.type);
  });
  return it == r.excused.end() ? nullptr : &*it;
}

std::string candidate_title(const gate_report& r) {
  return r.candidate.version.empty() ? r.candidate.name : r.candidate.name + " " + r.candidate.version;
}

run_record run_started_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return {fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now)), 0.0, ASSAY_VERSION};
}

}  // namespace assay::tools
