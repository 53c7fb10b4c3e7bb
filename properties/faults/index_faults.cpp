// Faults of positions, distances and other exact integers.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "properties/faults/declared_fault.hpp"

namespace assay::properties {
namespace {

constexpr double table_length = 256;  // the length of a table in which a faulty program looks positions up

struct index_fault {
  const char* what;
  const char* words;
  double (*change)(double x);
};
constexpr index_fault faults_of_any_index[] = {
    {"one_off", "is one off", [](double x) { return x + 1; }},
    {"one_less", "is one too small", [](double x) { return x - 1; }},
    {"zeroed", "is 0 always", [](double) { return 0.0; }},
    {"doubled", "is twice what it should be", [](double x) { return 2 * x; }},
    {"negated", "has the wrong sign", [](double x) { return -x; }},
};
// Faults of indices that may be large.
constexpr index_fault faults_of_input_indices[] = {
    {"clamped", "is at most 255", [](double x) { return std::min(x, table_length - 1); }},
    {"wrapped", "begins anew at 256", [](double x) { return x - table_length * std::floor(x / table_length); }},
    {"in_bf16", "is held in bf16", [](double x) { return core::round_to(core::dtype::bf16, x); }},
    {"in_f16", "is held in f16",
     [](double x) { return core::round_to(core::dtype::f16, std::clamp(x, -65504.0, 65504.0)); }},
    {"in_i8", "is held in eight bits", [](double x) { return x - 256 * std::floor((x + 128) / 256); }},
};

void count(core::tensor& t) {
  const core::shape s = t.shape();
  for (std::size_t i = 0; i < t.size(); ++i) t.values.storage()[i] = static_cast<double>(i % s.back());
}

// Counts on from the first index of each row: the fault of code that takes indices as consecutive.
void count_on(core::tensor& t) {
  auto& x = t.values.storage();
  const std::size_t row = t.shape().back();
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = i % row == 0 ? x[i] : x[i - 1] + 1;
}

// Sets the coordinate on one of several axes to 0.
tensor_edit without_axis(std::size_t axis) {
  return [=](core::tensor& t) {
    for (std::size_t i = 0; i < t.size(); ++i)
      if (i % t.shape().back() == axis) t.values.storage()[i] = 0;
  };
}

// For positions with several coordinates, as in an image or a video.
void add_ignored_axes(declared_fault_list& all, const core::operation& op) {
  constexpr const char* counted[] = {"first", "second", "third"};
  for (const core::tensor_declaration& d : op.inputs) {
    if (d.role != core::input_role::position || d.axes.empty() ||
        core::role_of(op, d.axes.back()) != core::axis_role::parameter)
      continue;
    for (std::size_t k = 0; k < std::size(counted); ++k)
      all.push_back(fault_in(op, d, fmt::format("{}_ignored", counted[k]),
                             fmt::format("the {} axis of {} is ignored", counted[k], d.name), without_axis(k)));
  }
}

bool is_index(const core::tensor_declaration& d) { return d.own_type && !d.axes.empty(); }

// Changes all indices of a call together: a change of one of two alone is another fault.
declared_fault fault_in_all(const core::operation& op, const char* where, const char* what, const std::string& words,
                            tensor_edit edit) {
  std::vector<std::string> names;
  for (const core::tensor_declaration& d : op.inputs)
    if (is_index(d)) names.push_back(d.name);
  return fault_of_call(op, where, what,
                       fmt::format("{} {} {}", fmt::join(names, " and "), names.size() > 1 ? "are" : "is", words),
                       [names, edit](request& call) {
                         for (const std::string& name : names) edit(call.inputs.at(name));
                       });
}

}  // namespace

declared_fault_list index_faults(const core::operation& op) {
  declared_fault_list all;
  for (const core::tensor_declaration* d : tensors_of(op)) {
    if (!is_index(*d)) continue;
    const auto add = [&](const index_fault& fault) {
      all.push_back(fault_in(op, *d, fault.what, d->name + " " + fault.words, each_value(fault.change)));
    };
    for (const index_fault& fault : faults_of_any_index) add(fault);
    if (!is_output(op, *d) && d->domain.high >= table_length)
      for (const index_fault& fault : faults_of_input_indices) add(fault);
    all.push_back(fault_in(op, *d, "counted", d->name + " is counted from 0, whatever it is", count));
  }
  const auto indices = std::count_if(op.inputs.begin(), op.inputs.end(), is_index);
  if (indices > 0) all.push_back(fault_in_all(op, "call", "counted_on", "counted on from the first", count_on));
  for (const index_fault& fault : faults_of_input_indices)
    if (const std::string words = fault.words; indices > 1 && words.starts_with("is held "))
      all.push_back(fault_in_all(op, "positions", fault.what, words.substr(3), each_value(fault.change)));
  add_ignored_axes(all, op);
  return all;
}

}  // namespace assay::properties
