#include "properties/encodings/skeleton/mutants/mutants.hpp"

#include "properties/faults/recipe_variant.hpp"
#include "reference/encodings/skeleton.hpp"

namespace assay::properties::encodings::skeleton {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary
using namespace reference::encodings;
using formula = reference::encodings::skeleton;

// Each variant computes the right recipe in plain arithmetic and replaces one step. recipe_variant.hpp also offers
// faults in inputs, outputs, precision and declarations.
struct positions_from_one : unchanged<formula> {
  template <class R>
  static formula::recipe<R> recipe() {
    formula::recipe<R> how;
    how.position = [](double p) { return from_integer<R>(p + 1.0); };
    return how;
  }
};

struct negative_dropped : unchanged<formula> {
  template <class R>
  static formula::recipe<R> recipe() {
    formula::recipe<R> how;
    how.scaled = [](const R& a, const R& x) { return a * larger(x, R(0.0)); };
    return how;
  }
};

// Right: it adds the tokens from the last one on.
struct summed_backwards : unchanged<formula> {
  template <class R>
  static formula::recipe<R> recipe() {
    formula::recipe<R> how;
    how.dot = [](const_lane<R> x, const_lane<R> y) {
      R sum(0.0);
      for (std::size_t i = x.size(); i-- > 0;) sum = sum + x[i] * y[i];
      return sum;
    };
    return how;
  }
};

}  // namespace

/// Wrong implementations. Each names the public report (owner/name#issue) that it models.
std::vector<variant> mutants() {
  return {make_variant<positions_from_one>("mutant/skeleton_positions_from_one",
                                           "SC04 triton-lang/triton#8412: off by one", "positions count from 1"),
          make_variant<negative_dropped>("mutant/skeleton_negative_dropped", "a rectifier left in its place",
                                         "negative x count as 0")};
}

/// Right implementations that compute otherwise. No property may refuse them.
std::vector<variant> controls() {
  return {make_variant<summed_backwards>("control/skeleton_summed_backwards", "sums from the last token on",
                                         "the same sums in another order")};
}

}  // namespace assay::properties::encodings::skeleton
