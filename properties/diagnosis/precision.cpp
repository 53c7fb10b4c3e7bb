#include "properties/diagnosis/precision.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "properties/diagnosis/plain_arithmetic.hpp"
#include "properties/diagnosis/sentences.hpp"
#include "properties/harness/verdict.hpp"
#include "reference/evaluate_in.hpp"
#include "reference/oracle.hpp"

namespace assay::properties {
namespace {

// An allowance that covers some share of the possible errors explains an error by accident with that probability: for
// all probes together it must be less than 2^-10.
constexpr double least_evidence = 10.0;  // bits
constexpr double comparable_evidence = 0.75;

struct assignment {
  std::vector<std::size_t> stages;  // stages with another format than declared; all stages if it is empty
  core::dtype narrow;               // that format
  core::precisions formats;
};

core::dtype less_precise(core::dtype x, core::dtype y) {
  return core::format_of(x).precision <= core::format_of(y).precision ? x : y;
}

// The stages of a set in a narrow format, and the others as they are.
assignment with_narrow(const core::operation& op, const core::precisions& declared, core::dtype narrow,
                       std::vector<std::size_t> stages) {
  std::vector<core::dtype> formats;
  for (std::size_t k = 0; k < op.stages.size(); ++k) formats.push_back(declared.format(k));
  for (const std::size_t k : stages) formats[k] = narrow;
  return {std::move(stages), narrow, {op.stages, std::move(formats)}};
}

// Grouped by the number of stages that change: one, two, all.
std::vector<std::vector<assignment>> other_assignments(const core::operation& op, const core::precisions& declared,
                                                       core::dtype narrow) {
  std::vector<std::size_t> wider;
  for (std::size_t k = 0; k < op.stages.size(); ++k)
    if (less_precise(narrow, declared.format(k)) != declared.format(k)) wider.push_back(k);
  std::vector<std::vector<assignment>> all(3);
  for (std::size_t i = 0; i < wider.size(); ++i) {
    all[0].push_back(with_narrow(op, declared, narrow, {wider[i]}));
    for (std::size_t j = i + 1; j < wider.size(); ++j)
      all[1].push_back(with_narrow(op, declared, narrow, {wider[i], wider[j]}));
  }
  if (wider.size() > 2 || (op.stages.empty() && declared.unit() != narrow)) all[2].push_back({{}, narrow, narrow});
  return all;
}

// Other assignments by the number of stages that change: stages in the format of the tensors, and for tensors in f64 or
// f32 also stages in narrower formats, such as weights in bf16.
std::vector<std::vector<assignment>> levels_tried(const core::operation& op, const core::precisions& declared,
                                                  core::dtype storage) {
  auto all = other_assignments(op, declared, storage);
  if (op.stages.empty() || less_precise(storage, core::dtype::f32) != core::dtype::f32) return all;
  for (const core::dtype narrower : {core::dtype::f32, core::dtype::f16, core::dtype::bf16}) {
    if (less_precise(storage, narrower) == storage) continue;
    const auto more = other_assignments(op, declared, narrower);
    for (std::size_t k = 0; k < all.size(); ++k) all[k].insert(all[k].end(), more[k].begin(), more[k].end());
  }
  return all;
}

// A wrong probe judged in other formats against the same truth.
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

