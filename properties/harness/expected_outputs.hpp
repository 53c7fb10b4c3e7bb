// What is right for every element of a call, for those who compare with tools of their own.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "properties/harness/implementation.hpp"
#include "reference/accuracy_class.hpp"

namespace assay::properties {

struct expected_output {
  core::tensor truth;  ///< correctly rounded to the storage dtype
  /// |x - truth| that an element x may have. 0 where the truth is NaN or an infinity; infinite where every finite
  /// answer is right; in the storage dtype's range an overflow to infinity is right where truth + allowed overflows.
  xt::xarray<double> allowed;
};

/// Found on all cores. `within`: the law of that class (class_bound); without one what the verdict calls no bug, the
/// widest law with its slack (bug_bound). Precondition: check_request accepts the call.
std::map<std::string, expected_output> expected_outputs(const request& call, const core::precisions& compute,
                                                        std::optional<reference::accuracy_class> within = {});

}  // namespace assay::properties
