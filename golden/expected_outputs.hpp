// What is right for every element of a call, for those who compare with tools of their own.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "reference/accuracy_class.hpp"
#include "reference/core/operation.hpp"

namespace assay::golden {

struct expected_output {
  core::tensor truth;  ///< correctly rounded to the storage dtype
  /// How far an element may be off `truth`: as the y:bug of golden sets (proof.hpp), but with all its digits.
  xt::xarray<double> allowed;
};

/// Found on all cores. `within`: the law of that class (reference::class_bound); without one what the verdict calls no
/// bug (reference::bug_bound). Precondition: check_request accepts the call.
std::map<std::string, expected_output> expected_outputs(const core::request& call, const core::precisions& compute,
                                                        std::optional<reference::accuracy_class> within = {});

}  // namespace assay::golden
