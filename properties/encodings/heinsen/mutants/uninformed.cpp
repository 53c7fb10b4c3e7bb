// Answers that know nothing of the recurrence.
#include "properties/encodings/heinsen/mutants/mutants.hpp"

namespace assay::properties::encodings::heinsen {

uninformed_answer maximum_for_sum() {
  const auto answer = [](const request& call) {
    scheme_variant<reference::encodings::heinsen> maximum(
        "the maximum for the sum", {.formula = with_sum([](const R& past, const R& h) { return larger(past, h); }),
                                    // In f64, so that the missing sum decides, and not the rounding of sums of decays.
                                    .arithmetic = in_f64});
    return maximum.evaluate(call).value();
  };
  return {"the maximum for the sum", [](const core::operation& op) { return op.is_forward(); }, answer};
}

}  // namespace assay::properties::encodings::heinsen
