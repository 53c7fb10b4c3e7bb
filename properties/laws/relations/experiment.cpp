#include "properties/laws/relations/experiment.hpp"

#include "properties/laws/laws.hpp"
#include "reference/oracle.hpp"

namespace assay::properties {

const measured_call& experiment::call(const test_case& other) {
  if (other.call.operation == nullptr ||
      (other.call.operation != c.call.operation && !offers(other.call.operation->name)))
    throw ended{{status::unsupported}};
  auto outputs = measure(under_test_, other);
  if (!outputs) throw ended{std::move(outputs.error())};
  return calls_.emplace_back(std::move(*outputs));
}

const measured_call& experiment::call(const core::operation* other, core::tensors inputs, core::attributes settings) {
  if (other == nullptr) throw ended{{status::unsupported}};
  return call(test_case{{other, c.call.type, std::move(inputs), core::completed(*other, settings)}, c.family, c.seed});
}

const measured_call& experiment::right_call(const test_case& other) {
  const measured_call& made = call(other);
  judge(other, made.outputs);
  return made;
}

experiment::answer experiment::right_or_refused(const test_case& empty, const test_case& beside, std::string& error) {
  const call_result outputs = under_test_.evaluate(empty.call);
  if (outputs) {
    judge(empty, *outputs);
    return answer::right;
  }
  if (outputs.error().kind == fault::unsupported) return answer::declined;
  if (outputs.error().kind != fault::error_reply || about().must_take_empty(c.call.operation->name))
    throw ended{no_outputs(outputs.error())};
  outputs_of(beside);
  error = outputs.error().message;
  return answer::refused;
}

const core::tensors& experiment::outputs_of(const test_case& other) {
  call_result outputs = under_test_.evaluate(other.call);
  if (!outputs) throw ended{no_outputs(outputs.error())};
  return calls_.emplace_back(measured_call{std::move(*outputs), {}}).outputs;
}

const measured_call& experiment::forward(const test_case& derivative) {
  test_case point = derivative;
  const core::operation& forward = reference::forward_of(*c.call.operation);
  point.call.operation = &forward;
  std::erase_if(point.call.inputs, [&](const auto& input) { return forward.input(input.first) == nullptr; });
  return call(point);
}

bool experiment::offers(const std::string& operation) const {
  return under_test_.describe().offers(operation, c.call.type);
}

void experiment::needs_domain(const test_case& other) const {
  if (!within_domain(about(), other)) throw ended{{status::outside_domain}};
}

void experiment::needs(bool informative) const {
  if (!informative) throw ended{{status::uninformative}};
}

void experiment::equal(const measured_call& expected, const measured_call& actual, const std::string& what) {
  if (const auto different = compare_outputs(all_, expected, actual)) wrong(what + ": " + *different);
}

void experiment::equal(const std::string& output, const measured_call& expected, const std::vector<std::size_t>& from,
                       const measured_call& actual, const std::vector<std::size_t>& to, const std::string& what) {
  if (const auto different = compare_elements(all_, output, expected, from, actual, to))
    wrong(what + ": " + *different);
}

void experiment::equal_along(const std::string& axis, const measured_call& expected,
                             const std::vector<std::size_t>& from, const measured_call& actual,
                             const std::vector<std::size_t>& to, without_axis others, const std::string& what) {
  for (const auto& d : c.call.operation->outputs) {
    const core::shape before = expected.outputs.at(d.name).shape(), after = actual.outputs.at(d.name).shape();
    if (const auto axis_index = core::axis_of(d, axis))
      equal(d.name, expected, taken(before, *axis_index, from), actual, taken(after, *axis_index, to), what);
    else if (others == without_axis::equal)
      equal(d.name, expected, every(core::element_count(before)), actual, every(core::element_count(after)), what);
  }
}

void experiment::judge(const test_case& other, const core::tensors& outputs) {
  outcome o = judged(about(), other.call, outputs);
  if (o.verdict == status::failed) throw ended{std::move(o)};
  all_.count(o.verdict == status::passed);
}

void experiment::wrong(std::string message) const {
  core::tensors expected, actual;
  if (calls_.size() > 1) expected = calls_.front().outputs;
  if (!calls_.empty()) actual = calls_.back().outputs;
  throw ended{violated(std::move(message), std::move(expected), std::move(actual))};
}

void experiment::differ(approximate expected, approximate actual, const std::string& what) const {
  wrong(fmt::format("{}: {}, allowed difference {:.3g}", what, both_in_words(expected.value, actual.value),
                    expected.error + actual.error));
}

}  // namespace assay::properties
