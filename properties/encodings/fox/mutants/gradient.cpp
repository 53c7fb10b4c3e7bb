// What is wrong in the gradients of the sums alone.
#include "properties/encodings/fox/mutants/mutants.hpp"
#include "properties/encodings/fox/mutants/recipes.hpp"

namespace assay::properties::encodings::fox {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary
using namespace reference::encodings;

// The sum of those cotangents for which `counts` says so.
template <class R>
reference::encodings::fox::recipe<R> with_adjoint(bool (*counts)(std::size_t i, std::size_t j, std::size_t l)) {
  reference::encodings::fox::recipe<R> how;
  how.adjoint = [counts](const R* grad, lane<R> grad_a) {
    const std::size_t n = grad_a.size();
    for (std::size_t l = 0; l < n; ++l) {
      R sum(0.0);
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j)
          if (counts(i, j, l)) sum = sum + grad[i * n + j];
      grad_a[l] = sum;
    }
  };
  return how;
}

struct own_key_in_gradient : unchanged_fox {
  template <class R>
  static reference::encodings::fox::recipe<R> recipe() {
    return with_adjoint<R>([](std::size_t i, std::size_t j, std::size_t l) { return i >= l && j <= l; });
  }
};
struct own_query_not_in_gradient : unchanged_fox {
  template <class R>
  static reference::encodings::fox::recipe<R> recipe() {
    return with_adjoint<R>([](std::size_t i, std::size_t j, std::size_t l) { return i > l && j < l; });
  }
};
struct masked_pairs_in_gradient : unchanged_fox {
  template <class R>
  static reference::encodings::fox::recipe<R> recipe() {
    return with_adjoint<R>(
        [](std::size_t i, std::size_t j, std::size_t l) { return (i >= l && j < l) || (j >= l && i < l); });
  }
};
struct nearest_key_only : unchanged_fox {
  template <class R>
  static reference::encodings::fox::recipe<R> recipe() {
    return with_adjoint<R>([](std::size_t i, std::size_t j, std::size_t l) { return i >= l && j + 1 == l; });
  }
};

}  // namespace

std::vector<variant> gradient_mutants() {
  return {
      make_variant<own_key_in_gradient>("mutant/fox_own_key_in_gradient", "SC04 triton-lang/triton#8412: off by one",
                                        "the gradient of a gate counts pairs whose key is its token"),
      make_variant<own_query_not_in_gradient>("mutant/fox_own_query_not_in_gradient",
                                              "SC04 triton-lang/triton#8412: off by one",
                                              "the gradient of a gate misses pairs whose query is its token"),
      make_variant<masked_pairs_in_gradient>("mutant/fox_masked_pairs_in_gradient", "GR04 jax-ml/jax#23842",
                                             "cotangents of masked pairs count"),
      make_variant<nearest_key_only>("mutant/fox_nearest_key_only",
                                     "GR07 pytorch/pytorch#196705: a prefix term dropped",
                                     "the gradient of a gate counts only the nearest key"),
  };
}

}  // namespace assay::properties::encodings::fox
