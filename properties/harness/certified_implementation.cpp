#include "properties/harness/certified_implementation.hpp"

#include "reference/oracle.hpp"

namespace assay::properties {

description describes_every_operation(std::string name) {
  description about;
  about.name = std::move(name);
  about.version = "1";
  about.deterministic = true;
  for (const core::operation& op : reference::operations())
    about.operations[op.name].assign(std::begin(core::floating_dtypes), std::end(core::floating_dtypes));
  for (const core::dtype t : core::floating_dtypes) about.compute[t] = t;
  return about;
}

call_result certified_implementation::evaluate(const request& call) {
  core::tensors out;
  const bool all = used_ == precisions::all;
  const auto proved = all ? reference::certify(call) : reference::truth_of(call);
  if (const std::size_t open = reference::count_undecided(proved); all && open > 0)
    return tl::make_unexpected(
        call_failure{fault::unsupported, std::to_string(open) + " elements are undecided at the highest precision"});
  for (const auto& [name, c] : proved) out.emplace(name, c.rounded);
  return out;
}

}  // namespace assay::properties
