// What axes and inputs are for. Sizes, positions, families and faults follow from these roles: nothing outside an
// encoding names an axis or an input.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace assay::core {

struct operation;
struct tensor_declaration;

/// The size of each axis symbol.
using axis_sizes = std::map<std::string, std::size_t>;

enum class axis_role {
  batch,
  head,
  token,  ///< tokens; they are queries where there are keys as well
  key,
  width,      ///< number of features
  pairs,      ///< pairs of features that are rotated together: half a width
  parameter,  ///< numbers of the definition: buckets, bases
};

enum class input_role {
  value,
  position,   ///< of tokens or of keys, as its axis says
  distance,   ///< the position of a key less that of a query
  logit,      ///< a logarithm: it is added before an exp, or is the logit of a gate
  parameter,  ///< the same for all rows and tokens; for all rows, where the operation says that its axes are tokens
  cotangent,
  tangent,
};

std::string_view name_of(axis_role role);
std::string_view name_of(input_role role);

/// The role of an axis as a declaration writes it, "n" or "2d": the role that the operation declares (`axis_roles`),
/// else the meaning of the symbol throughout the project (roles.cpp). A contract violation where the symbol has no
/// meaning.
axis_role role_of(const operation& op, std::string_view axis);

/// The symbol of the axis with a role, empty where there is none. Among several axes of tokens or keys it is the first
/// that an input has: errors grow along it, and calls are long along it. Among several axes of another role it is the
/// first by name.
std::string axis_with(const operation& op, axis_role role);

/// The size of the axis with a role; 1 where there is no such axis.
std::size_t size_with(const operation& op, const axis_sizes& sizes, axis_role role);

/// A size for each axis that has one of these roles.
axis_sizes sizes_by_role(const operation& op, const std::map<axis_role, std::size_t>& sizes);

/// The inputs that say where an element stands; null where there are none.
struct place_inputs {
  const tensor_declaration* own = nullptr;  ///< the positions or distances; where `key` is set, positions of queries
  const tensor_declaration* key = nullptr;  ///< positions of keys: what counts is how far they are from the queries
};
place_inputs places_of(const operation& op);

/// The input with the positions of tokens, where they are integers and nothing else says where an element stands; else
/// null.
const tensor_declaration* integer_positions(const operation& op);

/// A contract violation that says what is wrong where an axis has no role, several axes are tokens or keys, a position
/// belongs to neither, or an input is the same for all rows and tokens and no parameter. Among the axes in `axis_roles`
/// an operation may have
/// - several of tokens, or of keys (windows of an image), each with its own positions;
/// - none of tokens (a step of a decoder): positions belong to rows, or there is one for all. Where there are no rows
///   either, inputs of that one row are no parameters;
/// - parameters along tokens and keys (a learned bias of pairs), but never along rows.
void check_roles(const operation& op);

}  // namespace assay::core
