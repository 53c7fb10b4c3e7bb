#include "optimized/operations.hpp"

#include <algorithm>

namespace assay::optimized {

#define ASSAY_ENCODING(name) std::vector<routine> name##_routines();
#include "assay_kernels.inc"
#undef ASSAY_ENCODING

namespace {

std::vector<routine> collect() {
  std::vector<routine> all;
#define ASSAY_ENCODING(name) \
  for (routine & r : name##_routines()) all.push_back(std::move(r));
#include "assay_kernels.inc"
#undef ASSAY_ENCODING
  return all;
}

}  // namespace

const std::vector<routine>& routines() {
  static const std::vector<routine> all = collect();
  return all;
}

core::result<core::tensors> evaluate(std::string_view operation, core::dtype type, const core::tensors& inputs,
                                     const core::attributes& settings) {
  const auto& all = routines();
  const auto it = std::find_if(all.begin(), all.end(), [&](const routine& r) { return r.name == operation; });
  if (it == all.end()) return core::failure("optimized: there is no kernel of '" + std::string(operation) + "'");
  if (!it->takes(type))
    return core::failure(it->name + ": optimized takes no arrays of " + std::string(core::name_of(type)));
  if (const auto target = active_target(); !target) return tl::make_unexpected(target.error());
  return it->evaluate({type, inputs, settings, process_execution()});
}

}  // namespace assay::optimized
