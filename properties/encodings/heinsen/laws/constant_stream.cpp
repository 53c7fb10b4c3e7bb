// Constant inputs cannot count. With p and h constant X_i - X* = p^i (X_0 - X*), X = e^s: every feature moves one
// way only and changes its sign at most once, so d features show at most d + 1 sign patterns (derived here).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "properties/encodings/heinsen/laws/visible_states.hpp"

namespace assay::properties::encodings::heinsen {
namespace {

// A lane of states and what is known of its direction once the allowances are taken off.
class direction {
 public:
  void add(double x, double allowed) {
    rises_ = rises_ || x - allowed > lowest_;
    falls_ = falls_ || x + allowed < highest_;
    lowest_ = std::min(lowest_, x + allowed);
    highest_ = std::max(highest_, x - allowed);
    known_ = known_ && std::isfinite(x) && std::isfinite(allowed);
  }
  [[nodiscard]] bool turns() const { return known_ && rises_ && falls_; }
  [[nodiscard]] bool moves() const { return known_ && (rises_ || falls_); }

 private:
  static constexpr double infinity_ = std::numeric_limits<double>::infinity();
  double lowest_ = infinity_, highest_ = -infinity_;  // of the largest and smallest values that the states may have
  bool rises_ = false, falls_ = false, known_ = true;
};

// The first token of the case, as often as the case has tokens.
test_case first_token_repeated(const test_case& c, std::size_t n) {
  test_case constant = c;
  constant.call.inputs = with_visible_states(core::restrict_axis(
      *c.call.operation, c.call.inputs, c.call.operation->recurrent->time_axis, std::vector<std::size_t>(n, 0)));
  return constant;
}

outcome check_constant_stream(implementation& under_test, const test_case& c) {
  const std::size_t n = sizes_of(c).at(c.call.operation->recurrent->time_axis);
  if (n < 2) return {status::uninformative};
  const auto seen = observe(under_test, first_token_repeated(c, n));
  if (!seen) return seen.error();
  bool informative = false;
  for (std::size_t row = 0; row < seen->batch; ++row)
    for (std::size_t j = 0; j < seen->features; ++j) {
      direction lane;
      lane.add(seen->initial[row * seen->features + j], 0.0);
      for (std::size_t i = 0; i < n; ++i) {
        lane.add(seen->value[seen->at(row, i, j)], seen->allowed[seen->at(row, i, j)]);
        if (lane.turns())
          return {status::failed,
                  fmt::format("the first token repeated: feature {} of row {} turns back at token {}, state {:.9g}, "
                              "allowed deviation {:.3g}",
                              j, row, i + 1, seen->value[seen->at(row, i, j)], seen->allowed[seen->at(row, i, j)])};
      }
      informative = informative || lane.moves();
    }
  return {informative ? status::passed : status::uninformative};
}

}  // namespace

property constant_stream_property() {
  return {"constant_stream",
          "under constant inputs every state moves one way: at most d + 1 sign patterns",
          shows_states,
          check_constant_stream,
          false,
          2};
}

}  // namespace assay::properties::encodings::heinsen
