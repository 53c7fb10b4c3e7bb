#include "properties/faults/declared_faults.hpp"

#include <algorithm>

#include "properties/faults/scheme_variant.hpp"
#include "reference/oracle.hpp"

namespace assay::properties {
namespace {

/// A right implementation of one operation, with one fault.
class with_fault final : public implementation {
 public:
  with_fault(const declared_fault& fault, std::unique_ptr<implementation> right, std::string name)
      : right_(std::move(right)), about_(right_->describe()), operation_(fault.operation), faulty_(fault.make()) {
    about_.name = std::move(name);
    // The other operations are dropped: they are right, and nothing can be found there.
    std::erase_if(about_.operations, [&](const auto& offered) { return offered.first != fault.operation->name; });
  }
  [[nodiscard]] const description& describe() const override { return about_; }
  call_result evaluate(const request& call) override {
    if (call.operation != operation_) return right_->evaluate(call);
    request complete = call;
    complete.attributes = core::completed(*call.operation, call.attributes);
    return faulty_(*right_, complete);
  }

 private:
  std::unique_ptr<implementation> right_;
  description about_;
  const core::operation* operation_;
  faulty_call faulty_;
};

class plain final : public implementation {
 public:
  explicit plain(const std::string& encoding) : about_(description_of(encoding, "plain/" + encoding)) {
    about_.compute[core::dtype::f16] = about_.compute[core::dtype::bf16] = core::dtype::f32;
  }
  [[nodiscard]] const description& describe() const override { return about_; }
  call_result evaluate(const request& call) override {
    const core::dtype wide = about_.precisions_of(call).unit();
    if (wide == call.type) return reference::evaluate(call, reference::accuracy_class::sequential);
    request widened = call;
    widened.type = wide;
    for (const auto& d : call.operation->inputs)
      if (!d.own_type) widened.inputs.at(d.name) = core::cast(wide, call.inputs.at(d.name));
    core::tensors outputs = reference::evaluate(widened, reference::accuracy_class::sequential);
    for (const auto& d : call.operation->outputs)
      if (!d.own_type) outputs.at(d.name) = core::cast(call.type, outputs.at(d.name));
    return outputs;
  }

 private:
  description about_;
};

variant variant_with(const declared_fault& fault, std::string id, std::string models,
                     const std::function<std::unique_ptr<implementation>()>& right) {
  variant v{id, std::move(models), fault.operation->name + ": " + fault.words,
            [fault, right, id] { return std::make_unique<with_fault>(fault, right(), id); }};
  v.remembers = fault.remembers;
  v.answered = fault.answered;
  return v;
}

}  // namespace

declared_fault fault_in(const core::operation& op, const core::tensor_declaration& where, std::string what,
                        std::string words, tensor_edit edit) {
  const std::string name = where.name;
  if (is_output(op, where))
    return fault_of_outputs(op, name, std::move(what), std::move(words),
                            [name, edit](const request&, core::tensors& outputs) { edit(outputs.at(name)); });
  return fault_of_call(op, name, std::move(what), std::move(words),
                       [name, edit](request& call) { edit(call.inputs.at(name)); });
}

declared_fault fault_of_call(const core::operation& op, std::string where, std::string what, std::string words,
                             std::function<void(request&)> edit) {
  const auto answered = [edit = std::move(edit)](const request& call) {
    request edited = call;
    edit(edited);
    return core::check_request(edited) ? edited : call;
  };
  const faulty_call faulty = [answered](implementation& right, const request& call) {
    return right.evaluate(answered(call));
  };
  declared_fault fault{&op, std::move(where), std::move(what), std::move(words), [faulty] { return faulty; }};
  fault.answered = answered;
  return fault;
}

declared_fault fault_of_outputs(const core::operation& op, std::string where, std::string what, std::string words,
                                std::function<void(const request&, core::tensors&)> edit) {
  const faulty_call faulty = [edit = std::move(edit)](implementation& right, const request& call) {
    call_result outputs = right.evaluate(call);
    if (outputs) edit(call, *outputs);
    return outputs;
  };
  return {&op, std::move(where), std::move(what), std::move(words), [faulty] { return faulty; }};
}

tensor_edit each_value(std::function<double(double)> f) {
  return [f = std::move(f)](core::tensor& t) {
    for (double& x : t.values.storage()) x = core::round_to(t.type, f(x));
  };
}

std::vector<const core::tensor_declaration*> tensors_of(const core::operation& op) {
  std::vector<const core::tensor_declaration*> all;
  for (const auto* tensors : {&op.inputs, &op.outputs})
    for (const core::tensor_declaration& d : *tensors) all.push_back(&d);
  return all;
}

declared_fault_list declared_faults(const core::operation& op) {
  declared_fault_list all;
  for (auto* faults : {setting_faults, index_faults, axis_faults, value_faults, precision_faults, memory_faults})
    for (declared_fault& fault : faults(op)) all.push_back(std::move(fault));
  return all;
}

std::vector<variant> declared_mutants(const std::string& encoding,
                                      const std::function<std::unique_ptr<implementation>()>& right) {
  std::vector<variant> all;
  for (const core::operation& op : reference::operations()) {
    if (!op.name.starts_with(encoding + "/")) continue;
    for (const declared_fault& fault : declared_faults(op))
      all.push_back(variant_with(fault, fault.id(), "generated", right));
  }
  return all;
}

std::vector<variant> reported_faults(const std::vector<reported_fault>& reported) {
  std::vector<variant> all;
  for (const reported_fault& r : reported) {
    const std::string fault(r.fault), encoding = fault.substr(0, fault.find('/'));
    const core::operation* op = reference::find_operation(fault.substr(0, fault.find('/', encoding.size() + 1)));
    const declared_fault_list faults = op != nullptr ? declared_faults(*op) : declared_fault_list{};
    const auto found =
        std::find_if(faults.begin(), faults.end(), [&](const auto& f) { return f.id() == "generated/" + fault; });
    if (found == faults.end()) throw core::contract_violation("no declaration has the fault " + fault);
    all.push_back(variant_with(*found, r.id, r.report, [encoding] { return plain_implementation(encoding); }));
  }
  return all;
}

std::unique_ptr<implementation> plain_implementation(const std::string& encoding) {
  return std::make_unique<plain>(encoding);
}

}  // namespace assay::properties
