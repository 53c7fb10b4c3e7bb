#include "tools/golden/reveal.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

#include "properties/harness/verdict.hpp"

namespace assay::tools {
namespace {

struct wrong_code {
  std::string id;
  std::shared_ptr<properties::implementation> code;
};

// Mutants grouped by the operations that they offer.
std::map<std::string, std::vector<wrong_code>> mutants_by_operation() {
  std::map<std::string, std::vector<wrong_code>> all;
  for (const properties::encoding_tests& tests : properties::all_encoding_tests())
    for (const properties::variant& m : tests.mutants) {
      if (m.remembers) continue;
      const std::shared_ptr<properties::implementation> code = m.make();
      for (const auto& [operation, types] : code->describe().operations) all[operation].push_back({m.id, code});
    }
  return all;
}

}  // namespace

core::dtype arithmetic_for(const properties::implementation& code, const core::request& call) {
  const core::precisions formats = code.describe().precisions_of(call);
  const auto known = golden::arithmetics_of(call.type);
  const bool is_one = !formats.differ() && std::find(known.begin(), known.end(), formats.unit()) != known.end();
  return is_one ? formats.unit() : call.type;
}

std::optional<bool> is_revealed(properties::implementation& wrong, const golden::golden_file& file) {
  if (!wrong.describe().offers(file.call.operation->name, file.call.type)) return std::nullopt;
  const auto outputs = wrong.evaluate(file.call);
  if (!outputs) return std::nullopt;
  return !golden::agrees(file, *outputs, golden::question::bug, arithmetic_for(wrong, file.call));
}

golden::revealing all_revealed() {
  struct shared {
    std::mutex one_at_a_time;  // implementations are not thread-safe
    std::map<std::string, std::vector<wrong_code>> mutants = mutants_by_operation();
  };
  return [all = std::make_shared<shared>()](const golden::golden_file& file) {
    const std::lock_guard lock(all->one_at_a_time);
    std::vector<std::string> names;
    for (const wrong_code& m : all->mutants[file.call.operation->name])
      if (is_revealed(*m.code, file).value_or(false)) names.push_back(m.id);
    std::sort(names.begin(), names.end());
    const core::dtype storage = file.about.type;
    const bool wide = golden::arithmetics_of(storage).size() > 1 && is_vacuous(file, storage);
    return golden::revelation{std::move(names), wide};
  };
}

bool is_vacuous(const golden::golden_file& file, core::dtype arithmetic) {
  const auto passing = passed_by(file, arithmetic);
  return std::any_of(passing.begin(), passing.end(), [](const passing_answer& p) { return !p.is_right; });
}

namespace {

bool is_truth(const golden::golden_file& file, const core::tensors& answer) {
  return std::all_of(answer.begin(), answer.end(),
                     [&](const auto& a) { return core::identical(a.second, file.tensors.at(a.first)); });
}

}  // namespace

std::vector<passing_answer> passed_by(const golden::golden_file& file, core::dtype arithmetic) {
  const core::request& call = file.call;
  core::tensors truth, zeros;
  for (const auto& d : call.operation->outputs) {
    const core::tensor& y = file.tensors.at(d.name);
    truth.emplace(d.name, y);
    zeros.emplace(d.name, core::zeros(y.type, y.shape()));
  }
  std::vector<passing_answer> passing;
  const auto try_answer = [&](const std::string& name, const core::tensors& answer) {
    if (golden::agrees(file, answer, golden::question::bug, arithmetic))
      passing.push_back({name, is_truth(file, answer)});
  };
  try_answer("zeros", zeros);
  try_answer("the previous step", properties::previous_step(call, truth));
  const auto roles = golden::roles_of(*call.operation, call.type);
  for (const auto& [input, given] : call.inputs) {
    // Outputs are an input of the same shape, or zeros if there is none.
    core::tensors echo = zeros;
    bool fits = false;
    for (auto& [name, t] : echo)
      if (t.shape() == given.shape() && t.type == given.type) {
        t = given;
        fits = true;
      }
    if (fits) try_answer(roles.at(input) + " " + input, echo);
  }
  if (const auto* tests = properties::encoding_tests_of(*call.operation))
    for (const properties::uninformed_answer& declared : tests->uninformed)
      if (declared.applies(*call.operation)) try_answer(declared.what, declared.answer(call));
  return passing;
}

}  // namespace assay::tools
