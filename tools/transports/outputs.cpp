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

// The first rule of check_outputs that is broken, in its order; check_outputs itself only gives a text.
fault fault_of_tensors(const core::operation& op, core::dtype type, const core::tensors& outputs) {
  for (const auto& d : op.outputs) {
    const auto it = outputs.find(d.name);
    if (it == outputs.end()) return fault::missing_output;
    if (it->second.type != d.type_in(type)) return fault::wrong_dtype;
    if (it->second.shape().size() != d.axes.size()) return fault::wrong_shape;
  }
  return outputs.size() > op.outputs.size() ? fault::unknown_output : fault::wrong_shape;
}

// ": axes n and h look exchanged" for the first output of which this is true, and what to do about it.
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

bool fits(const core::shape& expected, const core::operation& op, std::size_t output, const core::tensors& outputs) {
  const auto came = outputs.find(op.outputs[output].name);
  return came != outputs.end() && came->second.shape() == expected;
}

// ": s and s_n look exchanged" for two outputs of different shapes, if each has the shape of the other.
std::string words_of_order(const core::operation& op, const core::axis_sizes& sizes, const core::tensors& outputs) {
  for (std::size_t i = 0; i < op.outputs.size(); ++i)
    for (std::size_t j = i + 1; j < op.outputs.size(); ++j) {
      const core::shape one = core::shape_of(op.outputs[i], sizes), other = core::shape_of(op.outputs[j], sizes);
      if (one != other && fits(other, op, i, outputs) && fits(one, op, j, outputs))
        return ": " + op.outputs[i].name + " and " + op.outputs[j].name + " look exchanged";
    }
  return "";
}

// Advice for the author of the candidate; empty if nothing is known.
std::string advice(fault kind, const core::operation& op, const core::axis_sizes& sizes, const core::tensors& outputs) {
  if (kind == fault::wrong_dtype) return ": Assay does not cast, the candidate must";
  if (kind != fault::wrong_shape) return "";
  const std::string order = words_of_order(op, sizes, outputs);
  return order.empty() ? words_of_exchange(op, sizes, outputs) : order;
}

// Automatic differentiation gives a gradient for every real input, also for inputs that the operation treats as
// constant.
void leave_out_gradients_of_constants(const core::operation& op, core::tensors& outputs) {
  if (!op.is_vjp()) return;
  for (const core::tensor_declaration& d : op.inputs)
    if (!d.differentiable && !d.own_type) outputs.erase("grad_" + d.name);
}

}  // namespace

properties::call_result read_outputs(const std::filesystem::path& path, const properties::request& call,
                                     const formats::read_limits& limits) {
  const auto failed = [](fault kind, const core::error& e) {
    return tl::make_unexpected(properties::call_failure{kind, e.message});
  };
  auto tensors = formats::read_safetensors(path, limits);
  if (!tensors) return failed(fault_of(tensors.error().kind), tensors.error());
  leave_out_gradients_of_constants(*call.operation, *tensors);
  const auto sizes = core::check_request(call);
  ASSAY_EXPECTS(sizes.has_value());
  if (const auto ok = core::check_outputs(*call.operation, call.type, *sizes, *tensors); !ok) {
    const fault kind = fault_of_tensors(*call.operation, call.type, *tensors);
    return failed(kind, {ok.error().message + advice(kind, *call.operation, *sizes, *tensors)});
  }
  return std::move(*tensors);
}

}  // namespace assay::transports
