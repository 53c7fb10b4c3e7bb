// Cases inside a declared domain: what a family draws outside it is moved inside, and its two ends are tried. Sizes of
// axes likewise.
#pragma once

#include "properties/harness/case.hpp"

namespace assay::properties {

/// The domain of "state" is that of no input. Moves the finite values of each input that has a domain into it. One case
/// in four keeps what already lies inside as it is; the others hold the lower end, the upper end, or both. Rows of
/// consecutive positions stay consecutive. Where an input holds an infinity or NaN, or no number of its dtype lies
/// inside, the case is left alone.
void steer_into(test_case& c, const input_domains& domains, core::counter_random& random);

/// What a setting is drawn from: its own values or the narrower ones that are given; of one that is the size of an axis
/// those that are declared of the axis, or else some sizes from the smallest declared one on.
std::vector<core::attribute> values_to_draw(const core::attribute_declaration& of, const setting_values& within,
                                            const size_domains& declared);

/// Sizes inside the declared ones: those drawn that lie there already, else the nearest one or, where there are any,
/// the two above it, so that not all cases have one size.
core::axis_sizes sizes_inside(core::axis_sizes drawn, const size_domains& declared, std::uint64_t seed);

/// The smallest and the largest of the declared sizes of each axis.
std::map<std::string, core::size_bounds> bounds_of(const size_domains& declared);

}  // namespace assay::properties
