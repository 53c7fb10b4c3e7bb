#include "tools/transports/outputs.hpp"

namespace assay::transports {
namespace {

using properties::fault;

fault fault_of(formats::file_fault kind) {
  switch (kind) {
    case formats::file_fault::missing:
      return fault::missing_file;
    case formats::file_fault::truncated:
      return fault::truncated_file;
    case formats::file_fault::oversized:
      return fault::oversized_file;
    case formats::file_fault::other:
      break;
  }
  return fault::bad_file;
}

// Which rule of check_outputs is broken first, in its order: its error is text.
fault fault_of_tensors(const core::operation& op, core::dtype type, const core::tensors& outputs) {
  for (const auto& d : op.outputs) {
    const auto it = outputs.find(d.name);
    if (it == outputs.end()) return fault::missing_output;
    if (it->second.type != d.type_in(type)) return fault::wrong_dtype;
    if (it->second.shape().size() != d.axes.size()) return fault::wrong_shape;
  }
  return outputs.size() > op.outputs.size() ? fault::unknown_output : fault::wrong_shape;
}

}  // namespace

properties::call_result read_outputs(const std::filesystem::path& path, const properties::request& call,
                                     const formats::read_limits& limits) {
  const auto failed = [](fault kind, const core::error& e) {
    return tl::make_unexpected(properties::call_failure{kind, e.message});
  };
  auto tensors = formats::read_safetensors(path, limits);
  if (!tensors) return failed(fault_of(tensors.error().kind), tensors.error());
  const auto sizes = core::check_request(call);
  ASSAY_EXPECTS(sizes.has_value());
  if (const auto ok = core::check_outputs(*call.operation, call.type, *sizes, *tensors); !ok)
    return failed(fault_of_tensors(*call.operation, call.type, *tensors), ok.error());
  return std::move(*tensors);
}

}  // namespace assay::transports
