// Numbers of a definition, such as a base, as a reading takes them.
#pragma once

#include <algorithm>

#include "reference/readings/differentiated.hpp"
#include "reference/readings/rounded.hpp"
#include "reference/readings/tracked.hpp"

namespace assay::reference {

/// Exact in every reading except the two below.
template <class R>
struct setting_reader {
  static R read(double x) { return R(x); }
};

/// Among the subnormal numbers of a format the error is half of the smallest subnormal, tau u in units of u.
template <>
struct setting_reader<tracked> {
  static tracked read(double x) {
    const tracked r = tracked::from_double(x);
    return {x, r.error == 0.0 ? 0.0 : std::max(r.error, tracked::tau() * tracked::u())};
  }
};

/// The number as it is: programs hold settings as doubles of the host, and bases above the largest number of f16 are
/// usual.
template <>
struct setting_reader<rounded> {
  static rounded read(double x) {
    rounded r;
    r.number = x;
    return r;
  }
};

template <carries_derivatives D>
struct setting_reader<D> {
  static D read(double x) { return D(setting_reader<typename D::underlying>::read(x)); }
};

template <class R>
R from_setting(double x) {
  return setting_reader<R>::read(x);
}

}  // namespace assay::reference
