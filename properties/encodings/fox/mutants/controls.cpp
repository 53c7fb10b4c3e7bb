// Right, and computed otherwise.
#include "properties/encodings/attention/mutants/recipes.hpp"
#include "properties/encodings/fox/mutants/mutants.hpp"
#include "properties/encodings/fox/mutants/recipes.hpp"
#include "reference/encodings/alibi.hpp"
#include "reference/encodings/attention.hpp"

namespace assay::properties::encodings::fox {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary
using namespace reference::encodings;

// Right: sums from the query back to the key.
struct summed_backwards : unchanged_fox {
  template <class R>
  static reference::encodings::fox::recipe<R> recipe() {
    return with_entry<R>([](const_lane<R> a, std::size_t i, std::size_t j) {
      R sum(0.0);
      for (std::size_t l = i; l > j; --l) sum = sum + a[l];
      return sum;
    });
  }
};

template <class R>
R halved(const_lane<R> a, std::size_t first, std::size_t last) {
  if (last - first < 2) return first == last ? R(0.0) : a[first];
  const std::size_t middle = first + (last - first) / 2;
  return halved(a, first, middle) + halved(a, middle, last);
}

// Right: pairwise summation.
struct summed_in_pairs : unchanged_fox {
  template <class R>
  static reference::encodings::fox::recipe<R> recipe() {
    reference::encodings::fox::recipe<R> how =
        with_entry<R>([](const_lane<R> a, std::size_t i, std::size_t j) { return halved(a, j + 1, i + 1); });
    how.adjoint = segment_sums_adjoint_by_suffix<R>;
    return how;
  }
};

// Right where all gates are finite, as it says: prefix sums, and their adjoint by suffix sums.
struct declared_prefix_sums : unchanged_fox {
  template <class R>
  static reference::encodings::fox::recipe<R> recipe() {
    return reference::encodings::fox::algorithm<R>(accuracy_class::cumsum);
  }
  static void declare(description& about) {
    for (const auto& [operation, types] : about.operations)
      about.domain[operation] = {{operation.starts_with("fox/gated") ? "g" : "log_f", {}}};
  }
};

// Right: sums for all pairs, also of later keys, which are masked at the end.
struct masked_later : unchanged_fox {
  template <class R>
  static reference::encodings::fox::recipe<R> recipe() {
    reference::encodings::fox::recipe<R> how;
    how.sums = [](const_lane<R> a, R* out) {
      const std::size_t n = a.size();
      segment_sums<R>(a, out);
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = i + 1; j < n; ++j) out[i * n + j] = -sum_of(a, i + 1, j + 1);
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = i + 1; j < n; ++j) out[i * n + j] = R(-std::numeric_limits<double>::infinity());
    };
    return how;
  }
};

// Right: no exponent above 0 reaches exp, and that of 0 is 1.
struct guarded_exp : unchanged_fox {
  template <class R>
  static reference::encodings::fox::recipe<R> recipe() {
    reference::encodings::fox::recipe<R> how;
    how.heads.weights = attention::guarded_softmax<R>;
    return how;
  }
};

// Right, but of class cumsum: suffix sums as the total less prefix sums. What the total holds and the suffix does not
// is left as rounding, also of the first gate, whose gradient is 0.
struct total_less_prefix : unchanged_fox {
  template <class R>
  static reference::encodings::fox::recipe<R> recipe() {
    reference::encodings::fox::recipe<R> how;
    how.adjoint = [](const R* grad, lane<R> grad_a) {
      const std::size_t n = grad_a.size();
      std::vector<R> before(n + 1, R(0.0));
      for (std::size_t r = 0; r < n; ++r) {
        R sum = before[r];
        for (std::size_t j = 0; j <= r; ++j) sum = sum + grad[r * n + j];
        for (std::size_t i = r; i < n; ++i) sum = sum - grad[i * n + r];
        before[r + 1] = sum;
      }
      for (std::size_t l = 0; l < n; ++l) grad_a[l] = before[n] - before[l];
    };
    return how;
  }
};

}  // namespace

std::vector<variant> controls() {
  return {make_variant_beside<summed_backwards, reference::encodings::attention, reference::encodings::alibi>(
              "control/fox_summed_backwards", "sums from the query back", "the same sums in another order"),
          make_variant<summed_in_pairs>("control/fox_summed_in_pairs", "pairwise summation", "the same sums as a tree"),
          make_variant<declared_prefix_sums>("control/fox_declared_prefix_sums",
                                             "prefix sums, where all gates are finite", "differences of prefix sums"),
          make_variant<masked_later>("control/fox_masked_later", "CT04 state-spaces/mamba#520: masked later",
                                     "D of later keys is formed, and then masked"),
          make_variant<guarded_exp>("control/fox_guarded_exp", "CT10 fla-org/flash-linear-attention#463: a guard",
                                    "no exponent above 0 reaches exp, and that of 0 is 1"),
          make_variant<total_less_prefix>("control/fox_total_less_prefix", "suffix sums as the total less prefix sums",
                                          "of class cumsum: gradients cancel, also that of the first gate"),
          make_variant<usual_stages<reference::encodings::fox>>(
              "control/fox_usual_stages", "eager attention with log f in f32",
              "f16 and bf16: decay, sums and softmax in f32, scores, weights and output in the dtype")};
}

}  // namespace assay::properties::encodings::fox
