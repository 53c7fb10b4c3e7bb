// The time that large calls will take, estimated from smaller ones: slow is not wrong.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "properties/harness/implementation.hpp"

namespace assay::tools {

/// The time that a call is expected to take.
struct expected_time {
  double least = 0, most = 0;  ///< seconds
  std::string axis;            ///< the axis whose size is the largest multiple of answered sizes
  std::size_t tried = 0;       ///< the largest answered size of that axis
};

/// The times of answered calls, and estimates for larger ones. For each operation in a dtype
///
///   t = w0 + sum over axes of w_axis size + w_elements (elements of the largest tensor),  w >= 0,
///
/// is fitted by least squares of fitted / measured - 1. A pause of the machine, however long, counts as one call with
/// an error of 1; if other programs share the machine, the fit is near the times of undisturbed calls. Code whose time
/// grows faster is expected to take less time than it will. The fit is trusted up to 32 times a long call, if it is
/// right for that call within a factor of 4; by this factor the machine may be slower than the fit.
class call_times {
 public:
  /// `limit`: the seconds that a call may take; infinite if there is no limit, and then nothing is estimated.
  explicit call_times(double limit) : limit_(limit) {}

  void note(const properties::request& call, double seconds);
  /// Nothing if the known calls do not suffice, or if even 32 times the longest of them is far below the limit.
  [[nodiscard]] std::optional<expected_time> expected(const properties::request& call) const;

  /// Whether the call is far below the limit, even if its time grows with the square of a size that is `multiple` times
  /// the answered one.
  [[nodiscard]] bool is_short(const properties::request& call, double multiple) const;

  /// Whether the call would clearly exceed the limit and is not worth the wait.
  [[nodiscard]] bool outlasts(const expected_time& t) const { return t.least > 1.25 * limit_; }
  /// Whether the call may exceed the limit: then exceeding it is no hang.
  [[nodiscard]] bool may_outlast(const expected_time& t) const { return t.most > limit_ / 4; }

 private:
  using numbers = std::vector<double>;
  struct timed {
    numbers terms;
    double seconds;
  };
  struct fit {
    std::vector<numbers> products;  ///< products of the terms, divided by the square of the call's time, summed
    numbers sums;                   ///< the terms divided by the time, summed
    std::vector<timed> longest;     ///< the calls that took longest
    core::axis_sizes tried;
    [[nodiscard]] numbers weights() const;
  };
  [[nodiscard]] std::optional<expected_time> by_fit(const fit& f, const properties::request& call) const;
  double limit_;
  std::map<std::pair<std::string, core::dtype>, fit> fits_;
};

}  // namespace assay::tools
