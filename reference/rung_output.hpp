// The result of a rung of the ladder of precisions.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "reference/core/operation.hpp"
#include "reference/readings/rounding.hpp"

namespace assay::reference {

/// One output of a rung of the precision ladder.
struct rung_output {
  core::tensor rounded;
  xt::xarray<double> low, radius;
  std::vector<std::uint8_t> decided, low_decided;

  /// The elements of a field, each rounded.
  template <class R, class Round>
  static rung_output from_field(core::dtype storage, const xt::xarray<R>& f, Round round) {
    const auto numbers = [&] { return xt::xarray<double>::from_shape(f.shape()); };
    const std::vector<std::uint8_t> none(f.size(), 0);
    rung_output o{{storage, numbers()}, numbers(), numbers(), none, none};
    for (std::size_t i = 0; i < f.size(); ++i) {
      const rounding r = round(f.storage()[i]);
      o.rounded.values.storage()[i] = r.value;
      o.low.storage()[i] = r.low;
      o.radius.storage()[i] = r.radius;
      o.decided[i] = r.decided;
      o.low_decided[i] = r.low_decided;
    }
    return o;
  }
};
/// Outputs of a rung by name.
using rung_outputs = std::map<std::string, rung_output>;

/// How many doubles represent a number on the rungs below the intervals.
enum class doubles { one, two };

/// A function of an operation that encloses its outputs by a running bound (running_bounds/). It is cheaper than balls,
/// since it treats many elements at once, and it may leave any of them undecided. Empty where there is none.
using running_bound = std::function<rung_outputs(const core::request& call, doubles doubles_per_number)>;

}  // namespace assay::reference
