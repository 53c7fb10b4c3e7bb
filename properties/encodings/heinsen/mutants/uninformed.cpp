// What knows nothing of the recurrence.
#include "properties/encodings/heinsen/mutants/mutants.hpp"

namespace assay::properties::encodings::heinsen {

uninformed_answer maximum_for_sum() {
  const auto answer = [](const request& call) {
    recipe_variant<reference::encodings::heinsen> maximum(
        "the maximum for the sum", {.formula = with_sum([](const R& past, const R& h) { return larger(past, h); }),
                                    // Where the sum shows, and not how sums of decays are rounded.
                                    .arithmetic = in_f64});
    return maximum.evaluate(call).value();
  };
  return {"the maximum for the sum", [](const core::operation& op) { return op.is_forward(); }, answer};
}

}  // namespace assay::properties::encodings::heinsen
