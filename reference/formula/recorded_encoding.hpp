// Encodings of the list whose formulas are programs.
//
// Such an encoding is a type with
//   name, summary()  as a list has it
//   recipe           the steps of its formulas, which algorithms and mutants replace: a recorded_recipe
//   formulas()       its operations
// and, where these have several algorithms, algorithm(c).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "reference/formula/owner.hpp"
#include "reference/formula/recording.hpp"

namespace assay::reference {

template <class Recipe>
struct recorded_recipe {
  /// The steps of the gradient where they are not the standard ones (derived_vjp.hpp).
  std::shared_ptr<const Recipe> of_gradient{};
};

/// An operation of such an encoding, recorded by a recipe.
template <class Recipe>
struct recorded_formula {
  core::operation declaration;
  std::function<formula::program(const Recipe& how, const formula::program_sizes& sizes)> record;
  std::vector<accuracy_class> algorithms{accuracy_class::sequential};

  [[nodiscard]] formula::recorded_operation by(std::function<Recipe(accuracy_class)> recipe_of) const {
    return {declaration,
            [record = record, recipe_of = std::move(recipe_of)](const formula::program_sizes& sizes) {
              return record(recipe_of(sizes.algorithm), sizes);
            },
            algorithms};
  }
};

template <class Encoding>
typename Encoding::recipe recorded_algorithm(accuracy_class c) {
  if constexpr (requires { Encoding::algorithm(c); })
    return Encoding::algorithm(c);
  else
    return {};
}

template <class Encoding>
std::vector<formula::recorded_operation> recorded_operations() {
  std::vector<formula::recorded_operation> all;
  for (const auto& f : Encoding::formulas()) all.push_back(f.by(recorded_algorithm<Encoding>));
  return all;
}

/// Of the recipe of a variant. A contract violation where the encoding has no such operation.
template <class Encoding>
core::tensors run_recorded(const core::request& call, const typename Encoding::recipe& how,
                           const core::precisions& formats) {
  const core::operation_name name(call.operation->name);
  for (const auto& f : Encoding::formulas()) {
    if (f.declaration.name != name.forward) continue;
    const bool is_forward = call.operation->is_forward();
    const auto steps = is_forward ? how : how.of_gradient ? *how.of_gradient : typename Encoding::recipe{};
    return formula::evaluate_recorded(f.by([&](accuracy_class) { return steps; }), call, formats);
  }
  throw core::contract_violation("no formula for the operation '" + call.operation->name + "'");
}

}  // namespace assay::reference
