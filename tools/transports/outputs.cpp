#include "tools/transports/outputs.hpp"

#include <utility>

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

// ": axes n and h look exchanged" of the first output of which that is so, and what to do about it.
std::string words_of_exchange(const core::operation& op, const core::axis_sizes& sizes, const core::tensors& outputs) {
  for (const core::tensor_declaration& d : op.outputs) {
    const auto output = outputs.find(d.name);
    if (output == outputs.end() || output->second.shape().size() != d.axes.size()) continue;
    const core::shape expected = core::shape_of(d, sizes), came = output->second.shape();
    for (std::size_t i = 0; i < came.size(); ++i)
      for (std::size_t j = i + 1; j < came.size(); ++j) {
        core::shape exchanged = expected;
        std::swap(exchanged[i], exchanged[j]);
        if (came == expected || came != exchanged) continue;
        const bool heads = i == 1 && j == 2 && came.size() == 4;
        return ": axes " + d.axes[i] + " and " + d.axes[j] + " look exchanged" +
               (heads ? "; the adapter heads_first of assay.adapters gives and takes them in the other order" : "");
      }
  }
  return "";
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
  if (const auto ok = core::check_outputs(*call.operation, call.type, *sizes, *tensors); !ok) {
    const fault kind = fault_of_tensors(*call.operation, call.type, *tensors);
    const std::string exchanged =
        kind == fault::wrong_shape ? words_of_exchange(*call.operation, *sizes, *tensors) : "";
    return failed(kind, {ok.error().message + exchanged});
  }
  return std::move(*tensors);
}

}  // namespace assay::transports
