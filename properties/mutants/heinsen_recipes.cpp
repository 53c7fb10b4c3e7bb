#include "properties/mutants/heinsen_recipes.hpp"

namespace assay::properties {

template <class R>
core::tensors run_heinsen(const request& call, const reference::heinsen::recipe<R>& how) {
  core::tensors out;
  for (const auto& [name, f] :
       reference::heinsen::evaluate<R>(call.operation->name, reference::lift<R>(call.inputs), how)) {
    core::tensor t = core::zeros(call.type, {f.shape().begin(), f.shape().end()});
    for (std::size_t i = 0; i < f.size(); ++i) t.values.storage()[i] = core::round_to(call.type, f.storage()[i].number);
    out.emplace(name, std::move(t));
  }
  return out;
}

template core::tensors run_heinsen(const request&,
                                   const reference::heinsen::recipe<reference::rounded<core::dtype::f64>>&);
template core::tensors run_heinsen(const request&,
                                   const reference::heinsen::recipe<reference::rounded<core::dtype::f32>>&);
template core::tensors run_heinsen(const request&,
                                   const reference::heinsen::recipe<reference::rounded<core::dtype::f16>>&);
template core::tensors run_heinsen(const request&,
                                   const reference::heinsen::recipe<reference::rounded<core::dtype::bf16>>&);

description heinsen_description(std::string name) {
  description about;
  about.name = std::move(name);
  about.version = "1";
  about.deterministic = true;
  for (const core::operation& op : reference::operations())
    if (op.name.starts_with("heinsen/"))
      about.operations[op.name].assign(std::begin(core::floating_dtypes), std::end(core::floating_dtypes));
  return about;
}

}  // namespace assay::properties
