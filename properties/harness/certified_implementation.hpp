// The certified truth as an implementation: every property must pass it.
#pragma once

#include "properties/harness/implementation.hpp"

namespace assay::properties {

/// All operations in all floating-point dtypes, computed in the storage dtype itself, deterministic.
description describes_every_operation(std::string name);

/// Correctly rounded outputs; `unsupported` if an element is undecided at the highest precision. With only the first
/// precision: numbers within the proved radius of the truth, which no comparison with the truth refuses, at a fraction
/// of the cost.
class certified_implementation final : public implementation {
 public:
  enum class precisions { all, first };
  explicit certified_implementation(precisions used = precisions::all)
      : about_(describes_every_operation("reference")), used_(used) {}
  [[nodiscard]] const description& describe() const override { return about_; }
  call_result evaluate(const request& call) override;

 private:
  description about_;
  precisions used_;
};

}  // namespace assay::properties
