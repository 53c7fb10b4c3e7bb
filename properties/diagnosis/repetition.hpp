// Whether equal calls give equal outputs, bit by bit.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "properties/diagnosis/probes.hpp"

namespace assay::properties {

/// Starts the implementation anew; empty if that is not possible.
using fresh_start = std::function<std::unique_ptr<implementation>()>;

/// The words about equal calls that differ.
struct unequal_calls {
  std::string sentence;
  /// They differ by more than rounding explains. If false, the bits differ, but both outputs are right or both are
  /// wrong alike.
  bool matters = false;
};

/// Puts each call several times to the implementation, then all of them in this order and in the reverse order. Calls
/// that it declines say nothing. A call that is answered once and not the next time counts as different outputs.
std::optional<unequal_calls> repeated_in_process(implementation& under_test, const std::vector<test_case>& cases,
                                                 const fresh_start& fresh);

/// Puts the same calls to the implementation and to a fresh one, to both in this order and in the reverse order: of any
/// two calls, each comes once before the other.
std::optional<unequal_calls> repeated_in_fresh_process(implementation& under_test, const std::vector<test_case>& cases,
                                                       const fresh_start& fresh);

/// The case with one axis after another larger, and with all of them larger, as far as the implementation answers. If a
/// larger call leaves something behind, it shows when the case comes after it.
std::vector<test_case> larger_than(const test_case& c, implementation& under_test, std::uint64_t seed);

/// The dtype of a call after which the case is wrong in a fresh process, although it is right as the first call and
/// after itself. Nothing if there is no such dtype, or if no process can be started.
std::optional<core::dtype> wrong_after_dtype(const test_case& c, const description& about, const fresh_start& fresh);

/// "wrong in f32 after a call in bf16: state of the first dtype is kept".
std::string first_dtype_words(core::dtype wrong, core::dtype first);

/// Whether the case is right as the first call of a fresh process, and wrong when it is repeated.
bool wrong_after_itself(const test_case& c, const description& about, const fresh_start& fresh);

/// The words for a case that is wrong after itself.
std::string after_itself_words();

/// An implementation that passes calls on and records them.
class recorder final : public implementation {
 public:
  struct answered {
    request call;
    core::tensors outputs;
  };
  explicit recorder(implementation& inner) : inner_(inner) {}
  [[nodiscard]] const description& describe() const override { return inner_.describe(); }
  call_result evaluate(const request& call) override;
  /// The calls that gave outputs, in order.
  [[nodiscard]] const std::vector<answered>& calls() const { return calls_; }

 private:
  implementation& inner_;
  std::vector<answered> calls_;
};

/// The calls of one operation that the laws "recomputation" and "repeat" make of these cases, put to a fresh
/// implementation in their order: a cache or kept state makes some of them wrong.
std::vector<probe> session_of(implementation& fresh, const core::operation& op, const std::vector<test_case>& cases);

}  // namespace assay::properties
