// The plain arithmetic of a format rounds after every operation, whatever the compiler does with the code.
#include "reference/readings/rounded.hpp"

#include <catch2/catch.hpp>

#include "reference/core/counter_random.hpp"
#include "reference/oracle.hpp"

using namespace assay;
using namespace assay::reference;
using core::dtype;

TEST_CASE("reference/rounded/every_operation_rounds", "[unit]") {
  // x cos - y sin and x sin + y cos in float, with each operation stored. From straight-line code of a rotation, GCC 12
  // at -O2 made code without the roundings of the products.
  const core::operation& op = *find_operation("rope/rotate");
  core::counter_random random(7);
  for (int k = 0; k < 500; ++k) {
    const float x = static_cast<float>(random.normal()), y = static_cast<float>(random.normal());
    const double position = static_cast<double>(random.below(1000));
    const core::tensors in{{"x", core::make_tensor(dtype::f32, {1, 1, 1, 2}, {x, y})},
                           {"position", core::make_tensor(dtype::i64, {1, 1}, {position})}};
    const auto out = evaluate({&op, dtype::f32, in, core::completed(op, {})}, accuracy_class::sequential).at("y");
    volatile float cosine = static_cast<float>(std::cos(position)), sine = static_cast<float>(std::sin(position));
    volatile float xc = x * cosine, ys = y * sine, xs = x * sine, yc = y * cosine;
    INFO(x << " " << y << " at " << position);
    REQUIRE(out.values.storage()[0] == static_cast<double>(xc - ys));
    REQUIRE(out.values.storage()[1] == static_cast<double>(xs + yc));
  }
}
