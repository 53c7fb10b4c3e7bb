// Cases inside a declared domain: inputs drawn outside it are moved inside, and its two ends are tried. Sizes of axes
// likewise.
#pragma once

#include "properties/harness/case.hpp"

namespace assay::properties {

/// Moves the finite values of each input that has a domain into it; the domain "state" belongs to no input. One case in
/// four keeps values that already lie inside; the others hold the lower end, the upper end, or both. Rows of
/// consecutive positions stay consecutive. If an input with a domain holds an infinity or NaN, the case stays as it is.
/// If no number of an input's dtype lies inside, this input stays as it is.
void steer_into(test_case& c, const input_domains& domains, core::counter_random& random);

/// The values from which a setting is drawn: its own values, or the narrower ones that are given. A setting that is the
/// size of an axis is drawn from the declared sizes of the axis, or else from some sizes at and above the smallest
/// declared one.
std::vector<core::attribute> values_to_draw(const core::attribute_declaration& setting, const setting_values& within,
                                            const size_domains& declared);

/// Sizes inside the declared ones. Drawn sizes that lie there stay; others become the nearest declared size or one of
/// the next two above it, if there are any, so that not all cases have one size.
core::axis_sizes sizes_inside(core::axis_sizes drawn, const size_domains& declared, std::uint64_t seed);

/// The smallest and the largest of the declared sizes of each axis.
std::map<std::string, core::size_bounds> bounds_of(const size_domains& declared);

}  // namespace assay::properties
