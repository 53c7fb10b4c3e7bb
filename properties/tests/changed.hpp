// Right code with a fault from a test, and what a diagnosis says about it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "properties/builtin.hpp"
#include "properties/diagnosis/diagnose.hpp"
#include "properties/tests/gating.hpp"
#include "reference/oracle.hpp"

namespace assay::properties::testing {

inline constexpr std::uint64_t probe_seed = 20240417;

/// Right code whose outputs are changed.
class changed final : public implementation {
 public:
  using change = std::function<void(const request& call, core::tensors& outputs)>;
  explicit changed(change edit) : right_(make_builtin("sequential").value()), edit_(std::move(edit)) {}
  [[nodiscard]] const description& describe() const override { return right_->describe(); }
  call_result evaluate(const request& call) override {
    call_result outputs = right_->evaluate(call);
    if (!outputs) return outputs;
    edit_(call, *outputs);
    for (auto& [name, t] : *outputs)
      for (double& x : t.values.storage()) x = core::round_to(t.type, x);
    return outputs;
  }

 private:
  std::unique_ptr<implementation> right_;
  change edit_;
};

/// Right code that uses other values of settings than requested, with the description that it declares.
class with_settings final : public implementation {
 public:
  with_settings(core::attributes taken, const std::function<void(description&)>& declare)
      : right_(make_builtin("sequential").value()), taken_(std::move(taken)), about_(right_->describe()) {
    declare(about_);
  }
  [[nodiscard]] const description& describe() const override { return about_; }
  call_result evaluate(const request& call) override {
    request other = call;
    for (const auto& [name, value] : taken_) other.attributes[name] = value;
    return right_->evaluate(other);
  }

 private:
  std::unique_ptr<implementation> right_;
  core::attributes taken_;
  description about_;
};

/// Adds to all outputs of calls with such sizes and settings.
inline changed::change wrong_with(
    const std::function<bool(const core::axis_sizes&, const core::attributes&)>& are_such) {
  return [are_such](const request& call, core::tensors& outputs) {
    if (!are_such(core::check_request(call).value(), core::completed(*call.operation, call.attributes))) return;
    for (auto& [name, t] : outputs)
      for (double& x : t.values.storage()) x += 0.25;
  };
}
/// The same for calls with such sizes, whatever the settings are.
inline changed::change wrong_where(const std::function<bool(const core::axis_sizes&)>& are_such) {
  return wrong_with([are_such](const core::axis_sizes& sizes, const core::attributes&) { return are_such(sizes); });
}

/// Returns the sentence for a failed case with these sizes, and with settings of these values.
inline std::string said_at(const changed::change& edit, const char* operation, const core::axis_sizes& sizes,
                           const setting_values& settings = {}, const char* family = "mild") {
  const core::operation& op = *reference::find_operation(operation);
  changed under_test(edit);
  const test_case shown = make_case({&op, core::dtype::f32, family, probe_seed, extent(sizes), settings});
  const diagnosis d = diagnose(under_test, op, core::dtype::f32, {{{&truth_property(op), shown}}, probe_seed});
  return d.explained.value_or("") + d.facts.value_or("");
}

}  // namespace assay::properties::testing
