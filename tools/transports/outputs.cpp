#include "tools/transports/outputs.hpp"

namespace assay::transports {

properties::call_result read_outputs(const std::filesystem::path& path, const properties::request& call,
                                     const golden::read_limits& limits) {
  const auto bad_output = [](const core::error& e) {
    return tl::make_unexpected(properties::call_failure{properties::fault::bad_output, e.message});
  };
  auto tensors = golden::read_safetensors(path, limits);
  if (!tensors) return bad_output(tensors.error());
  const auto sizes = core::check_inputs(*call.operation, call.type, call.inputs);
  ASSAY_EXPECTS(sizes.has_value());
  if (const auto ok = core::check_outputs(*call.operation, call.type, *sizes, *tensors); !ok)
    return bad_output(ok.error());
  return std::move(*tensors);
}

}  // namespace assay::transports
