#include "properties/diagnosis/diagnose.hpp"

#include <algorithm>
#include <set>

#include "properties/diagnosis/consequences.hpp"
#include "properties/diagnosis/dictionary.hpp"
#include "properties/diagnosis/explanation.hpp"
#include "properties/diagnosis/facts.hpp"
#include "properties/diagnosis/own_settings.hpp"
#include "properties/diagnosis/precision.hpp"
#include "properties/diagnosis/unanswered.hpp"
#include "reference/oracle.hpp"

namespace assay::properties {
namespace {

constexpr std::size_t most_counterexamples = 3, cases_repeated = 2, cases_of_law = 4, cases_of_session = 8;
constexpr std::size_t draws_repeated = 24;

bool speaks_of_formats(const std::string& sentence) {
  constexpr const char* words[] = {"f16", "f32", "f64", "dtype", "precision", "bits", "rounded", "error"};
  return std::any_of(std::begin(words), std::end(words),
                     [&](const char* word) { return sentence.find(word) != std::string::npos; });
}

class examination {
 public:
  examination(implementation& under_test, const core::operation& op, core::dtype type, const diagnosis_options& options)
      : under_test_(under_test), op_(op), type_(type), options_(options) {}

  diagnosis run() {
    run_again();
    for (const failed_case& f : options_.failed)
      if (f.checked->decides_class && !found_.unanswered)
        found_.unanswered = where_unanswered(under_test_, f.shown, options_.seed);
    find_consequences();
    if (!under_test_.describe().recorded && examine_repetition()) return std::move(found_);
    std::vector<probe> probes = run_probes(under_test_, op_, type_, {counterexamples_, others_, options_.seed});
    leave_out_empty(probes);
    const auto some_are_wrong = [&] { return !probes.empty() && !probes.front().right; };
    if (some_are_wrong()) name(confirmed(probes));
    if (some_are_wrong() && !found_.explained) {
      found_.of_settings = take_wrong_in_own_settings(probes, under_test_, options_.seed);
      if (!found_.of_settings.empty() && some_are_wrong()) name(confirmed(probes));
    }
    if (!found_.explained && seems_to_remember()) name(memory_fault());
    found_.function_is_right =
        std::any_of(probes.begin(), probes.end(), [&](const probe& p) { return !p.right && function_is_right_at(p); });
    if (some_are_wrong()) {
      const auto is_fresh = [](const probe& p) { return !p.right && p.kind != probe_kind::counterexample; };
      if (std::none_of(probes.begin(), probes.end(), is_fresh)) add_large_probes(probes, under_test_, options_.seed);
      size_experiments again(under_test_, options_.seed);
      found_.facts = facts_of(probes, again);
    }
    return std::move(found_);
  }

 private:
  // Runs the failed cases again: those of their calls that are wrong are the counterexamples. Laws make their own
  // calls; fresh calls come from other cases of the same key.
  void run_again() {
    for (const failed_case& f : options_.failed) {
      const status again = add_wrong_calls(f, f.shown, counterexamples_);
      if (again == status::passed || again == status::uninformative) found_.vanished.push_back(f.checked->name);
      case_key key = f.shown.key;
      if (f.checked->decides_class || key.operation == nullptr || find_family(*key.operation, key.family) == nullptr)
        continue;
      for (std::size_t k = 0; k < cases_of_law && others_.size() < most_counterexamples; ++k) {
        key.seed = options_.seed + 7000 + k;
        add_wrong_calls(f, make_case(key), others_);
      }
    }
  }

  void find_consequences() {
    const auto decides = [](const failed_case& f) { return f.checked->decides_class; };
    if (std::none_of(options_.failed.begin(), options_.failed.end(), decides)) return;
    for (const failed_case& f : options_.failed)
      if (!decides(f) && fails_by_wrong_values_alone(*f.checked, f.shown, under_test_, options_.fresh))
        found_.consequences.push_back(f.checked->name);
  }

