// Wrong and right variants of sinusoidal encodings, to gate the gate.
#pragma once

#include "properties/faults/call_changes.hpp"
#include "properties/faults/recipe_variant.hpp"
#include "reference/encodings/sinusoidal.hpp"

namespace assay::properties::encodings::sinusoidal {

using R = reference::rounded;
using recipe = reference::encodings::sinusoidal::recipe<R>;
inline constexpr auto& changed_sinusoidal = make_variant<reference::encodings::sinusoidal>;

inline recipe_change<recipe> with_frequency(R (*frequency)(const R& base, std::size_t step, std::size_t steps)) {
  return [frequency](recipe& how) { how.frequency = frequency; };
}

std::vector<variant> mutants();
/// Those of gradients and of decay, which are among them.
std::vector<variant> function_mutants();
std::vector<variant> controls();

}  // namespace assay::properties::encodings::sinusoidal
