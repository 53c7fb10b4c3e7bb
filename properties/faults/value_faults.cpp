// Faults of the values of a tensor: dropped, of the wrong sign or size, missing from some position on.
#include <fmt/format.h>

#include <cmath>

#include "properties/faults/declared_fault.hpp"

namespace assay::properties {
namespace {

using core::tensor;

struct value_fault {
  const char* what;
  const char* words;
  double (*change)(double x);
};
constexpr value_fault faults_of_values[] = {
    {"zeroed", "is dropped: 0 always", [](double) { return 0.0; }},
    {"negated", "has the wrong sign", [](double x) { return -x; }},
    {"halved", "is half of what it should be", [](double x) { return x / 2; }},
    {"doubled", "is twice what it should be", [](double x) { return 2 * x; }},
};

// Sets the positions [first, last) of an axis to 0; `last` 0 means the end of the axis.
tensor_edit zeros_at_positions(std::size_t axis, std::size_t first, std::size_t last) {
  return [=](tensor& t) {
    const std::size_t n = t.shape()[axis], inner = core::stride_of(t.shape(), axis);
    for (std::size_t i = 0; i < t.size(); ++i)
      if (const std::size_t position = i / inner % n; position >= first && (last == 0 || position < last))
        t.values.storage()[i] = 0;
  };
}
tensor_edit last_lost(std::size_t axis) {
  return [=](tensor& t) {
    if (t.shape()[axis] > 0) zeros_at_positions(axis, t.shape()[axis] - 1, 0)(t);
  };
}

// All elements are off by 2^k u, or only the last one that is a number other than 0.
tensor_edit error_of(int k, bool relative, bool all) {
  return [=](tensor& t) {
    const double e = std::ldexp(core::unit_roundoff(t.type), k);
    for (std::size_t i = t.size(); i-- > 0;) {
      double& x = t.values.storage()[i];
      if (!std::isfinite(x) || (x == 0 && !all)) continue;
      x = core::round_to(t.type, relative ? x * (1 + e) : x + std::copysign(e, x));
      if (!all) return;
    }
  };
}

void add_errors(declared_fault_list& all, const core::operation& op, const core::tensor_declaration& d) {
  for (const bool relative : {true, false})
    for (const bool everywhere : {true, false})
      for (const int k : {3, 6, 9, 12}) {
        const char* kind = relative ? "relative" : "absolute";
        all.push_back(
            fault_in(op, d, fmt::format("{}_error_2^{}u_{}", kind, k, everywhere ? "everywhere" : "in_one"),
                     fmt::format("{} has {} errors of 2^{} u{}", d.name, kind, k, everywhere ? "" : " in one element"),
                     error_of(k, relative, everywhere)));
      }
}

void add_lost(declared_fault_list& all, const core::operation& op, const core::tensor_declaration& d) {
  for (std::size_t axis = 0; axis < d.axes.size(); ++axis) {
    const std::string& symbol = d.axes[axis];
    if (!varies(symbol)) continue;
    const core::axis_role role = core::role_of(op, symbol);
    const bool counts_tokens = role == core::axis_role::token || role == core::axis_role::key;
    if (counts_tokens) {
      all.push_back(fault_in(op, d, fmt::format("first_lost_along_{}_{}", symbol, axis),
                             fmt::format("the first element of {} along {} is lost", d.name, symbol),
                             zeros_at_positions(axis, 0, 1)));
      all.push_back(fault_in(op, d, fmt::format("last_lost_along_{}_{}", symbol, axis),
                             fmt::format("the last element of {} along {} is lost", d.name, symbol), last_lost(axis)));
    }
    if (!is_output(op, d)) continue;
    for (const std::size_t k : {1, 2, 16, 64}) {
      if (k > 2 && !counts_tokens) continue;
      all.push_back(fault_in(op, d, fmt::format("lost_from_{}_along_{}_{}", k, symbol, axis),
                             fmt::format("{} is 0 from position {} of {} on", d.name, k, symbol),
                             zeros_at_positions(axis, k, 0)));
    }
  }
}

// The output is an input of the same shape.
void add_echoes(declared_fault_list& all, const core::operation& op, const core::tensor_declaration& d) {
  for (const core::tensor_declaration& from : op.inputs)
    if (from.axes == d.axes && from.own_type == d.own_type)
      all.push_back(fault_of_outputs(op, d.name, "echo_of_" + from.name, d.name + " is an echo of " + from.name,
                                     [to = d.name, from = from.name](const request& call, core::tensors& outputs) {
                                       outputs.at(to) = call.inputs.at(from);
                                     }));
}

}  // namespace

declared_fault_list value_faults(const core::operation& op) {
  declared_fault_list all;
  for (const core::tensor_declaration* d : tensors_of(op)) {
    if (!d->own_type)
      for (const value_fault& fault : faults_of_values)
        all.push_back(fault_in(op, *d, fault.what, d->name + " " + fault.words, each_value(fault.change)));
    add_lost(all, op, *d);
    if (!is_output(op, *d)) continue;
    add_echoes(all, op, *d);
    if (!d->own_type) add_errors(all, op, *d);
  }
  return all;
}

}  // namespace assay::properties