  status add_wrong_calls(const failed_case& f, const test_case& example, std::vector<test_case>& wrong) {
    const description& about = under_test_.describe();
    recorder calls(under_test_);
    const status verdict = f.checked->check(calls, example).verdict;
    for (const auto& [call, outputs] : calls.calls()) {
      test_case c = example;
      c.call = call;
      if (call.operation != &op_ || wrong.size() >= most_counterexamples || !within_domain(about, c)) continue;
      if (!judge(call, about.precisions_of(call), outputs).passed) wrong.push_back(c);
    }
    return verdict;
  }

  void name(const std::optional<explanation>& e) {
    if (!e) return;
    found_.explained = e->sentence;
    found_.named = e->named;
  }

  [[nodiscard]] bool function_is_right_at(const probe& p) {
    const core::operation& function = reference::forward_of(op_);
    if (op_.is_forward() || !under_test_.describe().offers(function.name, type_)) return false;
    test_case point = p.c;
    point.call.operation = &function;
    std::erase_if(point.call.inputs, [&](const auto& input) { return function.input(input.first) == nullptr; });
    if (!within_domain(under_test_.describe(), point)) return false;
    call_result outputs = under_test_.evaluate(point.call);
    return outputs && is_right(point, std::move(*outputs), under_test_.describe().precisions_of(point.call)) == true;
  }

  // Cases with an empty axis are judged apart: faults there say nothing about faults elsewhere.
  static void leave_out_empty(std::vector<probe>& probes) {
    const auto counts = [](const probe& p) { return !p.right && !has_empty_axis(p); };
    if (std::any_of(probes.begin(), probes.end(), counts))
      std::erase_if(probes, [](const probe& p) { return !p.right && has_empty_axis(p); });
  }

  // An explanation of the probes must explain more probes too: entries that agreed by chance then differ.
  std::optional<explanation> confirmed(std::vector<probe>& probes) {
    if (!explained_by_any(probes)) return std::nullopt;
    add_probes(probes, under_test_, options_.seed);
    leave_out_empty(probes);
    return explained_by_any(probes);
  }

  // Explains by other precisions than declared, and by the dictionary. Both are said, unless a fault that has nothing
  // to do with formats explains everything.
  [[nodiscard]] std::optional<explanation> explained_by_any(const std::vector<probe>& probes) const {
    const std::optional<std::string> by_precision = precision_explanation_of(probes, stages_ruled_out());
    size_experiments again(under_test_, options_.seed);
    std::optional<explanation> by_fault = explanation_of(probes, entries(probes), again);
    if (!by_precision) return by_fault;
    if (!by_fault) return explanation{*by_precision, {}};
    if (!speaks_of_formats(by_fault->sentence)) return by_fault;
    by_fault->sentence = *by_precision + "; " + by_fault->sentence;
    return by_fault;
  }

  // Stages whose errors cannot break the failed laws: a wrong angle turns pairs but keeps their lengths (NAME_norms:
  // kinds/rotation.hpp).
  [[nodiscard]] std::set<std::string> stages_ruled_out() const {
    const bool changes_lengths = std::any_of(options_.failed.begin(), options_.failed.end(),
                                             [](const failed_case& f) { return f.checked->name.ends_with("_norms"); });
    return changes_lengths ? std::set<std::string>{"angle"} : std::set<std::string>{};
  }

  // Whether equal calls differ by more than rounding: then nothing else can be said about the implementation.
  bool examine_repetition() {
    const std::vector<test_case> cases = cases_answered();
    auto unequal = repeated_in_process(under_test_, cases, options_.fresh);
    const bool is_equal_in_process = !unequal;
    if (!unequal) unequal = repeated_in_fresh_process(under_test_, cases, options_.fresh);
    if (!unequal) return false;
    if (unequal->matters) {
      found_.explained = unequal->sentence;
      name(memory_fault());
      if (is_equal_in_process && found_.named.empty() && !counterexamples_.empty())
        if (const auto first = wrong_after_dtype(counterexamples_.front(), under_test_.describe(), options_.fresh))
          name(explanation{first_dtype_words(type_, *first), {}});
    } else if (under_test_.describe().deterministic || has_failed("repeat")) {
      found_.other_bits = unequal->sentence;
    }
    return unequal->matters;
  }

