// What large calls will take, by what smaller ones took: slow is not wrong.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "properties/harness/implementation.hpp"

namespace assay::tools {

/// What a call is expected to take.
struct expected_time {
  double least = 0, most = 0;  ///< seconds
  std::string axis;            ///< of whose size it has the largest multiple of what was answered
  std::size_t tried = 0;       ///< the largest size of that axis that was answered
};

/// The times of calls that were answered, and what they say of larger ones. Of each operation in a dtype
///
///   t = w0 + sum over axes of w_axis size + w_elements (elements of the largest tensor),  w >= 0,
///
/// is fitted with the least squares of fitted / measured - 1: a pause of the machine, however long, counts as one call
/// that is off by 1, and where other programs share the machine the fit is near the times of the calls that met none.
/// Code whose time grows faster is expected to take less than it will. The fit is believed up to 32 times a call that
/// took long, if it is right about that call to a factor of 4; by this factor the machine may be slower than the fit.
class call_times {
 public:
  /// `limit`: seconds that a call may take; infinite where there is none, and then nothing is expected.
  explicit call_times(double limit) : limit_(limit) {}

  void note(const properties::request& call, double seconds);
  /// Nothing where the calls do not tell.
  [[nodiscard]] std::optional<expected_time> expected(const properties::request& call) const;

  /// Even if its time grows with the square of a size that is `multiple` times what was answered, it is far below the
  /// limit.
  [[nodiscard]] bool is_short(const properties::request& call, double multiple) const;

  /// It would clearly outlast the limit, and is not worth the wait.
  [[nodiscard]] bool outlasts(const expected_time& t) const { return t.least > 1.25 * limit_; }
  /// It may well outlast the limit: then it is no hang.
  [[nodiscard]] bool may_outlast(const expected_time& t) const { return t.most > limit_ / 4; }

 private:
  using numbers = std::vector<double>;
  struct timed {
    numbers terms;
    double seconds;
  };
  struct fit {
    std::vector<numbers> products;  ///< of the terms, by call over the square of its time, summed
    numbers sums;                   ///< of the terms over the time
    std::vector<timed> longest;     ///< the calls that took longest
    core::axis_sizes tried;
    [[nodiscard]] numbers weights() const;
  };
  [[nodiscard]] std::optional<expected_time> by_fit(const fit& f, const properties::request& call) const;
  double limit_;
  std::map<std::pair<std::string, core::dtype>, fit> fits_;
};

}  // namespace assay::tools
