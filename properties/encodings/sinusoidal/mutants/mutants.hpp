// Wrong and right variants of sinusoidal encodings, to gate the gate.
#pragma once

#include "properties/faults/call_changes.hpp"
#include "properties/faults/recipe_variant.hpp"
#include "reference/encodings/sinusoidal.hpp"

namespace assay::properties::encodings::sinusoidal {

using R = reference::rounded;
using recipe = reference::encodings::sinusoidal::recipe<R>;
inline constexpr auto& changed_sinusoidal = make_variant<reference::encodings::sinusoidal>;

using gradient_recipe = gradient_steps<recipe>::type;
using G = gradient_recipe::number;

template <class Frequency>
recipe_change<recipe> with_frequency(Frequency frequency) {
  if constexpr (std::invocable<Frequency, const G&, std::size_t, std::size_t>)
    return [frequency](auto& how) { how.frequency = frequency; };
  else
    return [frequency](recipe& how) { how.frequency = frequency; };
}

std::vector<variant> mutants();
/// Those of gradients and of decay, which are among them.
std::vector<variant> function_mutants();
std::vector<variant> controls();

}  // namespace assay::properties::encodings::sinusoidal
