// An encoding computed in plain arithmetic by a given recipe: mutants and controls are made this way.
#pragma once

#include <memory>

#include "reference/core/operation.hpp"
#include "reference/core/precisions.hpp"
#include "reference/formula_owner.hpp"
#include "reference/readings/rounded.hpp"

namespace assay::reference {

/// The steps of an encoding in plain arithmetic: of a template over the reading, or of a recorded program.
template <class Encoding>
struct plain_recipe_of {
  using type = typename Encoding::template recipe<rounded>;
};
template <class Encoding>
concept is_recorded = requires(typename Encoding::recipe steps) {
  steps.of_gradient;
};
template <is_recorded Encoding>
struct plain_recipe_of<Encoding> {
  using type = typename Encoding::recipe;
};
template <class Encoding>
using plain_recipe = typename plain_recipe_of<Encoding>::type;

/// The outputs of a call to a compiled encoding. Each stage is computed in its format, and outputs are rounded to
/// storage once.
template <class Encoding>
core::tensors run_recipe(const core::request& call, const plain_recipe<Encoding>& steps,
                         const core::precisions& formats);

/// The owner of an encoding whose programs are recorded by a recipe.
template <is_recorded Encoding>
std::unique_ptr<const formula_owner> owner_by_recipe(const typename Encoding::recipe& steps);

}  // namespace assay::reference
