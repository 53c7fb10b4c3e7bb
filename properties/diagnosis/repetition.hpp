// Whether equal calls give equal outputs, bit by bit.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "properties/diagnosis/probes.hpp"

namespace assay::properties {

/// The implementation started anew; empty where that cannot be.
using fresh_start = std::function<std::unique_ptr<implementation>()>;

/// What is said of calls that differ.
struct unequal_calls {
  std::string sentence;
  /// By more than rounding explains; else they are other bits of outputs that are both right, or both wrong alike.
  bool matters = false;
};

/// Puts each call several times to the implementation, and again after the others.
std::optional<unequal_calls> repeated_in_process(implementation& under_test, const std::vector<test_case>& cases,
                                                 const fresh_start& fresh);

/// Puts the same calls to the implementation and to a fresh one.
std::optional<unequal_calls> repeated_in_fresh_process(implementation& under_test, const std::vector<test_case>& cases,
                                                       const fresh_start& fresh);

/// Passes calls on and keeps them.
class recorder final : public implementation {
 public:
  struct answered {
    request call;
    core::tensors outputs;
  };
  explicit recorder(implementation& inner) : inner_(inner) {}
  [[nodiscard]] const description& describe() const override { return inner_.describe(); }
  call_result evaluate(const request& call) override;
  /// The calls that gave outputs, in their order.
  [[nodiscard]] const std::vector<answered>& calls() const { return calls_; }

 private:
  implementation& inner_;
  std::vector<answered> calls_;
};

/// Calls of one operation that a cache or a state gets wrong, put to a fresh implementation, in their order.
std::vector<probe> session_of(implementation& fresh, const core::operation& op, const std::vector<test_case>& cases);

}  // namespace assay::properties
