// Tensors as the arrays of a program, and back.
#pragma once

#include "reference/formula/interpreter.hpp"
#include "reference/readings/all.hpp"

namespace assay::reference::formula {

/// Checks that the tensors are the inputs of the program, with its kinds and shapes.
core::result<void> check_inputs(const program& p, const core::tensors& inputs);

core::dtype type_of_output(number_kind kind, core::dtype storage);

/// An integer of an output as a number of a tensor; throws evaluation_error beyond 2^53.
double number_of(std::int64_t x);

/// Precondition: check_inputs accepts the inputs.
template <class R>
typename interpreter<R>::arrays lifted(const program& p, const core::tensors& inputs) {
  typename interpreter<R>::arrays all;
  for (const node_id k : p.inputs()) {
    const auto& values = inputs.at(p.nodes()[k].text).values;
    const auto each_as = [&](auto element) {
      std::vector<decltype(element(0.0))> made;
      for (const double x : values) made.push_back(element(x));
      return made;
    };
    array<R>& one = all[p.nodes()[k].text];
    switch (p.type_of(k).kind) {
      case number_kind::real:
        one = each_as([](double x) { return R(x); });
        break;
      case number_kind::integer:
        one = each_as([](double x) { return static_cast<std::int64_t>(x); });
        break;
      case number_kind::boolean:
        one = each_as([](double x) { return boost::tribool(x != 0.0); });
    }
  }
  return all;
}

template <class T>
xt::xarray<T> shaped(const core::shape& s, const std::vector<T>& values) {
  xt::xarray<T> all = xt::xarray<T>::from_shape(s);
  std::copy(values.begin(), values.end(), all.storage().begin());
  return all;
}

}  // namespace assay::reference::formula
