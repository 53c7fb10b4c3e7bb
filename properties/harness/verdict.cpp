#include "properties/harness/verdict.hpp"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <tuple>

#include "properties/harness/call_memory.hpp"
#include "properties/harness/catalogue.hpp"
#include "reference/core/parts.hpp"
#include "reference/error_bound.hpp"

namespace assay::properties {
namespace {

using reference::accuracy_class;
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::size_t widest = reference::accuracy_classes.size() - 1;
constexpr std::size_t sequential = static_cast<std::size_t>(accuracy_class::sequential);

double quotient(double x, double y) { return x <= 0.0 ? 0.0 : y > 0.0 ? x / y : infinity; }

// One element against its truth and its allowances under each class.
class element_judge {
 public:
  element_judge(const expectation& e, const reference::allowances& laws, const std::string& name)
      : storage_(e.call.operation->output(name)->type_in(e.call.type)),
        compute_(e.compute.unit()),
        u_(core::unit_roundoff(compute_)),
        truth_(e.truth.at(name)),
        scales_(scales_of(e, name)),
        law_(laws.at(name)),
        last_law_(&laws == e.first_laws.get() ? sequential : widest) {}

  // The ratios of error to law, infinite for a wrong special value; their class slack not yet applied.
  std::array<double, widest + 1> ratios(double x, std::size_t i) const {
    std::array<double, widest + 1> r{};
    const double rounded = truth_.rounded.values.storage()[i], truth = truth_.truth(i);
    if (!std::isfinite(truth) || std::isnan(x)) {
      r.fill(core::same_value(x, truth) ? 0.0 : infinity);
      return r;
    }
    const double error = proved_error(x, i), half_ulp = core::half_ulp(storage_, truth);
    const double beyond_rounding = error - half_ulp;
    for (std::size_t c = 0; c <= widest; ++c) {
      if (c > last_law_) {
        r[c] = r[c - 1];
        continue;
      }
      const double k = law_.k[c].storage()[i];
      if (std::isinf(x) || std::isinf(rounded)) {
        // Beyond the largest number infinity and the number are both right, if the allowance reaches there.
        // (an unbounded allowance means "any finite answer").
        const double reach =
            std::isinf(k) ? std::fabs(truth) : std::fabs(truth) + reference::bug_bound(storage_, compute_, k, truth);
        const bool overflow_explained =
            reach >= core::largest_finite(storage_) && std::signbit(x) == std::signbit(truth);
        r[c] = std::isinf(x) ? (overflow_explained ? 0.0 : infinity) : quotient(beyond_rounding, u_ * k);
      } else {
        r[c] = quotient(adds_rounding(c) ? beyond_rounding : error, u_ * k);
      }
    }
    return r;
  }

  // The part of the error that the enclosure of the truth proves.
  double proved_error(double x, std::size_t i) const {
    return std::max(0.0, std::fabs(truth_.error_of(x, i)) - truth_.radius.storage()[i]);
  }

  // In ulp of the output's scale; 0 where either is not finite.
  double error_in_ulp(double x, std::size_t i) const {
    if (!std::isfinite(truth_.truth(i)) || !std::isfinite(x)) return 0.0;
    return proved_error(x, i) / ulp_at(i);
  }

  // The largest error that each class's law still explains, in the unit of error_in_ulp; the truth is finite.
  std::array<double, widest + 1> laws_in_ulp(std::size_t i) const {
    std::array<double, widest + 1> allowed{};
    for (std::size_t c = 0; c <= widest; ++c) {
      if (c > last_law_) {
        allowed[c] = allowed[c - 1];
        continue;
      }
      const double k = law_.k[c].storage()[i];
      allowed[c] =
          reference::class_bound(reference::accuracy_classes[c], storage_, compute_, k, truth_.truth(i)) / ulp_at(i);
    }
    return allowed;
  }

  element_report report(const std::string& name, double x, std::size_t i, double ratio) const {
    const double truth = truth_.truth(i), error = proved_error(x, i);
    return {name,
            i,
            truth_.rounded.values.storage()[i],
            x,
            error,
            error_in_ulp(x, i),
            allowed_error(storage_, compute_, law_.k[widest].storage()[i], truth),
            ratio};
  }

 private:
  [[nodiscard]] bool adds_rounding(std::size_t c) const {
    return reference::adds_final_rounding(reference::accuracy_classes[c], storage_, compute_);
  }

  // 1 in integer dtypes.
  double ulp_at(std::size_t i) const {
    if (!core::is_floating(storage_)) return 1.0;
    return 2.0 * core::half_ulp(storage_, scales_[i]);
  }

