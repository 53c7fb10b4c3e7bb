// Callers for tests: `nobody` has no candidates, `mutants` has the mutants and controls.
#pragma once

#include <string>

#include "properties/harness/catalogue.hpp"
#include "tools/explore/measure.hpp"

namespace assay::explore {

inline const caller nobody = [](const std::string&, const core::request&) -> core::result<core::tensors> {
  return core::failure("there are no candidates here");
};

inline const caller mutants = [](const std::string& wanted, const core::request& call) -> core::result<core::tensors> {
  for (const properties::encoding_tests& tests : properties::all_encoding_tests())
    for (const auto* variants : {&tests.mutants, &tests.controls})
      for (const properties::variant& v : *variants) {
        if (wanted != "builtin:" + v.id) continue;
        auto out = v.make()->evaluate(call);
        return out ? core::result<core::tensors>(std::move(*out)) : core::failure(out.error().message);
      }
  return core::failure("there is no " + wanted);
};

}  // namespace assay::explore
