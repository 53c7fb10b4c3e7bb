#include "properties/builtin.hpp"

#include <algorithm>

#include "optimized/operations.hpp"
#include "properties/harness/certified_implementation.hpp"
#include "reference/oracle.hpp"

namespace assay::properties {
namespace {

class optimized_implementation final : public implementation {
 public:
  optimized_implementation() {
    about_.name = "optimized";
    about_.version = "1";
    about_.deterministic = true;
    for (const optimized::routine& r : optimized::routines())
      std::copy_if(std::begin(core::floating_dtypes), std::end(core::floating_dtypes),
                   std::back_inserter(about_.operations[r.name]), [&](core::dtype type) { return r.takes(type); });
  }
  [[nodiscard]] const description& describe() const override { return about_; }
  call_result evaluate(const request& call) override {
    auto outputs = optimized::evaluate(call.operation->name, call.type, call.inputs,
                                       core::completed(*call.operation, call.attributes));
    if (!outputs) return tl::make_unexpected(call_failure{fault::error_reply, outputs.error().message});
    return std::move(*outputs);
  }

 private:
  description about_;
};

// There is no answer at log p = -inf: inf - inf. Automatic differentiation of prefix sums has none at h = -inf either.
std::map<std::string, declared_domain> finite_inputs(const core::operation& op) {
  std::map<std::string, declared_domain> all;
  for (const core::tensor_declaration& d : op.inputs)
    if (d.summed_over_time || d.domain.minus_infinity) all[d.name] = {};
  if (reference::forward_of(op).recurrent) all["state"] = {};
  return all;
}

// Whether the operation sums numbers that it computes itself (log p of a module, logits of queries and keys). No domain
// of an input keeps such sums from overflowing: sums in f16 end at 65504.
bool sums_what_no_input_holds(const core::operation& op) {
  const auto& algorithms = reference::algorithms_of(op);
  const core::operation& forward = reference::forward_of(op);
  return std::find(algorithms.begin(), algorithms.end(), reference::accuracy_class::cumsum) != algorithms.end() &&
         std::none_of(forward.inputs.begin(), forward.inputs.end(),
                      [](const core::tensor_declaration& d) { return d.summed_over_time; });
}

// One algorithm in the plain arithmetic of the dtype.
class algorithm_implementation final : public implementation {
 public:
  explicit algorithm_implementation(reference::accuracy_class algorithm) : algorithm_(algorithm) {
    about_ = describes_every_operation(std::string(name_of(algorithm)));
    if (algorithm == reference::accuracy_class::cumsum)
      for (const core::operation& op : reference::operations()) {
        about_.domain[op.name] = finite_inputs(op);
        if (sums_what_no_input_holds(op)) std::erase(about_.operations[op.name], core::dtype::f16);
      }
  }
  [[nodiscard]] const description& describe() const override { return about_; }
  call_result evaluate(const request& call) override { return reference::evaluate(call, algorithm_); }

 private:
  reference::accuracy_class algorithm_;
  description about_;
};

std::vector<variant> all_variants() {
  std::vector<variant> all = anti_oracles();
  for (const encoding_tests& tests : all_encoding_tests()) {
    all.insert(all.end(), tests.mutants.begin(), tests.mutants.end());
    all.insert(all.end(), tests.controls.begin(), tests.controls.end());
  }
  return all;
}

}  // namespace

std::vector<builtin> builtins() {
  std::vector<builtin> all{{"optimized", "vectorised and threaded"},
                           {"reference", "the certified truth, rounded once"}};
  for (const auto c : reference::accuracy_classes)
    if (c != reference::accuracy_class::uniform)
      all.push_back({std::string(name_of(c)), "the algorithm of that class in plain arithmetic of the dtype"});
  for (const variant& v : all_variants()) all.push_back({v.id, v.summary + " (" + v.models + ")"});
  return all;
}

core::result<std::unique_ptr<implementation>> make_builtin(const std::string& name) {
  if (name == "optimized") return std::make_unique<optimized_implementation>();
  if (name == "reference") return std::make_unique<certified_implementation>();
  const auto algorithm = reference::accuracy_class_named(name);
  if (algorithm && *algorithm != reference::accuracy_class::uniform)
    return std::make_unique<algorithm_implementation>(*algorithm);
  for (const variant& v : all_variants())
    if (v.id == name) return v.make();
  return core::failure("there is no builtin '" + name + "'");
}

}  // namespace assay::properties
