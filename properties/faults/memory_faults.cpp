// Faults of memory: data that an earlier call left is used in place of data of this call.
#include <fmt/format.h>

#include <map>
#include <memory>

#include "properties/faults/declared_fault.hpp"

namespace assay::properties {
namespace {

/// The key by which a cache takes calls as equal; `count`: the number of calls before this one.
using cache_key = std::function<std::string(const request& call, std::size_t count)>;

std::string shape_key(const request& call) {
  std::string key(core::name_of(call.type));
  for (const auto& [name, t] : call.inputs) key += core::to_string(t.shape());
  return key;
}
std::string by_shape(const request& call, std::size_t) { return shape_key(call) + core::to_string(call.attributes); }
// Two buffers hold the inputs in turn: an address comes back with every second call.
std::string by_address(const request& call, std::size_t count) {
  return by_shape(call, count) + std::to_string(count % 2);
}
std::string by_first_elements(const request& call, std::size_t count) {
  std::string key = by_shape(call, count);
  for (const auto& [name, t] : call.inputs)
    if (t.size() > 0) key += fmt::format(" {:a}", t.values.storage()[0]);
  return key;
}
std::string without_settings(const request& call, std::size_t) {
  std::string key = shape_key(call);
  for (const auto& [name, t] : call.inputs)
    for (const double x : t.values.storage()) key += fmt::format(" {:a}", x);
  return key;
}

declared_fault cached_outputs(const core::operation& op, const char* what, const char* words, cache_key key_of) {
  declared_fault fault{&op, "call", what, words};
  fault.remembers = true;
  fault.make = [key_of]() -> faulty_call {
    struct memory {
      std::map<std::string, core::tensors> outputs;
      std::size_t calls = 0;
    };
    const auto known = std::make_shared<memory>();
    return [known, key_of](implementation& right, const request& call) -> call_result {
      const std::string key = key_of(call, known->calls++);
      if (const auto before = known->outputs.find(key); before != known->outputs.end()) {
        // Settings may fix a shape: outputs of other shapes cannot be used.
        if (core::check_outputs(*call.operation, call.type, core::sizes_of(call), before->second))
          return before->second;
      }
      call_result outputs = right.evaluate(call);
      if (outputs) known->outputs[key] = *outputs;
      return outputs;
    };
  };
  return fault;
}

// One output is that of the previous call, if the shapes are the same.
declared_fault stale(const core::operation& op, const core::tensor_declaration& d) {
  declared_fault fault{&op, d.name, "stale", d.name + " is that of the call before"};
  fault.remembers = true;
  fault.make = [name = d.name]() -> faulty_call {
    const auto before = std::make_shared<core::tensor>();
    return [before, name](implementation& right, const request& call) {
      call_result outputs = right.evaluate(call);
      if (!outputs) return outputs;
      core::tensor& now = outputs->at(name);
      const core::tensor right_one = now;
      if (before->type == now.type && before->shape() == now.shape()) now = *before;
      *before = right_one;
      return outputs;
    };
  };
  return fault;
}

// One input is the first one that was seen under the same key.
declared_fault cached_input(const core::operation& op, const core::tensor_declaration& d, bool by_first) {
  declared_fault fault{
      &op, d.name, by_first ? "cached_by_first_element" : "cached_by_shape",
      fmt::format("{} is read once for each {}", d.name, by_first ? "shape and first element" : "shape")};
  fault.remembers = true;
  fault.make = [name = d.name, by_first]() -> faulty_call {
    const auto known = std::make_shared<std::map<std::pair<core::shape, double>, core::tensor>>();
    return [known, name, by_first](implementation& right, const request& call) {
      request edited = call;
      core::tensor& t = edited.inputs.at(name);
      const double first = by_first && t.size() > 0 ? t.values.storage()[0] : 0.0;
      const auto [it, fresh] = known->try_emplace({t.shape(), first == first ? first : 0.0}, t);
      if (!fresh && it->second.type == t.type) t = it->second;
      return right.evaluate(edited);
    };
  };
  return fault;
}

}  // namespace

declared_fault_list memory_faults(const core::operation& op) {
  declared_fault_list all;
  if (!op.inputs.empty()) {
    all.push_back(cached_outputs(op, "cached_by_shape", "results are cached by shape", by_shape));
    all.push_back(
        cached_outputs(op, "cached_by_address", "results are cached by the address of the inputs", by_address));
    all.push_back(cached_outputs(op, "cached_by_first_elements",
                                 "results are cached by the first elements of the inputs", by_first_elements));
  }
  if (!op.attributes.empty())
    all.push_back(
        cached_outputs(op, "cached_without_settings", "results are cached whatever the settings", without_settings));
  for (const core::tensor_declaration& d : op.outputs) all.push_back(stale(op, d));
  for (const core::tensor_declaration& d : op.inputs)
    for (const bool by_first : {false, true}) all.push_back(cached_input(op, d, by_first));
  return all;
}

}  // namespace assay::properties
