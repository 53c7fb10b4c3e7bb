// A part of a call: some positions of its independent axes. It can be computed apart from the rest, on another core or
// in another precision.
#pragma once

#include "reference/core/operation.hpp"

namespace assay::core {

/// The positions of the whole call that a part has, by axis symbol; an axis that is not listed has all its positions.
using kept_positions = std::map<std::string, std::vector<std::size_t>>;

struct part_of_call {
  request call;
  kept_positions kept{};
};

/// The call with the inputs of the kept positions. Precondition: their axes are independent, and every output has each
/// of them.
part_of_call part_of(const request& call, kept_positions kept);

/// The places in the whole output of the elements of the part's output, in the order of the latter.
std::vector<std::size_t> places_in_whole(const tensor_declaration& output, const kept_positions& kept,
                                         const shape& whole);

/// The same elements of an output of the whole call, as the output of the part.
tensor part_of_output(const tensor_declaration& output, const kept_positions& kept, const tensor& whole);

/// All outputs of the part. Precondition: `whole` holds all outputs of the operation.
tensors outputs_of_part(const part_of_call& part, const tensors& whole);

/// The size of an axis along which a call may be split. Nothing where the axis is not independent, where no input fixes
/// its size, where an output does not have it exactly once and as itself, or where an input has it twice or as a
/// multiple.
std::optional<std::size_t> splittable_size(const request& call, const std::string& symbol);

/// The size of parts of a call: about `elements` of its largest tensor. They have more, `most_elements` at most, where
/// they would otherwise have fewer than `lanes` positions of the independent axes together. Neighbouring lanes stay
/// together.
struct part_size {
  std::size_t elements, lanes = 1, most_elements;
};
/// A part that is large enough for a thread of its own, and small enough for a cache. A recurrence computes many lanes
/// side by side. `forward` is the operation of the call; for a call of a derivative, the operation that is
/// differentiated.
part_size usual_part_of(const operation& forward);

/// The positions that each part of the call keeps, where its independent axes allow parts. The parts cover the call,
/// each element once. part_of makes one part: the parts of a large call are made when they are needed, not all at once.
std::vector<kept_positions> split_call(const request& call, const part_size& part);

}  // namespace assay::core
