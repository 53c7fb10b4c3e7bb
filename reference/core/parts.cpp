#include "reference/core/parts.hpp"

#include <algorithm>
#include <numeric>

namespace assay::core {
namespace {

using positions = std::vector<std::size_t>;

// "2d" is a multiple of "d".
bool is_multiple(const std::string& axis, const std::string& symbol) {
  return axis.size() > symbol.size() && axis.ends_with(symbol) &&
         axis.find_first_not_of("0123456789") == axis.size() - symbol.size();
}

// The places of the elements at the kept positions in a tensor of the given shape, in their order.
positions places(const tensor_declaration& d, const kept_positions& kept, const shape& whole) {
  positions all{0};
  for (std::size_t axis = 0; axis < whole.size(); ++axis) {
    const std::size_t stride = stride_of(whole, axis);
    const auto kept_on_axis = kept.find(d.axes[axis]);
    positions next;
    const std::size_t size = kept_on_axis == kept.end() ? whole[axis] : kept_on_axis->second.size();
    next.reserve(all.size() * size);
    for (const std::size_t begin : all)
      for (std::size_t i = 0; i < size; ++i)
        next.push_back(begin + stride * (kept_on_axis == kept.end() ? i : kept_on_axis->second[i]));
    all = std::move(next);
  }
  return all;
}

tensor gathered(const tensor_declaration& d, const kept_positions& kept, const tensor& whole) {
  if (std::none_of(d.axes.begin(), d.axes.end(), [&](const auto& axis) { return kept.contains(axis); })) return whole;
  shape s = whole.shape();
  for (std::size_t axis = 0; axis < s.size(); ++axis)
    if (const auto kept_on_axis = kept.find(d.axes[axis]); kept_on_axis != kept.end())
      s[axis] = kept_on_axis->second.size();
  tensor t{whole.type, xt::xarray<double>::from_shape(s)};
  std::size_t next = 0;
  for (const std::size_t place : places(d, kept, whole.shape()))
    t.values.storage()[next++] = whole.values.storage()[place];
  return t;
}

}  // namespace

part_of_call part_of(const request& call, kept_positions kept) {
  part_of_call part{{call.operation, call.type, {}, call.attributes}, std::move(kept)};
  for (const tensor_declaration& d : call.operation->inputs)
    part.call.inputs.emplace(d.name, gathered(d, part.kept, call.inputs.at(d.name)));
  return part;
}

positions places_in_whole(const tensor_declaration& output, const kept_positions& kept, const shape& whole) {
  return places(output, kept, whole);
}

tensor part_of_output(const tensor_declaration& output, const kept_positions& kept, const tensor& whole) {
  return gathered(output, kept, whole);
}

tensors outputs_of_part(const part_of_call& part, const tensors& whole) {
  tensors all;
  for (const tensor_declaration& d : part.call.operation->outputs)
    all.emplace(d.name, part_of_output(d, part.kept, whole.at(d.name)));
  return all;
}

std::optional<std::size_t> splittable_size(const request& call, const std::string& symbol) {
  const operation& op = *call.operation;
  if (std::find(op.independent.begin(), op.independent.end(), symbol) == op.independent.end()) return std::nullopt;
  const auto times = [&](const tensor_declaration& d) {
    // A tensor with another multiple of the symbol cannot be split into parts: it counts as two.
    std::size_t found = 0;
    for (const std::string& axis : d.axes) found += axis == symbol ? 1 : is_multiple(axis, symbol) ? 2 : 0;
    return found;
  };
  std::optional<std::size_t> size;
  for (const tensor_declaration& in : op.inputs) {
    if (times(in) > 1) return std::nullopt;
    if (times(in) == 1) size = call.inputs.at(in.name).shape()[*axis_of(in, symbol)];
  }
  const bool is_for_all =
      std::all_of(op.outputs.begin(), op.outputs.end(), [&](const tensor_declaration& d) { return times(d) == 1; });
  return is_for_all ? size : std::nullopt;
}

part_size usual_part_of(const operation& forward) {
  constexpr std::size_t elements = std::size_t{1} << 14;
  // This number of lanes fills the widest registers.
  if (forward.recurrent) return {.elements = elements, .lanes = 32, .most_elements = 16 * elements};
  return {.elements = elements, .most_elements = elements};
}

namespace {

std::size_t pieces_wanted(const part_size& part, std::size_t elements, std::size_t lanes) {
  const auto parts_of = [&](std::size_t size) { return (elements + size - 1) / std::max<std::size_t>(size, 1); };
  return std::max(parts_of(part.most_elements), std::min(parts_of(part.elements), lanes / part.lanes));
}

}  // namespace

std::vector<kept_positions> split_call(const request& call, const part_size& part) {
  const operation& op = *call.operation;
  std::size_t largest = 0, lanes = 1;
  const axis_sizes sizes = sizes_of(call);
  for (const auto* declared : {&op.inputs, &op.outputs})
    for (const tensor_declaration& d : *declared) largest = std::max(largest, element_count(shape_of(d, sizes)));
  std::vector<std::pair<std::size_t, std::string>> axes;
  for (const std::string& symbol : op.independent)
    if (const auto size = splittable_size(call, symbol); size && *size > 1) {
      axes.emplace_back(*size, symbol);
      lanes *= *size;
    }
  std::size_t wanted = pieces_wanted(part, largest, lanes);
  std::vector<kept_positions> parts(1);
  if (wanted < 2) return parts;
  // The larger axes come first, except that neighbouring lanes stay together. An axis with only a few positions leaves
  // the rest of the split to the next one.
  if (part.lanes == 1) std::sort(axes.rbegin(), axes.rend());
  for (const auto& [size, symbol] : axes) {
    const std::size_t pieces = std::min(size, wanted);
    wanted = (wanted + pieces - 1) / pieces;
    if (pieces < 2) break;
    std::vector<kept_positions> finer;
    for (const kept_positions& coarse : parts)
      for (std::size_t k = 0; k < pieces; ++k) {
        positions range(size * (k + 1) / pieces - size * k / pieces);
        std::iota(range.begin(), range.end(), size * k / pieces);
        finer.push_back(coarse);
        finer.back().emplace(symbol, std::move(range));
      }
    parts = std::move(finer);
  }
  return parts;
}

}  // namespace assay::core
