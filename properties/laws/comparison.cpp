#include <fmt/format.h>

#include "properties/laws/laws.hpp"

namespace assay::properties {

outcome no_outputs(const call_failure& failure) {
  outcome o{failure.kind == fault::unsupported ? status::unsupported : status::failed,
            fmt::format("{}: {}", name_of(failure.kind), failure.message)};
  o.failure = failure;
  return o;
}

outcome judged(const description& about, const request& call, const core::tensors& outputs) {
  outcome o;
  o.value = judge(call, about.precisions_of(call), outputs);
  o.verdict = !o.value->passed ? status::failed : o.value->informative ? status::passed : status::uninformative;
  o.message = o.value->message;
  if (o.verdict == status::failed) {
    for (const auto& [name, c] : reference::truth_of(call)) o.expected.emplace(name, c.rounded);
    o.actual = outputs;
  }
  return o;
}

}  // namespace assay::properties
