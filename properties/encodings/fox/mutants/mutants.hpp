// Wrong and right variants of the decay of forgetting attention, to gate the gate.
#pragma once

#include "properties/faults/recipe_variant.hpp"
#include "reference/encodings/fox.hpp"

namespace assay::properties::encodings::fox {

using R = reference::rounded;
using recipe = reference::encodings::fox::recipe<R>;
inline constexpr auto& changed_fox = make_variant<reference::encodings::fox>;

std::vector<variant> mutants();
/// Parts of the list: wrong gates and precisions, wrong attention.
std::vector<variant> gate_mutants();
std::vector<variant> attention_mutants();
std::vector<variant> controls();

using gradient_recipe = gradient_steps<recipe>::type;
using G = gradient_recipe::number;

/// Other sums, and their adjoint, in gradients too.
struct with_sums {
  std::function<void(reference::const_lane<R> a, R* decay)> sums;
  std::function<void(const R* grad_decay, reference::lane<R> grad_a)> adjoint = reference::segment_sums_adjoint<R>;

  void operator()(recipe& how) const { how.sums = sums; }
  void operator()(gradient_recipe& how) const {
    how.sums = [own = *this](reference::const_lane<G> a, G* out) {
      reference::taped_segment_sums<R>(a, out, own.sums, own.adjoint);
    };
  }
};
/// D_ij = entry(a, i, j) for j <= i.
inline with_sums with_entry(R (*entry)(reference::const_lane<R> a, std::size_t i, std::size_t j)) {
  return {[entry](reference::const_lane<R> a, R* out) {
    for (std::size_t i = 0; i < a.size(); ++i)
      for (std::size_t j = 0; j <= i; ++j) out[i * a.size() + j] = entry(a, i, j);
  }};
}

/// a_first + ... + a_{last - 1}
inline R sum_of(reference::const_lane<R> a, std::size_t first, std::size_t last) {
  R sum(0.0);
  for (std::size_t l = first; l < last; ++l) sum = sum + a[l];
  return sum;
}

}  // namespace assay::properties::encodings::fox
