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

/// Puts each call several times to the implementation, then all of them in this order and in the reverse one. Calls
/// that it declines say nothing; one that it answers once and once not counts as other outputs.
std::optional<unequal_calls> repeated_in_process(implementation& under_test, const std::vector<test_case>& cases,
                                                 const fresh_start& fresh);

/// Puts the same calls to the implementation and to a fresh one, to both in this order and in the reverse one: of two
/// calls each comes before the other once.
std::optional<unequal_calls> repeated_in_fresh_process(implementation& under_test, const std::vector<test_case>& cases,
                                                       const fresh_start& fresh);

/// The case with one axis after another larger, and with all of them, as far as the implementation answers: what a
/// larger call leaves behind shows where the case comes after it.
std::vector<test_case> larger_than(const test_case& c, implementation& under_test, std::uint64_t seed);

/// The dtype of a call after which the case is wrong in a fresh process, where it is right as the first call and after
/// itself; nothing where there is none, or where no process can be started.
std::optional<core::dtype> wrong_after_dtype(const test_case& c, const description& about, const fresh_start& fresh);

/// "wrong in f32 after a call in bf16: state of the first dtype is kept".
std::string first_dtype_words(core::dtype wrong, core::dtype first);

/// Whether the case is right as the first call of a fresh process, and wrong when it is put to it again.
bool wrong_after_itself(const test_case& c, const description& about, const fresh_start& fresh);

/// What is said of that.
std::string after_itself_words();

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
