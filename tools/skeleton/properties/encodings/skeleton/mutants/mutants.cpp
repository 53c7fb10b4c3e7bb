#include "properties/encodings/skeleton/mutants/mutants.hpp"

#include "properties/faults/recipe_variant.hpp"
#include "reference/encodings/skeleton.hpp"

namespace assay::properties::encodings::skeleton {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary
using R = rounded;
using recipe = reference::encodings::skeleton::recipe<R>;
constexpr auto& changed_skeleton = make_variant<reference::encodings::skeleton>;

}  // namespace

// Each variant computes the right recipe in plain arithmetic and replaces one step. `variation` (recipe_variant.hpp) has
// more: faults in inputs, outputs, precision and declarations.

/// Wrong implementations. Each names the public report (owner/name#issue) that it models.
std::vector<variant> mutants() {
  return {
      changed_skeleton(
          "mutant/skeleton_positions_from_one", "SC04 triton-lang/triton#8412: off by one", "positions count from 1",
          {.formula = [](recipe& how) { how.position = [](double p) { return from_integer<R>(p + 1.0); }; }}),
      changed_skeleton(
          "mutant/skeleton_negative_dropped", "a rectifier left in its place", "negative x count as 0",
          {.formula = [](recipe& how) { how.scaled = [](const R& a, const R& x) { return a * larger(x, R(0.0)); }; },
           .telling = true}),
  };
}

/// Right implementations that compute otherwise. No property may refuse them.
std::vector<variant> controls() {
  return {
      changed_skeleton("control/skeleton_summed_backwards", "sums from the last token on",
                       "the same sums in another order",
                       {.formula =
                            [](recipe& how) {
                              how.dot = [](const_lane<R> x, const_lane<R> y) {
                                R sum(0.0);
                                for (std::size_t i = x.size(); i-- > 0;) sum = sum + x[i] * y[i];
                                return sum;
                              };
                            }}),
  };
}

}  // namespace assay::properties::encodings::skeleton
