// Outputs that know nothing of the recurrence, or of the present token: zero, constant, shuffled, the
// previous step, an input echoed, noise. A check that lets one of them pass checks nothing (vacuous
// tolerances happened: Xilinx/mlir-air#1427).
#include <algorithm>

#include "properties/builtin.hpp"
#include "properties/harness/verdict.hpp"

namespace assay::properties {
namespace {

using spoiler = core::tensors (*)(const request& call, const core::tensors& truth);

class anti_oracle final : public implementation {
 public:
  anti_oracle(std::string name, spoiler spoil) : spoil_(spoil) {
    about_.name = std::move(name);
    about_.version = "1";
    about_.deterministic = true;
    for (const core::operation& op : reference::operations())
      about_.operations[op.name].assign(std::begin(core::floating_dtypes), std::end(core::floating_dtypes));
  }
  [[nodiscard]] const description& describe() const override { return about_; }
  call_result evaluate(const request& call) override {
    core::tensors truth;
    for (auto& [name, c] : reference::truth_of(call)) truth.emplace(name, std::move(c.rounded));
    return spoil_(call, truth);
  }

 private:
  description about_;
  spoiler spoil_;
};

core::tensors filled(const core::tensors& like, double x) {
  core::tensors out = like;
  for (auto& [name, t] : out)
    for (double& value : t.values.storage()) value = x;
  return out;
}

core::tensors zero(const request&, const core::tensors& truth) { return filled(truth, 0.0); }
core::tensors constant(const request&, const core::tensors& truth) { return filled(truth, 0.5); }
core::tensors reversed(const request&, const core::tensors& truth) {
  core::tensors out = truth;
  for (auto& [name, t] : out) std::reverse(t.values.storage().begin(), t.values.storage().end());
  return out;
}
core::tensors one_step_late(const request& call, const core::tensors& truth) { return previous_step(call, truth); }
core::tensors input_echo(const request& call, const core::tensors& truth) {
  if (call.inputs.empty()) return zero(call, truth);
  core::tensors out = truth;
  for (auto& [name, t] : out) {
    const core::tensor* echoed = &call.inputs.begin()->second;
    for (const auto& [input, given] : call.inputs)
      if (given.shape() == t.shape()) echoed = &given;
    const auto& given = echoed->values.storage();
    for (std::size_t i = 0; i < t.size() && !given.empty(); ++i) t.values.storage()[i] = given[i % given.size()];
  }
  return out;
}
core::tensors noise(const request&, const core::tensors& truth) {
  core::tensors out = truth;
  core::counter_random random(7);
  for (auto& [name, t] : out)
    for (double& x : t.values.storage()) x = core::round_to(t.type, random.normal());
  return out;
}

variant entry(const char* id, const char* summary, spoiler spoil) {
  return {id, "knows nothing of the task", summary, [=] { return std::make_unique<anti_oracle>(id, spoil); }};
}

}  // namespace

std::vector<variant> anti_oracles() {
  return {entry("anti/zero", "zeros", zero),
          entry("anti/constant", "0.5 everywhere", constant),
          entry("anti/shuffled", "the truth in reverse order", reversed),
          entry("anti/previous_step", "the truth one step late", one_step_late),
          entry("anti/input_echo", "an input, over and over where none has the shape", input_echo),
          entry("anti/noise", "random numbers of order 1", noise)};
}

}  // namespace assay::properties
