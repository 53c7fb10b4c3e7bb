// The sizes at which kernels are run, by the roles of axes: for operations whose encoding declares none.
#pragma once

#include <vector>

#include "properties/harness/catalogue.hpp"

namespace assay::properties {

/// The sizes that a quick run must have (properties/README.md): every pair of axes large together; each axis larger
/// still beside a few positions of the others; whole blocks, and last blocks that lack an element; the usual widths of
/// heads; inputs of every family with many wide rows, with many tokens, and with many keys. Some axes are left to the
/// family or to a setting: numbers of parameters that are settings, and pairs if there is a width, which is twice as
/// large.
std::vector<usual_size> sizes_by_roles(const core::operation& op);

/// A few positions of each axis that is not left out: the sizes beside the one under test.
core::axis_sizes few_of_each(const core::operation& op);

}  // namespace assay::properties
