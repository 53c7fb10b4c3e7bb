// The sizes that kernels are run at, by the roles of axes: for operations whose encoding declares none.
#pragma once

#include <vector>

#include "properties/harness/catalogue.hpp"

namespace assay::properties {

/// What a quick run must have (properties/README.md): every pair of axes large together; each axis larger still beside
/// a few positions of the others; whole blocks, and last ones that lack an element; the widths that heads have; inputs
/// of every family where rows are many and wide, where there are many tokens, and where there are many keys. Left to
/// the family or to a setting are numbers of parameters that a setting is, and pairs where there is a width, of which
/// they are half.
std::vector<usual_size> sizes_by_roles(const core::operation& op);

/// A few positions of each axis that is not left: those that a size beside them is not about.
core::axis_sizes few_of_each(const core::operation& op);

}  // namespace assay::properties