  // The counterexamples, mild cases that the implementation does not decline, and cases larger than the first of these:
  // state that a larger call leaves behind shows when calls of both sizes are repeated.
  [[nodiscard]] std::vector<test_case> cases_answered() {
    std::vector<test_case> answered;
    const std::size_t wanted = cases_besides({}, 0).size() + cases_repeated;
    for (test_case& c : cases_besides({mild_family_of(op_).name}, draws_repeated)) {
      if (answered.size() == wanted) break;
      const call_result outputs = under_test_.evaluate(c.call);
      if (outputs || outputs.error().kind != fault::unsupported) answered.push_back(std::move(c));
    }
    if (answered.empty()) return answered;
    for (test_case& c : larger_than(answered.front(), under_test_, options_.seed + 13000))
      answered.push_back(std::move(c));
    return answered;
  }

  [[nodiscard]] bool seems_to_remember() const {
    if (under_test_.describe().recorded) return false;
    return has_failed("repeat") || has_failed("recomputation") || !found_.vanished.empty();
  }

  // An entry that remembers calls and gives what the implementation gives after a new start. Mild inputs come first:
  // what a cache returns is as exact as the call it came from.
  [[nodiscard]] std::optional<explanation> memory_fault() const {
    std::vector<std::string> families;
    for (const family& f : families_of(op_)) families.push_back(f.name);
    for (const auto& cases :
         {cases_besides({mild_family_of(op_).name}, cases_of_session), cases_besides(families, 1)}) {
      const auto started = options_.fresh ? options_.fresh() : nullptr;
      if (!started) return std::nullopt;
      const std::vector<probe> session = session_of(*started, op_, cases);
      if (auto e = explanation_of_session(session, entries(session))) return e;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::vector<dictionary_entry> entries(const std::vector<probe>& probes) const {
    std::vector<dictionary_entry> all = dictionary_of(op_, type_, probes);
    std::erase_if(all, [&](const dictionary_entry& e) { return e.id == options_.left_out; });
    return all;
  }

  [[nodiscard]] bool has_failed(const char* property) const {
    return std::any_of(options_.failed.begin(), options_.failed.end(),
                       [&](const failed_case& f) { return f.checked->name == property; });
  }

  // The counterexamples, or the failed cases if none of their calls is wrong, and `each` cases of each of these
  // families.
  [[nodiscard]] std::vector<test_case> cases_besides(const std::vector<std::string>& families, std::size_t each) const {
    std::vector<test_case> cases = counterexamples_;
    const description& about = under_test_.describe();
    if (cases.empty())
      for (const failed_case& f : options_.failed)
        if (f.shown.call.operation == &op_ && cases.size() < most_counterexamples && within_domain(about, f.shown))
          cases.push_back(f.shown);
    for (const std::string& name : families)
      for (std::size_t k = 0; k < each && find_family(op_, name) != nullptr; ++k) {
        test_case c = make_case({&op_, type_, name, options_.seed + 3000 + k, {}, about.settings_of(op_)});
        if (within_domain(about, c)) cases.push_back(std::move(c));
      }
    return cases;
  }

  implementation& under_test_;
  const core::operation& op_;
  core::dtype type_;
  const diagnosis_options& options_;
  std::vector<test_case> counterexamples_, others_;
  diagnosis found_;
};

}  // namespace

diagnosis diagnose(implementation& under_test, const core::operation& op, core::dtype type,
                   const diagnosis_options& options) {
  return examination(under_test, op, type, options).run();
}

}  // namespace assay::properties
