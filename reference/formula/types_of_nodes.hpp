// Rules for the types of nodes, for types.cpp and for the operators that move elements.
#pragma once

#include "reference/formula/program.hpp"

namespace assay::reference::formula::types_of {

using types = std::vector<const array_type*>;

/// The shape with these sizes; an error where it exceeds the limits of arrays.
core::result<core::shape> shape_from(const std::vector<std::int64_t>& sizes);
/// The shape of the result where inputs broadcast as in NumPy.
core::result<core::shape> broadcast_shape(const types& in);
core::result<void> require_kinds(const types& in, std::initializer_list<number_kind> allowed);
core::result<void> require_one_kind(const types& in);
core::result<std::size_t> axis_within(std::int64_t axis, const core::shape& s);

/// The types of operators of the families of movement and scattering.
core::result<array_type> moved(const node& n, const types& in);
core::result<array_type> scattered(const node& n, const types& in);
/// The types of loops (scan.hpp).
core::result<array_type> scanned(const node& n, const types& in);

}  // namespace assay::reference::formula::types_of
