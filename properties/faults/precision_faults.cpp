// Faults of formats: a tensor, or the whole call, passes through a narrower one.
#include <fmt/format.h>

#include <algorithm>

#include "properties/faults/declared_fault.hpp"

namespace assay::properties {
namespace {

constexpr core::dtype narrow[] = {core::dtype::f16, core::dtype::bf16};

void pass_through(core::dtype narrower, const std::vector<core::tensor_declaration>& declared, core::tensors& all) {
  for (const core::tensor_declaration& d : declared)
    if (!d.own_type) each_value([narrower](double x) { return core::round_to(narrower, x); })(all.at(d.name));
}

// All inputs and outputs are held in the narrower format.
declared_fault whole_call_in(const core::operation& op, core::dtype narrower) {
  const std::string name(core::name_of(narrower));
  declared_fault fault{&op, "call", "in_" + name, "everything is held in " + name};
  const faulty_call faulty = [narrower](implementation& right, const request& call) {
    request edited = call;
    pass_through(narrower, call.operation->inputs, edited.inputs);
    call_result outputs = right.evaluate(edited);
    if (outputs) pass_through(narrower, call.operation->outputs, *outputs);
    return outputs;
  };
  fault.make = [faulty] { return faulty; };
  return fault;
}

}  // namespace

declared_fault_list precision_faults(const core::operation& op) {
  declared_fault_list all;
  const auto tensors = tensors_of(op);
  if (std::all_of(tensors.begin(), tensors.end(), [](const auto* d) { return d->own_type.has_value(); })) return all;
  for (const core::dtype narrower : narrow) {
    all.push_back(whole_call_in(op, narrower));
    for (const core::tensor_declaration* d : tensors)
      if (!d->own_type)
        all.push_back(fault_in(op, *d, fmt::format("in_{}", core::name_of(narrower)),
                               fmt::format("{} is held in {}", d->name, core::name_of(narrower)),
                               each_value([narrower](double x) { return core::round_to(narrower, x); })));
  }
  return all;
}

}  // namespace assay::properties