  // -log2 of the share of possible errors, which reach twice the scale, that the law allows the wrong element with the
  // tightest allowance; 0 if it allows them all.
  [[nodiscard]] double evidence_of_law() const {
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

  // The same for the interval about the numbers of plain arithmetic in these formats that reaches the wrong element
  // farthest from them; 0 if they do not explain some element.
  [[nodiscard]] double evidence_of_numbers() const {
    const core::tensors plain = reference::evaluate_in(p_.c.call, expected_.compute);
    if (!agrees(p_, plain)) return 0.0;
    double largest = 0.0;
    for (const auto& [name, elements] : p_.wrong) {
      const std::vector<double> scales = scales_of(expected_, name);
      const core::tensor& actual = p_.actual.at(name);
      for (const std::size_t i : elements) {
        const double x = actual.values.storage()[i],
                     off = std::fabs(x - plain.at(name).values.storage()[i]) + core::half_ulp(actual.type, x);
        largest = std::max(largest, off / (2.0 * scales[i]));
      }
    }
    return std::isfinite(largest) && largest > 0.0 ? std::max(-std::log2(largest), 0.0) : 0.0;
  }

  const probe& p_;
  expectation expected_;
};

bool is_of_sums(const assignment& a, const core::operation& op) {
  return a.stages.size() == 1 && op.stages[a.stages.front()].name == core::accumulation;
}

// Returns how strongly the probes support other formats that explain all wrong probes. Returns nothing if the formats
// do not explain them, or if there is too little evidence. A long sum in a short format may lose all its digits, and
// its law allows that; for sums the numbers are therefore evidence too.
std::optional<double> evidence_for(const assignment& other, const std::vector<probe>& probes) {
  std::size_t explained = 0;
  // Evidence counts once per seed: a case with another setting has the same numbers and tells little more.
  std::map<std::uint64_t, double> law_evidence, numbers_evidence;
  for (const probe& p : probes) {
    if (p.right) continue;
    const judged_again again(p, other.formats);
    if (!again.passes() || plain_arithmetic::loses_otherwise(p, other.formats)) return std::nullopt;
    ++explained;
    law_evidence[p.c.seed] = std::max(law_evidence[p.c.seed], again.evidence_of_law());
    if (is_of_sums(other, *p.c.call.operation))
      numbers_evidence[p.c.seed] = std::max(numbers_evidence[p.c.seed], again.evidence_of_numbers());
  }
  const auto sum = [](const auto& by_seed) {
    return std::accumulate(by_seed.begin(), by_seed.end(), 0.0,
                           [](double all, const auto& one) { return all + one.second; });
  };
  const double evidence = std::max(sum(law_evidence), sum(numbers_evidence));
  if (explained < least_explained || evidence < least_evidence) return std::nullopt;
  if (other.narrow == probes.front().c.call.type) return evidence;
  // For a format narrower than the tensors, only the errors are evidence.
  const double alike = std::max(plain_arithmetic::correlation_with(other.formats, std::nullopt, probes),
                                plain_arithmetic::correlation_with(other.formats, other.narrow, probes));
  return alike > 0 ? std::optional(alike) : std::nullopt;
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
      stages.push_back(fmt::format("\"{}\": \"{}\"", op.stages[k].name, name_of(formats.format(k))));
    value = fmt::format("{{{}}}", fmt::join(stages, ", "));
  }
  return fmt::format(" (compute = {{\"{}\": {}}})", name_of(storage), value);
}

// The assignments that explain everything, by what they allow or how alike they err: the tight ones, in the format of
// the best.
std::vector<assignment> tightest(const std::vector<assignment>& all, const std::vector<probe>& probes) {
  std::vector<std::pair<assignment, double>> explaining;
  double most = 0;
  core::dtype narrow{};
  for (const assignment& a : all)
    if (const auto evidence = evidence_for(a, probes)) {
      explaining.emplace_back(a, *evidence);
      if (*evidence > most) narrow = a.narrow;
      most = std::max(most, *evidence);
    }
  std::vector<assignment> kept;
  for (const auto& [a, evidence] : explaining)
    if (a.narrow == narrow && evidence >= comparable_evidence * most) kept.push_back(a);
  return kept;
}

}  // namespace

std::optional<std::string> precision_explanation_of(const std::vector<probe>& probes,
                                                    const std::set<std::string>& ruled_out) {
  if (probes.empty() || probes.front().right) return std::nullopt;
  const request& call = probes.front().c.call;
  const core::operation& op = *call.operation;
  const core::precisions declared = probes.front().truth->compute;
  const auto is_ruled_out = [&](const assignment& a) {
    return !a.stages.empty() && std::all_of(a.stages.begin(), a.stages.end(),
                                            [&](std::size_t k) { return ruled_out.contains(op.stages[k].name); });
  };
  for (auto& level : levels_tried(op, declared, call.type)) {
    std::erase_if(level, is_ruled_out);
    const std::vector<assignment> found = tightest(level, probes);
    if (found.empty()) continue;
    std::vector<std::string> stages;
    for (const assignment& a : found) stages.push_back(words_of(a, op));
    const core::dtype narrow = found.front().narrow;
    // No candidate declares a format that is narrower than its tensors.
    const bool can_be_declared = less_precise(narrow, call.type) != narrow || narrow == call.type;
    return words::explained_in(stages, found.back().stages.size() > 1, narrow,
                               can_be_declared ? std::optional(declaration_of(found, op, call.type)) : std::nullopt);
  }
  return std::nullopt;
}

}  // namespace assay::properties
