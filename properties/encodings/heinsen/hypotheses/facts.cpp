// The sentence for each family of inputs that gives wrong outputs.
#include "properties/encodings/heinsen/hypotheses/hypotheses.hpp"

namespace assay::properties::encodings::heinsen {

std::vector<family_fact> family_facts() {
  const std::map<std::set<std::string>, std::string> by_inputs{
      {{"h"}, "h = -inf gives"},
      {{"log_p"}, "log p = -inf gives"},
      {{"s0"}, "s0 = -inf gives"},
      {{"h", "log_p"}, "h = -inf together with log p = -inf gives"}};
  return {{.family = "infinite_prefix", .gives = "a -inf prefix gives", .gives_by_inputs = by_inputs},
          {.family = "infinite_inside", .gives = "h = -inf or log p = -inf gives", .gives_by_inputs = by_inputs},
          {"large_h", "large |h| gives", "large |h| gives infinities: something overflows"},
          {"late_spike", "a late spike of h gives",
           "a late spike of h gives infinities: it overflows, or wipes out what came before"},
          {"neutral_padding", "neutral elements (0, -inf) give", "", "neutral elements (0, -inf) change the state"},
          {"extreme_gates", "decays beyond the exponent range give"},
          {"no_decay", "gates at 1 (log p = 0, or nearly) give"},
          {"gates_near_one", "gates near 1 give"},
          {"gates_near_zero", "gates near 0 give"},
          {"special_values", "special values (zeros, ends of the domain and of the formats) give"}};
}

}  // namespace assay::properties::encodings::heinsen
