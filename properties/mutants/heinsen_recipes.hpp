// Recipes of Heinsen's operations that differ from the correct one in a step, a scan or an adjoint.
#pragma once

#include "properties/mutants/recipe_variant.hpp"
#include "reference/encodings/heinsen.hpp"

namespace assay::properties {

using unchanged_heinsen = unchanged<reference::heinsen>;
template <class Variant>
using heinsen_variant = recipe_variant<reference::heinsen, Variant>;

// Compiled in heinsen_recipes.cpp.
#define ASSAY_RECIPE(type)                                                                             \
  extern template core::tensors run_recipe<reference::heinsen, reference::rounded<core::dtype::type>>( \
      const request&, const reference::heinsen::recipe<reference::rounded<core::dtype::type>>&);
ASSAY_RECIPE(f64)
ASSAY_RECIPE(f32)
ASSAY_RECIPE(f16)
ASSAY_RECIPE(bf16)
#undef ASSAY_RECIPE

/// One step of a scan: the state after token i.
template <class R>
using scan_step = R (*)(const R& a, const R& state, const R& h, std::size_t i);

/// The correct recipe with another step.
template <class R>
reference::heinsen::recipe<R> with_step(scan_step<R> next) {
  reference::heinsen::recipe<R> how;
  how.scan = [next](reference::const_lane<R> a, reference::const_lane<R> h, const R& s0, reference::lane<R> s) {
    R state = s0;
    for (std::size_t i = 0; i < s.size(); ++i) s[i] = state = next(a[i], state, h[i], i);
  };
  return how;
}

template <class R>
using scan_routine = void (*)(reference::const_lane<R> a, reference::const_lane<R> h, const R& s0,
                              reference::lane<R> s);
/// The correct recipe with another scan.
template <class R>
reference::heinsen::recipe<R> with_scan(scan_routine<R> scan) {
  reference::heinsen::recipe<R> how;
  how.scan = scan;
  return how;
}

template <class R>
using adjoint_routine = void (*)(reference::const_lane<R> a, reference::const_lane<R> h, const R& s0,
                                 reference::const_lane<R> s, reference::const_lane<R> grad_s, const R& grad_last,
                                 reference::scan_gradients<R> grad);
/// The correct recipe with another adjoint.
template <class R>
reference::heinsen::recipe<R> with_adjoint(adjoint_routine<R> adjoint) {
  reference::heinsen::recipe<R> how;
  how.adjoint = adjoint;
  return how;
}

template <class Variant>
variant make_variant(const char* id, const char* models, const char* what) {
  return make_variant_of<reference::heinsen, Variant>(id, models, what);
}

}  // namespace assay::properties
