// The recipe of an accuracy class: an encoding with one algorithm for all classes has no more to say than its standard
// recipe; others declare `algorithm`, and `law` where the algorithm is not itself what its error is bounded by.
#pragma once

#include "reference/accuracy_class.hpp"
#include "reference/readings/tracked.hpp"

namespace assay::reference {

/// Encoding::algorithm<R>(c) where there is one.
template <class Encoding, class R>
typename Encoding::template recipe<R> algorithm_of(accuracy_class c) {
  if constexpr (requires { Encoding::template algorithm<R>(c); })
    return Encoding::template algorithm<R>(c);
  else
    return {};
}

/// The laws of ascending classes for one call: by Encoding::laws, whose recipes take over what those before them have
/// computed; else Encoding::law(c) where there is one; else the algorithm, read as an error bound.
template <class Encoding>
class law_series {
 public:
  typename Encoding::template recipe<tracked> next(accuracy_class c) {
    if constexpr (requires { Encoding::law(c); })
      return Encoding::law(c);
    else
      return algorithm_of<Encoding, tracked>(c);
  }
};
template <class Encoding>
requires requires { typename Encoding::laws; }
class law_series<Encoding> {
 public:
  typename Encoding::template recipe<tracked> next(accuracy_class c) { return laws_.next(c); }

 private:
  typename Encoding::laws laws_;
};

}  // namespace assay::reference
