// An encoding computed in plain arithmetic by a given scheme: mutants and controls are made this way.
#pragma once

#include <memory>

#include "reference/core/operation.hpp"
#include "reference/core/precisions.hpp"
#include "reference/formula_owner.hpp"
#include "reference/readings/rounded.hpp"

namespace assay::reference {

/// The steps of an encoding in plain arithmetic: of a template over the reading, or of a recorded program.
template <class Encoding>
struct plain_scheme_of {
  using type = typename Encoding::template scheme<rounded>;
};
template <class Encoding>
concept is_recorded = requires(typename Encoding::scheme steps) {
  steps.of_gradient;
};
template <is_recorded Encoding>
struct plain_scheme_of<Encoding> {
  using type = typename Encoding::scheme;
};
template <class Encoding>
using plain_scheme = typename plain_scheme_of<Encoding>::type;

/// The outputs of a call to a compiled encoding. Each stage is computed in its format, and outputs are rounded to
/// storage once.
template <class Encoding>
core::tensors run_scheme(const core::request& call, const plain_scheme<Encoding>& steps,
                         const core::precisions& formats);

/// The owner of an encoding whose programs are recorded by a scheme.
template <is_recorded Encoding>
std::unique_ptr<const formula_owner> owner_by_scheme(const typename Encoding::scheme& steps);

}  // namespace assay::reference
