// A call of some positions of its independent axes: what can be computed apart from the rest, on another core or in
// another precision.
#pragma once

#include "reference/core/operation.hpp"

namespace assay::core {

/// By axis symbol, the positions that a part has of the whole call; all of an axis that is not there.
using kept_positions = std::map<std::string, std::vector<std::size_t>>;

struct part_of_call {
  request call;
  kept_positions kept{};
};

/// The inputs of the kept positions. Precondition: their axes are independent, and every output has each of them.
part_of_call part_of(const request& call, kept_positions kept);

/// Where the elements of an output of such a part, in their order, stand in that of the whole call.
std::vector<std::size_t> places_in_whole(const tensor_declaration& output, const kept_positions& kept,
                                         const shape& whole);

/// The same elements of an output of the whole call, as the output of the part.
tensor part_of_output(const tensor_declaration& output, const kept_positions& kept, const tensor& whole);

/// All outputs of the part. Precondition: they are those of the operation.
tensors outputs_of_part(const part_of_call& part, const tensors& whole);

/// The size of an axis along which a call may be split; nothing where the axis is not independent, no input fixes its
/// size, or an output does not have it, exactly once and as itself.
std::optional<std::size_t> splittable_size(const request& call, const std::string& symbol);

/// How large parts of a call are: about `elements` of its largest tensor, but more, `most_elements` at most, where they
/// would have fewer than `lanes` positions of the independent axes together. Lanes that are neighbours stay together.
struct part_size {
  std::size_t elements, lanes = 1, most_elements;
};
/// What is worth a thread of its own, and little enough for a cache. A recurrence treats many lanes side by side.
/// `forward` is the operation, or that of which it is a derivative.
part_size usual_part_of(const operation& forward);

/// What the parts of the call have of it, where its independent axes allow parts; they cover it, each element once.
/// part_of makes one: those of a large call are made where they are needed, not all at once.
std::vector<kept_positions> split_call(const request& call, const part_size& part);

}  // namespace assay::core
