#include "properties/diagnosis/dictionary.hpp"

#include <algorithm>

#include "properties/diagnosis/bounded_places.hpp"
#include "properties/diagnosis/conventions.hpp"
#include "properties/harness/catalogue.hpp"
#include "reference/formula_owner.hpp"
#include "reference/oracle.hpp"

namespace assay::properties {
namespace {

dictionary_entry entry_of(const hypothesis& h) {
  return {entry_source::hypothesis, h.sentence, h.sentence, "",
          [predict = h.predict]() -> wrong_model { return [predict](const request& call) { return predict(call); }; }};
}

// The summary of a variant, without the name of the operation with which summaries of generated mutants begin.
std::string words_of(const variant& v, const core::operation& op) {
  const std::string prefix = op.name + ": ";
  return v.summary.starts_with(prefix) ? v.summary.substr(prefix.size()) : v.summary;
}

// Whether the id of a generated mutant names another operation. To create the mutant and to ask it would take longer.
bool is_of_another_operation(const variant& v, const core::operation& op) {
  const std::string prefix = "generated/";
  if (!v.id.starts_with(prefix) || v.id.starts_with(prefix + op.name + "/")) return false;
  return std::any_of(reference::operations().begin(), reference::operations().end(),
                     [&](const core::operation& other) { return v.id.starts_with(prefix + other.name + "/"); });
}

void add_variants(std::vector<dictionary_entry>& all, const std::vector<variant>& variants, entry_source from,
                  const core::operation& op, core::dtype type) {
  for (const variant& v : variants) {
    if (is_of_another_operation(v, op) || !v.make()->describe().offers(op.name, type)) continue;
    all.push_back({from, v.id, words_of(v, op), from == entry_source::mutant ? v.models : "",
                   [make = v.make]() -> wrong_model {
                     return [model = std::shared_ptr<implementation>(make())](const request& call) {
                       return model->evaluate(call);
                     };
                   },
                   v.remembers});
    if (v.answered)
      all.back().answered = [answered = v.answered](const request& call) {
        request complete = call;
        complete.attributes = core::completed(*call.operation, call.attributes);
        return answered(complete);
      };
  }
}

}  // namespace

likeness likeness_to(const dictionary_entry& entry) {
  // A model rounds in its own arithmetic: at far positions its error may exceed a small allowance. Where the entry also
  // has the call that is answered, that call's truth is compared, too.
  return [answered = entry.answered, model = entry.make ? entry.make() : wrong_model()](const probe& p) {
    try {
      if (model) {
        const call_result predicted = model(p.c.call);
        if (predicted && agrees(p, *predicted)) return true;
      }
      return answered && agrees(p, answered(p.c.call));
    } catch (const reference::no_answer&) {
      return false;  // the formula may not cover the call that is answered in place of the one made
    }
  };
}

std::vector<dictionary_entry> dictionary_of(const core::operation& op, core::dtype type,
                                            const std::vector<probe>& probes) {
  std::vector<dictionary_entry> all = conventions_of(op, probes);
  const encoding_tests* tests = encoding_tests_of(op);
  if (tests == nullptr) return all;
  for (const hypothesis& h : tests->hypotheses)
    if (h.applies(op)) all.push_back(entry_of(h));
  add_variants(all, tests->mutants, entry_source::mutant, op, type);
  if (tests->generated) add_variants(all, tests->generated(), entry_source::declared, op, type);
  for (dictionary_entry& e : bounded_places(op)) all.push_back(std::move(e));
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.from < b.from; });
  return all;
}

}  // namespace assay::properties
