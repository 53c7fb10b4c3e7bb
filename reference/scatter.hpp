// How far roundings scatter an output: what plain arithmetic errs by when each rounding goes up or down at random.
//
// An allowance (oracle.hpp) is a worst case: it lets every rounding fall the same way. Where many of them meet, in a
// gradient that sums over all pairs, it is thousands of times what any program errs by. Of independent roundings the
// error is a sum of bounded random numbers, which is beyond z of its standard deviations with a chance of at most
// 2 exp(-z^2 / 2) (Hoeffding 1963; of roundings: Higham and Mary 2019). The deviations come from runs of the formula
// itself with random roundings (Parker 1997, Monte Carlo Arithmetic), in all formats and stages, without another
// reading of it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "reference/oracle.hpp"

namespace assay::reference {

/// Of one output, by element: errors against the truth, NaN where either is no number.
struct scatter {
  std::vector<std::vector<double>> at_random;  ///< of each run
  std::vector<double> to_nearest;              ///< of plain arithmetic
  /// The root of the mean square of the runs.
  [[nodiscard]] std::vector<double> deviations() const;
};

/// Of the algorithm of class c in the formats `compute`, before outputs are rounded to storage. As many runs as asked
/// for; none where there are none, which costs one evaluation. Precondition: c is not uniform, the truth is that of
/// the call.
std::map<std::string, scatter> scatter_of(const core::request& call, const core::precisions& compute, accuracy_class c,
                                          const certified_outputs& truth, std::size_t runs);

}  // namespace assay::reference
