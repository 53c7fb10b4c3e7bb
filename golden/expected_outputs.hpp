// The right answers for every element of a call, for users who compare with their own tools.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "reference/accuracy_class.hpp"
#include "reference/core/operation.hpp"

namespace assay::golden {

struct expected_output {
  /// Correctly rounded to the storage dtype. NaN, with an infinite allowance, where no precision bounds the truth: in
  /// log(1 + exp(x)) for x > 7e8 the exponential has an exponent that no reading can hold.
  core::tensor truth;
  /// The largest distance of an element from `truth`: like y:bug of golden sets (proof.hpp), but with all its digits.
  xt::xarray<double> allowed;
};

/// The expected outputs, computed on all cores. With `within`, `allowed` is the law of that class
/// (reference::class_bound); without it, `allowed` is the bound of the verdict on bugs (reference::bug_bound).
/// Precondition: check_request accepts the call.
std::map<std::string, expected_output> expected_outputs(const core::request& call, const core::precisions& compute,
                                                        std::optional<reference::accuracy_class> within = {});

}  // namespace assay::golden
