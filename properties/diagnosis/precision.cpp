#include "properties/diagnosis/precision.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "properties/harness/verdict.hpp"
#include "reference/oracle.hpp"

namespace assay::properties {
namespace {

// What an allowance of some share of the possible errors explains by accident has that probability: all probes together
// must leave less than 2^-10.
constexpr double least_evidence = 10.0;  // bits
constexpr double comparable_evidence = 0.75;

struct assignment {
  std::vector<std::size_t> stages;  // that have another format than declared; all where it is empty
  core::precisions formats;
};

core::dtype less_precise(core::dtype x, core::dtype y) {
  return core::format_of(x).precision <= core::format_of(y).precision ? x : y;
}

// What the stages of a set have in the format of the tensors, and the others as they are.
core::precisions with_narrow(const core::operation& op, const core::precisions& declared, core::dtype storage,
                             const std::vector<std::size_t>& narrow) {
  std::vector<core::dtype> formats;
  for (std::size_t k = 0; k < op.stages.size(); ++k) formats.push_back(declared.of(k));
  for (const std::size_t k : narrow) formats[k] = storage;
  return {op.stages, std::move(formats)};
}

// By the number of stages that change: one, two, all.
std::vector<std::vector<assignment>> other_assignments(const core::operation& op, const core::precisions& declared,
                                                       core::dtype storage) {
  std::vector<std::size_t> wider;
  for (std::size_t k = 0; k < op.stages.size(); ++k)
    if (less_precise(storage, declared.of(k)) != declared.of(k)) wider.push_back(k);
  std::vector<std::vector<assignment>> all(3);
  for (std::size_t i = 0; i < wider.size(); ++i) {
    all[0].push_back({{wider[i]}, with_narrow(op, declared, storage, {wider[i]})});
    for (std::size_t j = i + 1; j < wider.size(); ++j)
      all[1].push_back({{wider[i], wider[j]}, with_narrow(op, declared, storage, {wider[i], wider[j]})});
  }
  if (wider.size() > 2 || (op.stages.empty() && declared.unit() != storage)) all[2].push_back({{}, storage});
  return all;
}

// A wrong probe as it is judged in other formats: its truth stays.
class judged_again {
 public:
  judged_again(const probe& p, const core::precisions& formats) : p_(p), expected_(*p.truth) {
    expected_.compute = formats;
    expected_.first_laws = std::make_shared<const reference::allowances>(
        reference::allow(p.c.call, formats, reference::accuracy_class::sequential));
    expected_.informative = {};
  }

  // Within the class slack: an implementation that computes in these formats errs by no more.
  [[nodiscard]] bool passes() const {
    const value_report r = judge(expected_, p_.actual);
    return r.passed && r.worst.ratio <= class_slack;
  }

  // -log2 of the share of the errors, which reach twice the scale, that the law allows the element that is wrong and
  // has the tightest one; 0 where it allows them all.
  [[nodiscard]] double evidence() const {
    const auto laws = all_laws(expected_);
    double smallest = 1.0;
    for (const auto& [name, elements] : p_.wrong) {
      const std::vector<double> scales = scales_of(expected_, name);
      const auto& k = laws->at(name).k.back().storage();
      const core::dtype storage = p_.actual.at(name).type;
      for (const std::size_t i : elements) {
        const double allowed = allowed_error(storage, expected_.compute, k[i], p_.truth_of(name, i));
        smallest = std::min(smallest, allowed / (2.0 * scales[i]));
      }
    }
    return -std::log2(smallest);
  }

 private:
  const probe& p_;
  expectation expected_;
};

// The evidence for other formats that explain all wrong probes; nothing where they do not, or where it is too little.
std::optional<double> evidence_for(const assignment& other, const std::vector<probe>& probes) {
  std::size_t explained = 0;
  double evidence = 0;
  for (const probe& p : probes) {
    if (p.right) continue;
    const judged_again again(p, other.formats);
    if (!again.passes()) return std::nullopt;
    ++explained;
    evidence += again.evidence();
  }
  return explained >= least_explained && evidence >= least_evidence ? std::optional(evidence) : std::nullopt;
}

std::string words_of(const assignment& a, const core::operation& op) {
  if (a.stages.empty()) return "all";
  std::vector<std::string> names;
  for (const std::size_t k : a.stages) names.push_back(fmt::format("{} ({})", op.stages[k].name, op.stages[k].meaning));
  return fmt::format("{}", fmt::join(names, " and "));
}

// " (compute = {"bf16": {"angle": "bf16", "table": "bf16", "product": "f32"}})"; nothing where several explain alike.
std::string declaration_of(const std::vector<assignment>& found, const core::operation& op, core::dtype storage) {
  if (found.size() > 1) return "";
  const core::precisions& formats = found.front().formats;
  std::string value = fmt::format("\"{}\"", name_of(formats.unit()));
  if (formats.differ()) {
    std::vector<std::string> stages;
    for (std::size_t k = 0; k < op.stages.size(); ++k)
      stages.push_back(fmt::format("\"{}\": \"{}\"", op.stages[k].name, name_of(formats.of(k))));
    value = fmt::format("{{{}}}", fmt::join(stages, ", "));
  }
  return fmt::format(" (compute = {{\"{}\": {}}})", name_of(storage), value);
}

// Those that explain all, by what they allow: of wide and tight explanations the tight ones.
std::vector<assignment> tightest(const std::vector<assignment>& all, const std::vector<probe>& probes) {
  std::vector<std::pair<assignment, double>> explaining;
  double most = 0;
  for (const assignment& a : all)
    if (const auto evidence = evidence_for(a, probes)) {
      explaining.emplace_back(a, *evidence);
      most = std::max(most, *evidence);
    }
  std::vector<assignment> kept;
  for (const auto& [a, evidence] : explaining)
    if (evidence >= comparable_evidence * most) kept.push_back(a);
  return kept;
}

}  // namespace

std::optional<std::string> precision_explanation_of(const std::vector<probe>& probes) {
  if (probes.empty() || probes.front().right) return std::nullopt;
  const request& call = probes.front().c.call;
  const core::operation& op = *call.operation;
  const core::precisions declared = probes.front().truth->compute;
  for (const auto& level : other_assignments(op, declared, call.type)) {
    const std::vector<assignment> found = tightest(level, probes);
    if (found.empty()) continue;
    std::vector<std::string> words;
    for (const assignment& a : found) words.push_back(words_of(a, op));
    return fmt::format("explained if {} is computed in {}: declare it{}, or mend it", fmt::join(words, ", or "),
                       name_of(call.type), declaration_of(found, op, call.type));
  }
  return std::nullopt;
}

}  // namespace assay::properties
