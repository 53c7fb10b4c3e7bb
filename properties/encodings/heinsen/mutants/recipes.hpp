// Recipes of Heinsen's operations that differ from the correct one in a step, a scan or an adjoint.
#pragma once

#include "properties/faults/recipe_variant.hpp"
#include "reference/encodings/heinsen.hpp"

namespace assay::properties::encodings::heinsen {

using unchanged_heinsen = unchanged<reference::encodings::heinsen>;

/// One step of a scan: the state after token i.
template <class R>
using scan_step = R (*)(const R& a, const R& state, const R& h, std::size_t i);

/// The correct recipe with another step.
template <class R>
reference::encodings::heinsen::recipe<R> with_step(scan_step<R> next) {
  reference::encodings::heinsen::recipe<R> how;
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
reference::encodings::heinsen::recipe<R> with_scan(scan_routine<R> scan) {
  reference::encodings::heinsen::recipe<R> how;
  how.scan = scan;
  return how;
}

template <class R>
using adjoint_routine = void (*)(reference::const_lane<R> a, reference::const_lane<R> h, const R& s0,
                                 reference::const_lane<R> s, reference::const_lane<R> grad_s, const R& grad_last,
                                 reference::scan_gradients<R> grad);
/// The correct recipe with another adjoint.
template <class R>
reference::encodings::heinsen::recipe<R> with_adjoint(adjoint_routine<R> adjoint) {
  reference::encodings::heinsen::recipe<R> how;
  how.adjoint = adjoint;
  return how;
}

}  // namespace assay::properties::encodings::heinsen
