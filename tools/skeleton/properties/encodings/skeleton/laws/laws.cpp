#include "properties/encodings/skeleton/laws/laws.hpp"

#include <cmath>

#include "properties/laws/relations/relations.hpp"

namespace assay::properties::encodings::skeleton {
namespace {

// The case with x multiplied by a factor; exact for powers of two.
test_case with_x_times(const test_case& c, double factor) {
  test_case other = c;
  for (double& x : other.call.inputs.at("x").values.storage()) x = core::round_to(c.call.type, factor * x);
  return other;
}

// y is an affine function of x. The three outputs carry their allowed errors.
void check_linear(experiment& e) {
  const numbers once(e.call(), "y"), back(e.call(with_x_times(e.c, -2.0)), "y"),
      none(e.call(with_x_times(e.c, 0.0)), "y");
  for (std::size_t i = 0; i < once.size(); ++i)
    e.equal(exactly(3) * none[i], back[i] + exactly(2) * once[i], std::fabs(back.x[i]),
            "3 y(0) and y(-2x) + 2 y(x), element {}", i);
}

}  // namespace

/// Each law must kill a mutant. A law that holds for other encodings too belongs in properties/laws, without a name.
std::vector<property> laws() {
  return {law("skeleton_linear", "y(-2x) + 2 y(x) = 3 y(0)", {{"skeleton/scale"}, {"mild", "special_values"}},
              {3, check_linear})};
}

}  // namespace assay::properties::encodings::skeleton
