#include <fmt/format.h>

#include "properties/laws/laws.hpp"

namespace assay::properties {

outcome no_outputs(const call_failure& failure) {
  outcome o{failure.kind == fault::unsupported ? status::unsupported : status::failed,
            fmt::format("{}: {}", name_of(failure.kind), failure.message)};
  o.failure = failure;
  return o;
}

judged_call judge_call(implementation& under_test, const request& call) {
  call_result outputs = under_test.evaluate(call);
  if (!outputs) return {no_outputs(outputs.error()), {}};
  const auto expected = expect(call, under_test.describe().compute_dtype(call.type));
  outcome o;
  o.value = judge(*expected, *outputs);
  o.verdict = !o.value->passed ? status::failed : o.value->informative ? status::passed : status::uninformative;
  o.message = o.value->message;
  if (o.verdict == status::failed) {
    for (const auto& [name, c] : expected->truth) o.expected.emplace(name, c.rounded);
    o.actual = *outputs;
  }
  return {std::move(o), std::move(*outputs)};
}

outcome compare_bits(const core::tensors& expected, const core::tensors& actual, const std::string& what) {
  for (const auto& [name, e] : expected) {
    const core::tensor& a = actual.at(name);
    for (std::size_t i = 0; i < e.size(); ++i) {
      const double x = e.values.storage()[i], y = a.values.storage()[i];
      if (core::same_value(x, y)) continue;
      outcome o{status::failed,
                fmt::format("{}: {}{} changed from {:a} to {:a}", what, name, core::index_text(e.shape(), i), x, y)};
      o.expected = expected;
      o.actual = actual;
      return o;
    }
  }
  return {};
}

}  // namespace assay::properties
