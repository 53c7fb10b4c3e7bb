// Tables of sines and cosines: the places of their columns, and conditions that must not change a bit.
#include "optimized/angle_table.hpp"

#include "optimized/tests/support.hpp"

namespace assay::optimized::tests {
namespace {

prepared_frequencies frequencies(std::size_t count) {
  std::vector<frequency> theta;
  for (std::size_t t = 0; t < count; ++t)
    theta.push_back(geometric_frequency(10000, static_cast<long>(t), static_cast<long>(count)));
  return prepared_frequencies(theta);
}

std::vector<double> some_positions(std::size_t count) {
  generator random(37);
  std::vector<double> positions = uniform<double>(random, count, -1e6, 1e6);
  positions[0] = 0, positions[1] = 0x1p60, positions[2] = nan<double>;
  return positions;
}

template <class Real>
void fill(const column_places& places, const prepared_frequencies& theta, const std::vector<double>& positions,
          std::vector<Real>& table) {
  write_table(process_execution(), places, theta, dense<const double, 1>(positions.data(), {positions.size()}), 0.0,
              dense<Real, 2>(table.data(), {positions.size(), places.width}));
}

}  // namespace

// Tests every width, with and without a column that belongs to no pair, in both layouts and orders. A mark stands in
// columns that belong to no pair.
TEMPLATE_TEST_CASE("optimized/angle_table/columns", "[optimized][sinusoidal]", float, double) {
  constexpr TestType mark = TestType(-12345);
  const std::vector<double> positions = some_positions(5);
  on_every_target([&] {
    for (std::size_t width = 1; width <= 23; ++width)
      for (int choice = 0; choice < 8; ++choice) {
        const bool interleaved = choice & 1, sine_first = choice & 2, extra = choice & 4;
        const std::size_t trailing = width / 2, leading = extra ? width - trailing : trailing;
        const prepared_frequencies theta = frequencies(leading);
        std::vector<TestType> table(positions.size() * width, mark), expected = table;
        fill({interleaved, sine_first, leading, trailing, width}, theta, positions, table);
        rotations found(leading, false);
        for (std::size_t i = 0; i < positions.size(); ++i) {
          theta.find(active_kernels(), positions[i], found);
          for (std::size_t t = 0; t < leading; ++t) {
            const double first = sine_first ? found.sine[t] : found.cosine[t];
            const double second = sine_first ? found.cosine[t] : found.sine[t];
            expected[i * width + (interleaved ? 2 * t : t)] = static_cast<TestType>(first);
            if (t < trailing)
              expected[i * width + (interleaved ? 2 * t + 1 : leading + t)] = static_cast<TestType>(second);
          }
        }
        CAPTURE(width, interleaved, sine_first, extra);
        CHECK(std::equal(table.begin(), table.end(), expected.begin(), expected.end(), same<TestType>));
      }
  });
}

TEMPLATE_TEST_CASE("optimized/angle_table/threads_and_targets_agree", "[optimized][sinusoidal]", float, double) {
  const std::vector<double> positions = some_positions(1000);
  const prepared_frequencies theta = frequencies(19);
  const column_places places{false, false, 19, 18, 37};
  std::vector<TestType> expected(positions.size() * places.width);
  REQUIRE(force_target("baseline"));
  set_threads(1);
  fill(places, theta, positions, expected);
  on_every_target([&] {
    for (const int count : {1, 2, 3, 7}) {
      set_threads(count);
      std::vector<TestType> table(expected.size());
      fill(places, theta, positions, table);
      CHECK(std::equal(table.begin(), table.end(), expected.begin(), expected.end(), same<TestType>));
    }
  });
  set_threads(0);
}

}  // namespace assay::optimized::tests
