// A call of some positions of its independent axes: what can be computed apart from the rest, on another core or in
// another precision.
#pragma once

#include "reference/core/operation.hpp"

namespace assay::core {

struct part_of_call {
  request call;
  /// By axis symbol, the positions that it has of the whole call; all of an axis that is not there.
  std::map<std::string, std::vector<std::size_t>> kept{};
};

/// The inputs of the kept positions. Precondition: their axes are independent, and every output has each of them.
part_of_call part_of(const request& call, std::map<std::string, std::vector<std::size_t>> kept);

/// Where the elements of an output of the part, in their order, stand in that of the whole call.
std::vector<std::size_t> places_in_whole(const tensor_declaration& output, const part_of_call& part,
                                         const shape& whole);

/// The same elements of an output of the whole call, as the output of the part.
tensor part_of_output(const tensor_declaration& output, const part_of_call& part, const tensor& whole);

/// The size of an axis along which a call may be split; nothing where the axis is not independent, no input fixes its
/// size, or an output does not have it, exactly once and as itself.
std::optional<std::size_t> splittable_size(const request& call, const std::string& symbol);

/// The call in parts of about `elements` elements of its largest tensor each, where its independent axes allow it; they
/// cover it, each element once.
std::vector<part_of_call> split_call(const request& call, std::size_t elements);

}  // namespace assay::core
