// Operations whose outputs are made query by query, [B, h, n] and then what is made of one.
//
// The first input has the axes B, h and n. An operation of this sort is a class template over the reading R,
//   struct rows { using recipe = ...;                       the steps that variants replace
//     rows(const arguments<R>&, const recipe&);             what all queries share
//     std::vector<std::vector<R>> operator()(std::size_t block, std::size_t query) const; }
// which gives what stands of a query of a block, a head of a row, in each output, in the order of the declaration.
// Loops and the gradient are those of this file. The gradient is derived query by query: the tape holds the graph of
// one at a time, however many there are.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "reference/derived_vjp.hpp"
#include "reference/oracle.hpp"

namespace assay::reference {

/// Calls visit(number of the query among all, what is made of it).
template <class R, class Rows, class Visit>
void each_query(const arguments<R>& call, const core::operation& op, const Rows& formula, Visit visit) {
  const auto& shape = call.inputs.at(op.inputs.front().name).shape();
  for (std::size_t block = 0; block < shape[0] * shape[1]; ++block)
    for (std::size_t i = 0; i < shape[2]; ++i) visit(block * shape[2] + i, formula(block, i));
}

template <template <class> class Rows, class R>
fields<R> query_rows(const arguments<R>& call, const typename Rows<R>::recipe& how) {
  const core::operation& op = *find_operation(core::operation_name(call.operation).forward);
  core::axis_sizes sizes;
  for (const core::tensor_declaration& d : op.inputs)
    for (std::size_t k = 0; !d.own_type && k < d.axes.size(); ++k) sizes[d.axes[k]] = call.inputs.at(d.name).shape(k);
  fields<R> outputs;
  for (const core::tensor_declaration& d : op.outputs) outputs.emplace(d.name, make_field<R>(core::shape_of(d, sizes)));
  each_query(call, op, Rows<R>(call, how), [&](std::size_t number, std::vector<std::vector<R>> of_query) {
    for (std::size_t k = 0; k < op.outputs.size(); ++k)
      std::move(of_query[k].begin(), of_query[k].end(),
                outputs.at(op.outputs[k].name).data() + number * of_query[k].size());
  });
  return outputs;
}

/// See derived_vjp.hpp.
template <template <class> class Rows, class R>
fields<R> query_rows_vjp(const arguments<R>& call, const typename Rows<R>::recipe& how) {
  if constexpr (carries_derivatives<R>) {
    throw core::contract_violation("no second derivative of " + call.operation);
  } else {
    using number = adjoint<R>;
    using recipe = typename Rows<number>::recipe;
    const core::operation& op = *find_operation(core::operation_name(call.operation).forward);
    tape<R> graph;
    const lifted_inputs<R> lifted(call, op);
    const auto variables = graph.last();
    const recipe steps = how.of_gradient ? recipe(*how.of_gradient) : recipe{};
    const Rows<number> formula(lifted.in, steps);
    const auto shared = graph.last();
    each_query(lifted.in, op, formula, [&](std::size_t at, const std::vector<std::vector<number>>& of_query) {
      for (std::size_t k = 0; k < op.outputs.size(); ++k) {
        const R* g = call.inputs.at("grad_" + op.outputs[k].name).data() + at * of_query[k].size();
        for (const number& y : of_query[k]) graph.put(y.node, cotangent<R>(*g++));
      }
      graph.sweep(shared);
    });
    graph.sweep(variables);
    return lifted.gradients();
  }
}

/// The record of an operation of this sort.
template <template <class> class Rows, class R>
operation_record<R, typename Rows<R>::recipe> query_rows_record(core::operation declaration,
                                                                algorithm_list algorithms = one_algorithm) {
  using vjp = optional_evaluator<R, typename Rows<R>::recipe, not_differentiable_t>;
  const vjp of_rows = declaration.has_gradient() ? vjp(query_rows_vjp<Rows, R>) : vjp(not_differentiable);
  return {.declaration = std::move(declaration),
          .algorithms = std::move(algorithms),
          .forward = query_rows<Rows, R>,
          .vjp = of_rows,
          .jvp = not_offered};
}

}  // namespace assay::reference
