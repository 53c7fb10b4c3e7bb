// Constant inputs cannot count. With constant p and h, X_i - X* = p^i (X_0 - X*), X = e^s: every feature moves in one
// direction and changes its sign at most once, so d features show at most d + 1 sign patterns (derived here).
#include <algorithm>
#include <cmath>
#include <limits>

#include "properties/encodings/heinsen/laws/laws.hpp"
#include "properties/encodings/heinsen/laws/visible_states.hpp"

namespace assay::properties::encodings::heinsen {
namespace {

// A lane of states, and what is known about its direction after the allowances are taken off.
class direction {
 public:
  void add(approximate x) {
    const double low = x.value - x.error, high = x.value + x.error;
    rises_ = rises_ || low > lowest_;
    falls_ = falls_ || high < highest_;
    lowest_ = std::min(lowest_, high);
    highest_ = std::max(highest_, low);
    known_ = known_ && std::isfinite(x.value) && std::isfinite(x.error);
  }
  [[nodiscard]] bool turns() const { return known_ && rises_ && falls_; }
  [[nodiscard]] bool moves() const { return known_ && (rises_ || falls_); }

 private:
  static constexpr double infinity_ = std::numeric_limits<double>::infinity();
  // For the largest and the smallest values that the states may have.
  double lowest_ = infinity_, highest_ = -infinity_;
  bool rises_ = false, falls_ = false, known_ = true;
};

// The first token of the case, repeated as often as the case has tokens.
test_case first_token_repeated(const test_case& c, std::size_t n) {
  test_case constant = c;
  constant.call.inputs = with_visible_states(core::restrict_axis(
      *c.call.operation, c.call.inputs, c.call.operation->recurrent->time_axis, std::vector<std::size_t>(n, 0)));
  return constant;
}

void check_constant_stream(experiment& e) {
  const std::size_t n = sizes_of(e.c).at(e.c.call.operation->recurrent->time_axis);
  e.needs(n > 1);
  const visible_states seen = observe(e, first_token_repeated(e.c, n));
  for (std::size_t row = 0; row < seen.batch; ++row)
    for (std::size_t j = 0; j < seen.features; ++j) {
      direction lane;
      lane.add(exactly(seen.initial[row * seen.features + j]));
      for (std::size_t i = 0; i < n; ++i) {
        const approximate s = seen.at(row, i, j);
        lane.add(s);
        if (lane.turns())
          e.wrong(
              fmt::format("the first token repeated: feature {} of row {} turns back at token {}, state {:.9g}, "
                          "allowed deviation {:.3g}",
                          j, row, i + 1, s.value, s.error));
      }
      e.count(lane.moves());
    }
}

}  // namespace

property constant_stream_law() {
  return law("constant_stream", "under constant inputs every state moves one way: at most d + 1 sign patterns",
             what_shows_states(), {2, check_constant_stream});
}

}  // namespace assay::properties::encodings::heinsen
