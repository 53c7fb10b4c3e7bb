#include "properties/harness/verdict.hpp"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <tuple>

#include "properties/harness/catalogue.hpp"
#include "properties/harness/element_judge.hpp"
#include "properties/harness/expectation.hpp"
#include "reference/core/parts.hpp"
#include "reference/error_bound.hpp"

namespace assay::properties {
namespace {

using reference::accuracy_class;

std::string message_of(const element_report& e, const core::shape& shape) {
  const std::string place = e.output + core::index_text(shape, e.index);
  // If one of the two is not a number, there is no error to measure.
  if (!std::isfinite(e.expected) || !std::isfinite(e.actual))
    return fmt::format("{}: expected {:.9g}, got {:.9g}", place, e.expected, e.actual);
  return fmt::format("{}: expected {:a}, got {:a} ({}): error {:.3g}, allowed {:.3g}", place, e.expected, e.actual,
                     both_in_words(e.expected, e.actual), e.error, e.allowed);
}

value_report judge_elements(const expectation& expected, const reference::allowances& laws,
                            const core::tensors& outputs) {
  value_report report;
  for (const auto& [name, t] : outputs) {
    const element_judge element(expected, laws, name);
    for (std::size_t i = 0; i < t.size(); ++i) {
      const double x = t.values.storage()[i];
      const auto ratios = element.ratios(x, i);
      for (std::size_t c = 0; c <= widest; ++c)
        report.ratios[c] = std::max(report.ratios[c], ratios[c] / reference::slack_of(reference::accuracy_classes[c]));
      if (const double ulp = element.error_in_ulp(x, i); ulp > report.largest_ulp) {
        report.largest_ulp = ulp;
        report.law_ulp = element.laws_in_ulp(i);
      }
      const bool wrong = ratios[widest] > bug_slack;
      ++report.elements;
      report.wrong += wrong;
      if (report.passed && (wrong || report.worst.output.empty() || ratios[widest] > report.worst.ratio))
        report.worst = element.report(name, x, i, ratios[widest]);
      if (wrong && report.passed) {
        report.passed = false;
        report.message = message_of(report.worst, t.shape());
      }
    }
  }
  return report;
}

}  // namespace

std::string both_in_words(double x, double y) {
  std::string first = fmt::format("{:.9g}", x), second = fmt::format("{:.9g}", y);
  if (first == second && !core::same_value(x, y)) {
    first = fmt::format("{:.17g}", x);
    second = fmt::format("{:.17g}", y);
  }
  return first + " and " + second;
}

std::optional<accuracy_class> value_report::accuracy_class() const {
  if (!passed) return std::nullopt;
  for (const auto c : reference::accuracy_classes)
    if (ratios[static_cast<std::size_t>(c)] <= 1.0) return c;
  return std::nullopt;
}

double allowed_error(core::dtype storage, const core::precisions& compute, double k, double x) {
  return reference::bug_bound(storage, compute.unit(), k, x);
}

namespace {

bool has_steps(const core::operation& op) {
  const std::string tokens = core::axis_with(op, core::axis_role::token);
  return std::any_of(op.outputs.begin(), op.outputs.end(),
                     [&](const auto& d) { return core::axis_of(d, tokens).has_value(); });
}

// The axis along which steps are made: that of tokens, or the first axis if no output has tokens.
std::optional<std::size_t> step_axis(const core::operation& op, const core::tensor_declaration& d) {
  if (has_steps(op)) return core::axis_of(d, core::axis_with(op, core::axis_role::token));
  return d.axes.empty() ? std::nullopt : std::optional<std::size_t>(0);
}

}  // namespace

core::tensors previous_step(const request& call, const core::tensors& outputs) {
  const core::operation& op = *call.operation;
  core::tensors shifted = outputs;
  for (const core::tensor_declaration& d : op.outputs) {
    const auto axis = step_axis(op, d);
    core::tensor& t = shifted.at(d.name);
    if (!axis || t.size() == 0) continue;
    const std::size_t tokens = t.shape()[*axis], inner = core::stride_of(t.shape(), *axis);
    const core::tensor* before = op.recurrent ? &call.inputs.at(op.recurrent->state_in) : nullptr;
    if (before && before->size() * tokens != t.size()) before = nullptr;
    const core::tensor& from = outputs.at(d.name);
    for (std::size_t i = 0; i < t.size(); ++i) {
      const bool first = (i / inner) % tokens == 0;
      const std::size_t lane = i / (inner * tokens) * inner + i % inner;
      t.values.storage()[i] =
          first ? (before ? before->values.storage()[lane] : 0.0) : from.values.storage()[i - inner];
    }
  }
  return shifted;
}

namespace {

// Whether all answers that know nothing fail by these laws.
bool is_informative(const expectation& expected, const reference::allowances& laws) {
  const request& call = expected.call;
  const auto passes = [&](const core::tensors& answer) { return judge_elements(expected, laws, answer).passed; };
  core::tensors nothing, truth;
  for (const auto& [name, c] : expected.truth) {
    nothing.emplace(name, core::zeros(c.rounded.type, c.rounded.shape()));
    truth.emplace(name, c.rounded);
  }
  if (passes(nothing) || (has_steps(*call.operation) && passes(previous_step(call, truth)))) return false;
  const encoding_tests* tests = encoding_tests_of(*call.operation);
  return tests == nullptr ||
         std::none_of(tests->uninformed.begin(), tests->uninformed.end(), [&](const uninformed_answer& declared) {
           if (!declared.applies(*call.operation)) return false;
           const value_report r = judge_elements(expected, laws, declared.answer(call));
           return r.passed && r.accuracy_class() != accuracy_class::uniform;
         });
}

using laws_on_demand = std::function<std::shared_ptr<const reference::allowances>()>;

// Judges outputs, by the wider laws if the first laws do not explain the outputs. Unless `needs_informative`, it is not
// tested whether answers that know nothing fail.
value_report judge_by(const expectation& expected, const core::tensors& outputs, const laws_on_demand& wider,
                      bool needs_informative) {
  value_report report = judge_elements(expected, *expected.first_laws, outputs);
  std::shared_ptr<const reference::allowances> laws = expected.first_laws;
  const bool needs_wider = has_wider_laws(expected.call) && !(report.ratios[sequential] <= 1.0);
  if (needs_wider) {
    laws = wider();
    report = judge_elements(expected, *laws, outputs);
  }
  if (!report.passed || !needs_informative) return report;
  std::optional<bool>& informative = expected.informative[needs_wider ? 1 : 0];
  if (!informative) informative = is_informative(expected, *laws);
  report.informative = *informative;
  return report;
}

// Maps the report of a part to the places of the whole call.
void place(value_report& r, const core::part_of_call& part, const core::tensors& outputs) {
  if (r.worst.output.empty()) return;
  const core::shape shape = outputs.at(r.worst.output).shape();
  r.worst.index = core::places_in_whole(*part.call.operation->output(r.worst.output), part.kept, shape)[r.worst.index];
  if (!r.passed) r.message = message_of(r.worst, shape);
}

// Whether the worst element of x is shown rather than that of y: a failure before a pass, the first of two failures,
// and of two passes the one with the larger ratio of error to law.
bool says_more(const value_report& x, const value_report& y) {
  if (x.passed != y.passed) return !x.passed;
  if (x.passed) return x.worst.ratio > y.worst.ratio;
  return std::tie(x.worst.output, x.worst.index) < std::tie(y.worst.output, y.worst.index);
}

void add(value_report& all, const value_report& part) {
  for (std::size_t c = 0; c <= widest; ++c) all.ratios[c] = std::max(all.ratios[c], part.ratios[c]);
  if (part.largest_ulp > all.largest_ulp) {
    all.largest_ulp = part.largest_ulp;
    all.law_ulp = part.law_ulp;
  }
  all.informative = all.informative || part.informative;
  all.elements += part.elements;
  all.wrong += part.wrong;
  if (!part.worst.output.empty() && (all.worst.output.empty() || says_more(part, all))) {
    all.worst = part.worst;
    all.message = part.message;
    all.passed = part.passed;
  }
}

}  // namespace

value_report judge(const expectation& expected, const core::tensors& outputs) {
  return judge_by(
      expected, outputs, [&] { return all_laws(expected); }, true);
}

value_report judge(const request& call, const core::precisions& compute, const core::tensors& outputs) {
  const std::vector<core::kept_positions> parts = parts_of_large(call);
  if (parts.empty()) return judge(*expect(call, compute), outputs);
  std::vector<value_report> reports(parts.size());
  std::atomic<bool> informative = false;  // some part is informative: the others need not be
  tbb::parallel_for(std::size_t{0}, parts.size(), [&](std::size_t i) {
    const core::part_of_call part = core::part_of(call, parts[i]);
    const core::tensors part_outputs = core::outputs_of_part(part, outputs);
    // Remembered calls belong to one thread, so parts remember nothing.
    const auto wider = [&] {
      return std::make_shared<const reference::allowances>(reference::allow(part.call, compute));
    };
    reports[i] = judge_by(make_expectation(part.call, compute), part_outputs, wider, !informative);
    if (reports[i].passed && reports[i].informative) informative = true;
    place(reports[i], part, outputs);
  });
  value_report all;
  all.informative = false;
  for (const value_report& r : reports) add(all, r);
  return all;
}

}  // namespace assay::properties
