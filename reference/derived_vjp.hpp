// The vector-Jacobian product of an operation, derived from its formula: what the adjoint reading
// (readings/adjoint.hpp) makes of it. It has the allowance of reverse-mode differentiation of the formula as it is
// written, with sums in any order.
#pragma once

#include <algorithm>
#include <memory>

#include "reference/operation_record.hpp"
#include "reference/readings/adjoint.hpp"

namespace assay::reference {

/// What the recipe of an encoding with derived gradients is made of, besides its steps.
template <template <class> class Recipe, class R>
struct differentiable_recipe {
  using number = R;
  /// The steps of the gradient where they are not the standard ones: those of a wrong or other formula, which has the
  /// gradient that automatic differentiation makes of it.
  std::shared_ptr<const Recipe<adjoint<R>>> of_gradient{};
};
template <template <class> class Recipe, carries_derivatives D>
struct differentiable_recipe<Recipe, D> {
  using number = D;
};

/// The inputs of the function whose vjp a call asks for, as variables where they are differentiable.
template <class R>
struct lifted_inputs {
  arguments<adjoint<R>> in;
  std::map<std::string, typename tape<R>::node> first{};  ///< of each differentiable input

  lifted_inputs(const arguments<R>& call, const core::operation& function)
      : in{function.name, {}, call.settings, call.integers}, function_(function) {
    using number = adjoint<R>;
    for (const core::tensor_declaration& d : function.inputs) {
      if (d.own_type) continue;
      const field<R>& x = call.inputs.at(d.name);
      field<number> lifted = field<number>::from_shape(x.shape());
      for (std::size_t i = 0; i < x.size(); ++i)
        lifted.storage()[i] = d.differentiable ? number::variable(x.storage()[i]) : number(x.storage()[i]);
      if (d.differentiable) first.emplace(d.name, tape<R>::current().last() + 1 - static_cast<unsigned>(x.size()));
      in.inputs.emplace(d.name, std::move(lifted));
    }
    const auto take_sizes = [&](const core::tensor_declaration& d, const std::string& name) {
      if (const auto x = call.inputs.find(name); x != call.inputs.end())
        for (std::size_t k = 0; k < d.axes.size(); ++k) sizes_.emplace(d.axes[k], x->second.shape()[k]);
    };
    for (const core::tensor_declaration& d : function.inputs) take_sizes(d, d.name);
    for (const core::tensor_declaration& d : function.outputs) take_sizes(d, "grad_" + d.name);
  }
  /// What has reached them.
  [[nodiscard]] fields<R> gradients() const {
    fields<R> all;
    for (const auto& [name, variable] : first) {
      field<R> grad = field<R>::from_shape(in.inputs.at(name).shape());
      const positions_added along = added_to(*function_.input(name));
      for (std::size_t i = 0; i < grad.size(); ++i)
        grad.storage()[i] = tape<R>::current().gradient(variable + static_cast<unsigned>(i), along);
      all.emplace("grad_" + name, std::move(grad));
    }
    return all;
  }

 private:
  // The axes of the call that an input has not.
  [[nodiscard]] positions_added added_to(const core::tensor_declaration& d) const {
    positions_added along;
    for (const auto& [axis, size] : sizes_) {
      if (std::ranges::find(d.axes, axis) != d.axes.end() || size == 0) continue;
      along.axis_by_axis += static_cast<double>(size) - 1.0;
      along.in_all *= static_cast<double>(size);
    }
    return along;
  }

  const core::operation& function_;
  std::map<std::string, std::size_t> sizes_{};  // of the axes as they are declared
};

/// Stands for the evaluator of a vjp. Derivatives of derivatives are none: nothing asks for them.
template <class Encoding, class R>
fields<R> derived_vjp(const arguments<R>& call, const typename Encoding::template recipe<R>& how) {
  if constexpr (carries_derivatives<R>) {
    throw core::contract_violation("no second derivative of " + call.operation);
  } else {
    const auto& record = record_of<Encoding, adjoint<R>>(core::operation_name(call.operation).forward);
    tape<R> graph;
    const lifted_inputs<R> lifted(call, record.declaration);
    const auto variables = graph.last();
    using steps = typename Encoding::template recipe<adjoint<R>>;
    for (const auto& [name, y] : record.forward(lifted.in, how.of_gradient ? *how.of_gradient : steps{})) {
      const field<R>& g = call.inputs.at("grad_" + name);
      for (std::size_t i = 0; i < y.size(); ++i) graph.put(y.storage()[i].node, cotangent<R>(g.storage()[i]));
    }
    graph.sweep(variables);
    return lifted.gradients();
  }
}

}  // namespace assay::reference
