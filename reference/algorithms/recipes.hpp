// The recipe of an accuracy class: an encoding with one algorithm for all classes has no more to say than its standard
// recipe; others declare `algorithm`, and `law` where the algorithm is not itself what its error is bounded by.
#pragma once

#include "reference/accuracy_class.hpp"
#include "reference/readings/adjoint.hpp"

namespace assay::reference {

/// The recipe make<R>(), and make<adjoint<R>>() for gradients that are derived.
template <class R, class Make>
auto with_gradient(Make make) {
  auto how = make.template operator()<R>();
  if constexpr (requires { how.of_gradient; }) {
    using steps = std::remove_const_t<typename decltype(how.of_gradient)::element_type>;
    how.of_gradient = std::make_shared<const steps>(make.template operator()<adjoint<R>>());
  }
  return how;
}

/// Encoding::algorithm<R>(c) where there is one.
template <class Encoding, class R>
typename Encoding::template recipe<R> algorithm_of(accuracy_class c) {
  if constexpr (requires { Encoding::template algorithm<R>(c); })
    return with_gradient<R>([c]<class Number>() { return Encoding::template algorithm<Number>(c); });
  else
    return {};
}

/// The laws of ascending classes for one call: by Encoding::laws, whose recipes take over what those before them have
/// computed; else Encoding::law<R>(c) where there is one; else the algorithm, read as an error bound.
template <class Encoding>
class law_series {
 public:
  typename Encoding::template recipe<tracked> next(accuracy_class c) {
    if constexpr (requires { Encoding::template law<tracked>(c); })
      return with_gradient<tracked>([c]<class R>() { return Encoding::template law<R>(c); });
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
