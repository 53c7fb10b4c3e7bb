// The candidate as the gate calls it: with limits on its faults, and interruptible.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "properties/harness/implementation.hpp"
#include "tools/gate/call_times.hpp"
#include "tools/gate/size_limits.hpp"

namespace assay::tools {

/// Whether the program must be restarted after such a fault.
bool ends_the_program(properties::fault f);

/// Seconds of a clock that never goes back.
double steady_seconds();

/// Passes every call on until the candidate has failed too often: three hangs or 18 faults that end the program in the
/// whole run, or four of the latter in one part of it (an operation in a dtype). After that nothing is asked any more,
/// so a run ends in bounded time and no verdict depends on a call that was never made. A shard counts as a run here: it
/// does not know the others, and its findings are kept when they are merged.
///
/// A call that is ended at its time limit counts as declined, and not as a hang, in two cases: the times of earlier
/// calls let expect it (call_times), or the call is larger than all answered calls and may be slow because of its size.
/// The same holds for a call that meets the memory limit (size_limits). Calls of that size are then not made; no other
/// part is affected.
class guarded_candidate final : public properties::implementation {
 public:
  /// `before_and_after` runs before and after each call, and may throw. `limit`: seconds that a call may take;
  /// `memory`: bytes.
  guarded_candidate(properties::implementation& inner, std::function<void()> before_and_after,
                    double limit = std::numeric_limits<double>::infinity(),
                    std::function<double()> now = steady_seconds, double memory = 0x1p32)
      : inner_(inner),
        around_(std::move(before_and_after)),
        now_(std::move(now)),
        limit_(limit),
        memory_(memory),
        times_(limit) {}

  [[nodiscard]] const properties::description& describe() const override { return inner_.describe(); }
  properties::call_result evaluate(const properties::request& call) override;

  void begin_part() { faults_of_part_ = 0; }
  /// Whether no further call will be made in this part, or in this run.
  [[nodiscard]] bool part_is_over() const;
  [[nodiscard]] bool run_is_over() const;
  /// "it hung 3 times", "it had to be started again 18 times, the last time after crash: ..."
  [[nodiscard]] std::string why_over() const;

  /// Whether the call would clearly exceed the limit, or is as large as one that met it: then it must not be made.
  bool would_outlast(const properties::request& call);
  /// The calls of an operation in a dtype that were not made, or not waited for; one sentence for each axis: "not tried
  /// beyond n = 65537: a call takes about 40 us for each of n, and with n = 1000003 it would outlast the 30 s that a
  /// call may take".
  [[nodiscard]] std::vector<std::string> too_slow(const core::operation& op, core::dtype type) const;

 private:
  struct slow_axis {
    expected_time expected;
    std::size_t size = 0;  ///< the smallest size that was not tried
  };
  [[nodiscard]] std::optional<std::string> limit_met(const properties::request& call,
                                                     const properties::call_failure& failure) const;
  void note_slow(const properties::request& call, const expected_time& t);

  properties::implementation& inner_;
  std::function<void()> around_;
  std::function<double()> now_;
  double limit_, memory_;
  call_times times_;
  size_limits sizes_{};
  std::set<std::string> warm_{};  ///< operations with an answered call since the program was started
  std::map<std::pair<std::string, core::dtype>, std::map<std::string, slow_axis>> slow_{};  ///< by axis
  int hangs_ = 0, faults_ = 0, faults_of_part_ = 0;
  properties::call_failure last_;
};

}  // namespace assay::tools
