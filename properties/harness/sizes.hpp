// The sizes at which a property is run beyond those that families draw: usual ones, long axes, ends of declared ones.
// Equal seeds give equal sizes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "properties/harness/catalogue.hpp"
#include "properties/harness/runner.hpp"

namespace assay::properties {

/// The axis of the rows of an output whose errors are judged by the largest |x| of a row. Nothing for other outputs,
/// and if the axis is no width or is an expression such as "2 r".
std::optional<std::string> row_axis_of(const core::operation& op, const core::tensor_declaration& output);
/// A row with fewer numbers, each a mean of many, may cancel by chance.
inline constexpr std::size_t wide_row = 8;

/// Whether a second case of these sizes, with inputs of another family, costs little. Larger sizes need no second case:
/// faults that stay hidden with few elements stay hidden with many.
bool is_cheap(const core::operation& op, const core::axis_sizes& axes);

/// Both ends of each axis whose sizes are declared to end, the upper end as far as it is affordable: pairs of tokens
/// grow as a square.
std::vector<core::axis_sizes> declared_ends(const core::operation& op, const size_domains& declared);

/// The usual sizes of the operation, as many as are requested, and the shapes that were requested by number. A size is
/// drawn from the seed, up to an eighth above the usual one, unless it must be exact: a multiple of 8, or the neighbour
/// of a multiple of 32. All sizes but those requested by number are inside the declared ones. Shapes that no call can
/// have are left out.
std::vector<usual_size> planned_sizes(const core::operation& op, core::dtype type, const size_domains& declared,
                                      const run_options& options);

/// Each axis in turn at sizes of kernel blocks (16, 64, 128 and 256), and at one neighbour of each (in a full run at
/// both), with a few positions of the other axes. Faults of a last block that is full, or has one element, show there.
std::vector<core::axis_sizes> block_sizes(const core::operation& op, core::dtype type, const size_domains& declared,
                                          const run_options& options);

/// Why no call has these sizes: they do not go together, whatever the other sizes are. Empty if some call may have
/// them.
std::string conflict_of_shape(const core::operation& op, const core::axis_sizes& shape);

/// The sizes of one call, and the family whose inputs it has.
struct sized_call {
  core::axis_sizes axes;
  std::string family;
};

/// Calls with one long axis, for every axis in turn. Sizes are drawn log-uniformly, many of them next to multiples of
/// blocks, the longest first, since the loss in sums is blatant there. Then follow sizes beyond 2^16, where indices of
/// 16 bits end, or as far as is affordable. If something adds up along the axis, every second drawn call has terms of
/// one sign. `families` are all families of the property: a selection among them changes no other call.
std::vector<sized_call> long_axes(const core::operation& op, core::dtype type, const std::vector<family>& families,
                                  const size_domains& declared, const run_options& options);

}  // namespace assay::properties