  core::dtype storage_, compute_;
  double u_;
  const reference::certified& truth_;
  std::vector<double> scales_;
  const reference::allowance& law_;
  std::size_t last_law_;  // those after it are the same
};

call_memory<reference::allowances>& known_allowances() {
  static call_memory<reference::allowances> memory;
  return memory;
}
call_memory<expectation>& known_expectations() {
  static call_memory<expectation> memory;
  return memory;
}

std::size_t elements_of(const request& call) {
  std::size_t elements = 0;
  for (const auto& [name, t] : call.inputs) elements += t.size();
  return elements;
}

std::string message_of(const element_report& e, const core::shape& shape) {
  const std::string place = e.output + core::index_text(shape, e.index);
  // Between a number and none there is no error to be measured.
  if (!std::isfinite(e.expected) || !std::isfinite(e.actual))
    return fmt::format("{}: expected {:.9g}, got {:.9g}", place, e.expected, e.actual);
  return fmt::format("{}: expected {:a}, got {:a} ({:.9g} and {:.9g}): error {:.3g}, allowed {:.3g}", place, e.expected,
                     e.actual, e.expected, e.actual, e.error, e.allowed);
}

bool has_wider_laws(const request& call) {
  return reference::algorithms_of(*call.operation).back() > accuracy_class::sequential;
}

expectation make_expectation(const request& call, const core::precisions& compute) {
  return {call, compute, reference::truth_of(call),
          std::make_shared<const reference::allowances>(reference::allow(call, compute, accuracy_class::sequential))};
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

std::optional<accuracy_class> value_report::accuracy_class() const {
  if (!passed) return std::nullopt;
  for (const auto c : reference::accuracy_classes)
    if (ratios[static_cast<std::size_t>(c)] <= 1.0) return c;
  return std::nullopt;
}

std::vector<double> scales_of(const expectation& e, const std::string& output) {
  const reference::certified& c = e.truth.at(output);
  std::vector<double> truth(c.rounded.size());
  for (std::size_t i = 0; i < truth.size(); ++i) truth[i] = c.truth(i);
  return core::error_scales(*e.call.operation->output(output), c.rounded.type, c.rounded.shape(), truth);
}

double allowed_error(core::dtype storage, const core::precisions& compute, double k, double x) {
  return reference::bug_bound(storage, compute.unit(), k, x);
}

std::shared_ptr<const reference::allowances> allowances_of(const request& call, const core::precisions& compute) {
  return known_allowances().recall(call, compute, [&] { return reference::allow(call, compute); });
}

std::shared_ptr<const reference::allowances> all_laws(const expectation& e) {
  return has_wider_laws(e.call) ? allowances_of(e.call, e.compute) : e.first_laws;
}

std::shared_ptr<const expectation> expect(const request& call, const core::precisions& compute) {
  return known_expectations().recall(call, compute, [&] { return make_expectation(call, compute); });
}

void expect_all(const std::vector<request>& calls, const core::precisions& compute) {
  std::vector<const request*> unknown;
  for (const request& call : calls)
    if (!known_expectations().knows(call, compute)) unknown.push_back(&call);
  std::vector<expectation> found(unknown.size());
  tbb::parallel_for(std::size_t{0}, unknown.size(),
                    [&](std::size_t i) { found[i] = make_expectation(*unknown[i], compute); });
  for (expectation& e : found) known_expectations().recall(request(e.call), compute, [&] { return std::move(e); });
}

namespace {

bool has_steps(const core::operation& op) {
  return std::any_of(op.outputs.begin(), op.outputs.end(),
                     [](const auto& d) { return core::axis_of(d, "n").has_value(); });
}

// The axis that steps are made along: "n", or the first one of operations that know no such axis.
std::optional<std::size_t> step_axis(const core::operation& op, const core::tensor_declaration& d) {
  if (has_steps(op)) return core::axis_of(d, "n");
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

// Whether no answer that knows nothing would pass as well, by these laws.
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

// From here on a call is judged in parts, of about so many elements each.
constexpr std::size_t large = std::size_t{1} << 17;
constexpr std::size_t elements_of_part = std::size_t{1} << 14;

using laws_on_demand = std::function<std::shared_ptr<const reference::allowances>()>;

// `asks`: whether it matters if answers that know nothing fail.
value_report judge_by(const expectation& expected, const core::tensors& outputs, const laws_on_demand& wider,
                      bool asks) {
  value_report report = judge_elements(expected, *expected.first_laws, outputs);
  std::shared_ptr<const reference::allowances> laws = expected.first_laws;
  const bool needs_wider = has_wider_laws(expected.call) && !(report.ratios[sequential] <= 1.0);
  if (needs_wider) {
    laws = wider();
    report = judge_elements(expected, *laws, outputs);
  }
  if (!report.passed || !asks) return report;
  std::optional<bool>& informative = expected.informative[needs_wider ? 1 : 0];
  if (!informative) informative = is_informative(expected, *laws);
  report.informative = *informative;
  return report;
}

// What a part showed, in the places of the whole call.
void place(value_report& r, const core::part_of_call& part, const core::tensors& outputs) {
  if (r.worst.output.empty()) return;
  const core::shape shape = outputs.at(r.worst.output).shape();
  r.worst.index = core::places_in_whole(*part.call.operation->output(r.worst.output), part, shape)[r.worst.index];
  if (!r.passed) r.message = message_of(r.worst, shape);
}

// A failure before no failure, the first one of several; else the largest share of an allowance.
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
  std::vector<core::part_of_call> parts;
  if (elements_of(call) >= large) parts = core::split_call(call, elements_of_part);
  if (parts.size() < 2) return judge(*expect(call, compute), outputs);
  std::vector<value_report> reports(parts.size());
  std::atomic<bool> informative = false;  // some part is: the others need not be
  tbb::parallel_for(std::size_t{0}, parts.size(), [&](std::size_t i) {
    const core::part_of_call& part = parts[i];
    core::tensors of_part;
    for (const core::tensor_declaration& d : call.operation->outputs)
      of_part.emplace(d.name, core::part_of_output(d, part, outputs.at(d.name)));
    // What is remembered of calls belongs to one thread: parts remember nothing.
    const auto wider = [&] {
      return std::make_shared<const reference::allowances>(reference::allow(part.call, compute));
    };
    reports[i] = judge_by(make_expectation(part.call, compute), of_part, wider, !informative);
    if (reports[i].passed && reports[i].informative) informative = true;
    place(reports[i], part, outputs);
  });
  value_report all;
  all.informative = false;
  for (const value_report& r : reports) add(all, r);
  return all;
}

}  // namespace assay::properties
