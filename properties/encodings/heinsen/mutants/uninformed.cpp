// What knows nothing of the recurrence.
#include "properties/encodings/heinsen/mutants/mutants.hpp"
#include "properties/encodings/heinsen/mutants/recipes.hpp"

namespace assay::properties::encodings::heinsen {
namespace {

struct maximum : unchanged_heinsen {
  /// Where the sum shows, and not how sums of decays are rounded.
  static core::dtype arithmetic(core::dtype) { return core::dtype::f64; }
  template <class R>
  static reference::encodings::heinsen::recipe<R> recipe() {
    return with_step<R>([](const R& a, const R& state, const R& h, std::size_t) { return larger(a + state, h); });
  }
};

}  // namespace

uninformed_answer maximum_for_sum() {
  const std::string name = "the maximum for the sum";
  return {name, [](const core::operation& op) { return op.is_forward(); },
          [name](const request& call) { return recipe_variant<maximum>(name).evaluate(call).value(); }};
}

}  // namespace assay::properties::encodings::heinsen
