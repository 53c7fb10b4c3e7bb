// The certified truth as an implementation: what every property must pass.
#pragma once

#include "properties/harness/implementation.hpp"

namespace assay::properties {

/// All operations in all floating-point dtypes, computed in the storage dtype itself, deterministic.
description describes_every_operation(std::string name);

/// Correctly rounded outputs; `unsupported` where an element is undecided at the highest precision.
class certified_implementation final : public implementation {
 public:
  certified_implementation() : about_(describes_every_operation("reference")) {}
  [[nodiscard]] const description& describe() const override { return about_; }
  call_result evaluate(const request& call) override;

 private:
  description about_;
};

}  // namespace assay::properties
