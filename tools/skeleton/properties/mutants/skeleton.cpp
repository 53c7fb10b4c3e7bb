#include "properties/mutants/skeleton.hpp"

#include "properties/mutants/recipe_variant.hpp"
#include "reference/encodings/skeleton.hpp"

namespace assay::properties {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary
using unchanged_skeleton = unchanged<skeleton>;

// Each is the right recipe, computed in plain arithmetic, with one step replaced; see recipe_variant.hpp for faults in
// inputs, outputs, precision and in what is declared.
struct positions_from_one : unchanged_skeleton {
  template <class R>
  static skeleton::recipe<R> recipe() {
    skeleton::recipe<R> how;
    how.position = [](double p) { return from_integer<R>(p + 1.0); };
    return how;
  }
};

struct negative_dropped : unchanged_skeleton {
  template <class R>
  static skeleton::recipe<R> recipe() {
    skeleton::recipe<R> how;
    how.scaled = [](const R& a, const R& x) { return a * larger(x, R(0.0)); };
    return how;
  }
};

// Right: the sums over tokens from the last one on.
struct summed_backwards : unchanged_skeleton {
  template <class R>
  static skeleton::recipe<R> recipe() {
    skeleton::recipe<R> how;
    how.dot = [](const_lane<R> x, const_lane<R> y) {
      R sum(0.0);
      for (std::size_t i = x.size(); i-- > 0;) sum = sum + x[i] * y[i];
      return sum;
    };
    return how;
  }
};

template <class Variant>
variant make(const char* id, const char* models, const char* what) {
  return make_variant_of<skeleton, Variant>(id, models, what);
}

}  // namespace

/// Wrong as published code has been wrong: each names the public report (owner/name#issue) that it models.
std::vector<variant> skeleton_mutants() {
  return {make<positions_from_one>("mutant/skeleton_positions_from_one", "SC04 triton-lang/triton#8412: off by one",
                                   "positions count from 1"),
          make<negative_dropped>("mutant/skeleton_negative_dropped", "a rectifier left in its place",
                                 "negative x count as 0")};
}

/// Right, and computed otherwise: no property may refuse them.
std::vector<variant> skeleton_controls() {
  return {make<summed_backwards>("control/skeleton_summed_backwards", "sums from the last token on",
                                 "the same sums in another order")};
}

}  // namespace assay::properties
