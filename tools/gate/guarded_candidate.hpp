// The candidate as the gate calls it: with an end to patience, and open to interruption.
#pragma once

#include <functional>
#include <string>

#include "properties/harness/implementation.hpp"

namespace assay::tools {

/// Whether the program must be started anew after such a fault.
bool ends_the_program(properties::fault f);

/// Passes every call on until the candidate has broken too often: three hangs or 18 faults that end the program in
/// the whole run, or four of the latter in one part of it (an operation in a dtype). From then on nothing is asked
/// any more, so that a run ends in bounded time and no verdict rests on a call that was never made. A shard is a run of
/// its own here: it knows nothing of the others, and what it found is not thrown away where they are merged.
class guarded_candidate final : public properties::implementation {
 public:
  /// `before_and_after` each call, and may throw.
  guarded_candidate(properties::implementation& inner, std::function<void()> before_and_after)
      : inner_(inner), around_(std::move(before_and_after)) {}

  [[nodiscard]] const properties::description& describe() const override { return inner_.describe(); }
  properties::call_result evaluate(const properties::request& call) override;

  void begin_part() { faults_of_part_ = 0; }
  /// No further call will be made in this part, or in this run.
  [[nodiscard]] bool part_is_over() const;
  [[nodiscard]] bool run_is_over() const;
  /// "it hung 3 times", "it had to be started again 18 times: crash: ..."
  [[nodiscard]] std::string why_over() const;

 private:
  properties::implementation& inner_;
  std::function<void()> around_;
  int hangs_ = 0, faults_ = 0, faults_of_part_ = 0;
  properties::call_failure last_;
};

}  // namespace assay::tools
