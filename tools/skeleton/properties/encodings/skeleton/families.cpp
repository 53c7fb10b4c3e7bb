// Families of inputs. Each family shows a fault that no other family shows.
#include <array>
#include <cmath>
#include <limits>

#include "properties/encodings/skeleton/laws/laws.hpp"
#include "properties/encodings/skeleton/mutants/mutants.hpp"
#include "properties/harness/catalogue.hpp"

namespace assay::properties::encodings::skeleton {
namespace {

using core::counter_random;
using core::dtype;

struct extents {
  std::size_t batch, n, d;
};

// The sizes are small, because hundreds of cases of each family are run. A case may have no token.
extents draw_extents(counter_random& random, extent size) {
  if (size.is_given()) return {size.axis("B", 1), size.axis("n", 1), size.axis("d", 1)};
  if (size.range == lengths::exactly) return {1, size.tokens, 2};
  if (size.range == lengths::long_ones) return {1, 200 + random.below(100), 1};
  if (size.range == lengths::around_blocks)
    return {1, (std::size_t{1} << (3 + random.below(4))) - 1 + random.below(3), 1};
  return {1 + random.below(2), random.below(18), 1 + random.below(3)};
}

using number_source = double (*)(dtype type, counter_random& random);

double of_order_one(dtype, counter_random& random) { return random.normal(); }

// Products and sums of these numbers stay below the largest number: after an overflow, the result would depend on the
// order of the operations.
double special(dtype type, counter_random& random) {
  const double large = std::ldexp(1.0, core::format_of(type).max_exponent / 2 - 4);
  const std::array values{0.0,
                          -0.0,
                          1.0,
                          -1.0,
                          core::next_above(type, 1.0),
                          core::smallest_subnormal(type),
                          -core::smallest_normal(type),
                          large,
                          -large};
  return values[random.below(values.size())];
}

double sometimes_nan(dtype, counter_random& random) {
  return random.one_in(4) ? std::numeric_limits<double>::quiet_NaN() : random.normal();
}

// The inputs of the operation; the runner adds cotangents and draws the settings.
family drawn_from(std::string name, std::string summary, number_source of_x, number_source of_parameters) {
  family f{std::move(name), std::move(summary)};
  f.generate = [=](const core::operation&, dtype type, const core::attributes&, counter_random& random,
                   extent size) -> core::tensors {
    const extents s = draw_extents(random, size);
    const auto draw = [&](number_source source, const core::shape& shape) {
      std::vector<double> values(core::element_count(shape));
      for (double& v : values) v = source(type, random);
      return core::make_tensor(type, shape, values);
    };
    std::vector<double> positions(s.n);
    const double first = static_cast<double>(random.below(100));
    for (std::size_t i = 0; i < s.n; ++i) positions[i] = first + static_cast<double>(i);
    return {{"x", draw(of_x, {s.batch, s.n, s.d})},
            {"a", draw(of_parameters, {s.d})},
            {"b", draw(of_parameters, {s.d})},
            {"position", core::make_tensor(dtype::i64, {s.n}, positions)}};
  };
  return f;
}

}  // namespace

encoding_tests make_tests() {
  encoding_tests tests;
  tests.name = "skeleton";
  tests.families = {
      drawn_from("mild", "numbers of order 1", of_order_one, of_order_one),  // every operation needs this family
      drawn_from("special_values", "zeros and numbers near the ends of the formats", special, special),
      drawn_from("nan_inside", "a NaN here and there", sometimes_nan, of_order_one),
  };
  tests.families.back().holds_nan = true;  // derivatives do not run it
  tests.mutants = mutants();
  tests.controls = controls();
  tests.laws = laws();
  // Together these mutants give every law one to kill.
  return tests;
}

}  // namespace assay::properties::encodings::skeleton
