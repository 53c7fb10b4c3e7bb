// The sizes at which a property is run beyond those that families draw: usual ones, long axes, ends of declared ones.
// Equal seeds give equal sizes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "properties/harness/catalogue.hpp"
#include "properties/harness/runner.hpp"

namespace assay::properties {

/// The axis of the rows of an output whose errors are judged by the largest |x| of a row, where it is a width alone.
std::optional<std::string> row_axis_of(const core::operation& op, const core::tensor_declaration& output);
/// A row of fewer numbers, each a mean of many, may cancel by chance.
inline constexpr std::size_t wide_row = 8;

/// Whether other inputs of these sizes besides the mild ones cost little; what is hidden with few elements is with
/// many.
bool is_cheap(const core::operation& op, const core::axis_sizes& axes);

/// Both ends of each axis whose sizes are declared to end, the upper one as far as it is affordable: pairs of tokens
/// are a square.
std::vector<core::axis_sizes> declared_ends(const core::operation& op, const size_domains& declared);

/// The usual sizes of the operation, as many as are asked for, and the shapes that somebody asked for by number. A size
/// is drawn from the seed, up to an eighth above the usual one, unless it stands for itself: a multiple of 8, or the
/// neighbour of a multiple of 32. All but those asked for by number are inside the declared ones. Shapes that no call
/// has are left out.
std::vector<usual_size> planned_sizes(const core::operation& op, core::dtype type, const size_domains& declared,
                                      const run_options& options);

/// Each axis in turn at multiples of the blocks of kernels, 16 to 256, and one beside each, with a few of the others;
/// in a full run on both sides. What is wrong where a last block is full, or has one element, shows there.
std::vector<core::axis_sizes> block_sizes(const core::operation& op, core::dtype type, const size_domains& declared,
                                          const run_options& options);

/// Why no call has these sizes: they do not go together, whatever the other ones are. Empty where one may have them.
std::string conflict_of_shape(const core::operation& op, const core::axis_sizes& shape);

/// The sizes of one call, and the family whose inputs it has.
struct sized_call {
  core::axis_sizes axes;
  std::string family;
};

/// Calls with one long axis, one after the other for every axis: at sizes that are drawn log-uniformly, many of them
/// next to multiples of blocks, the longest first, since what sums lose is blatant there; then beyond 2^16, where
/// indices of 16 bits end, or as far as is affordable. Where something adds up along the axis, every other drawn call
/// has terms of one sign. `families` are all of the property: which of them are asked for changes no other call.
std::vector<sized_call> long_axes(const core::operation& op, core::dtype type, const std::vector<family>& families,
                                  const size_domains& declared, const run_options& options);

}  // namespace assay::properties
