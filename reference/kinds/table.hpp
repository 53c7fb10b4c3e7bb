// The kind of encodings that give every position, or every number of another input, a row of its own: row(x_i;
// parameters).
//
// Shapes: the first input [n], integers or real numbers; others as declared; one output [n, d], or [n] where a row is
// one number. A row depends on its own number alone. Columns that a formula leaves alone are 0.
//
// An operation of this kind is a function template over the reading R,
//   rows<R> formula(const arguments<R>& call, const recipe<R>& how)
// which makes of parameters and settings what all rows share.
// The gradient is derived, where an input has one.
#pragma once

#include <functional>
#include <utility>

#include "reference/derived_vjp.hpp"
#include "reference/kinds/declarations.hpp"
#include "reference/oracle.hpp"

namespace assay::reference {

template <class R>
struct rows {
  std::size_t columns;
  std::function<void(std::size_t i, R* row)> fill;  ///< the formula of row i
};
template <class Encoding, class R>
using formula_of_rows = rows<R>(const arguments<R>& call, const typename Encoding::template recipe<R>& how);

template <class Encoding, class R, formula_of_rows<Encoding, R>* formula>
fields<R> table_of_rows(const arguments<R>& call, const typename Encoding::template recipe<R>& how) {
  const core::operation& op = *find_operation(core::operation_name(call.operation).forward);
  const core::tensor_declaration &first = op.inputs.front(), &output = op.outputs.front();
  const std::size_t n = first.own_type ? call.integers.at(first.name).size() : call[first.name.c_str()].size();
  const rows<R> all = formula(call, how);
  field<R> table = output.axes.size() == 1 ? make_field<R>({n}) : make_field<R>({n, all.columns});
  for (std::size_t i = 0; i < n; ++i) all.fill(i, table.storage().data() + i * all.columns);
  return {{output.name, std::move(table)}};
}

/// The record of an operation of this kind. Rows are independent of one another.
template <class Encoding, class R, formula_of_rows<Encoding, R>* formula>
operation_record<R, typename Encoding::template recipe<R>> table_record(core::operation declaration) {
  using vjp = optional_evaluator<R, typename Encoding::template recipe<R>, not_differentiable_t>;
  const vjp of_rows = declaration.has_gradient() ? vjp(derived_vjp<Encoding, R>) : vjp(not_differentiable);
  declaration.independent = declaration.inputs.front().axes;
  return {.declaration = std::move(declaration),
          .algorithms = one_algorithm,
          .forward = table_of_rows<Encoding, R, formula>,
          .vjp = of_rows,
          .jvp = not_offered};
}

}  // namespace assay::reference
