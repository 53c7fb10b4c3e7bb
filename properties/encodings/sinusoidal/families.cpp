// Families of inputs for sinusoidal encodings.
#include <algorithm>
#include <array>
#include <cmath>

#include "properties/encodings/sinusoidal/laws/laws.hpp"
#include "properties/encodings/sinusoidal/mutants/mutants.hpp"
#include "properties/harness/catalogue.hpp"

namespace assay::properties::encodings::sinusoidal {
namespace {

using core::counter_random;
using core::dtype;

/// Fills positions, which are rounded to their dtype afterwards; none beyond `furthest`.
using position_filler = void (*)(std::vector<double>& positions, double furthest, counter_random& random);
/// One frequency, or one base.
using number_drawer = double (*)(dtype type, counter_random& random);

// In f16 positions stay finite and, where gradients are summed over them, the sums too.
double furthest_position(dtype type, bool differentiable) {
  if (type == dtype::f16) return differentiable ? 500.0 : 60000.0;
  return 0x1p31 - 3;
}

double pick(const std::vector<double>& all, double furthest, counter_random& random) {
  for (;;)
    if (const double x = all[random.below(all.size())]; std::fabs(x) <= furthest) return x;
}

// What the formats of a position can no longer tell apart, and the ends of ranges of integers.
const std::vector<double> hard_positions{0,     1,     255,  256,   257,   258,          2047,    2048,        2049,
                                         2050,  4097,  8191, 65535, 65536, 65537,        1048576, 10000,       50000,
                                         16385, 32767, 1001, 4001,  16003, 0x1p24 + 1.0, 1048577, 0x1p31 - 3.0};
// Convergents of pi: sin m is smaller than 1/m. Of 312689 and 169646 whole rows nearly repeat row 0.
const std::vector<double> near_repeats{0,      3,      22,     44,     333,    355,    710,     33102,
                                       103993, 104348, 169646, 208341, 312689, 833719, 1146408, 4272943};

void consecutive(std::vector<double>& positions, double, counter_random& random) {
  const double first = random.one_in(2) ? 0.0 : static_cast<double>(random.below(40));
  for (std::size_t i = 0; i < positions.size(); ++i) positions[i] = first + static_cast<double>(i);
}
void large(std::vector<double>& positions, double furthest, counter_random& random) {
  for (double& m : positions) m = pick(hard_positions, furthest, random);
}
void consecutive_far(std::vector<double>& positions, double furthest, counter_random& random) {
  const double first =
      std::min(pick(hard_positions, furthest, random), furthest - static_cast<double>(positions.size()));
  for (std::size_t i = 0; i < positions.size(); ++i) positions[i] = first + static_cast<double>(i);
}
void negative(std::vector<double>& positions, double, counter_random& random) {
  for (double& m : positions) m = static_cast<double>(random.below(600)) - 300.0;
}
void near_collisions(std::vector<double>& positions, double furthest, counter_random& random) {
  for (double& m : positions) m = pick(near_repeats, furthest, random);
}
void fractions(std::vector<double>& positions, double, counter_random& random) {
  const bool halves = random.one_in(2);
  for (double& m : positions)
    m = halves ? static_cast<double>(random.below(200)) / 2.0 - 20.0 : random.uniform(-50.0, 50.0);
}
void zeros_and_small(std::vector<double>& positions, double, counter_random& random) {
  for (double& m : positions)
    m = random.one_in(3) ? 0.0
                         : random.sign() * std::ldexp(random.uniform(1.0, 2.0), -static_cast<int>(random.below(12)));
}
void nan_inside(std::vector<double>& positions, double, counter_random& random) {
  consecutive(positions, 0.0, random);
  for (double& m : positions)
    if (random.one_in(4)) m = std::nan("");
}

double geometric(dtype, counter_random& random) { return std::pow(1e4, -static_cast<double>(random.below(16)) / 16.0); }
double one_or_geometric(dtype type, counter_random& random) { return random.one_in(3) ? 1.0 : geometric(type, random); }
// Zero, subnormal, and larger than any that a base gives.
double extreme_theta(dtype type, counter_random& random) {
  switch (random.below(4)) {
    case 0:
      return 0.0;
    case 1:
      return core::smallest_subnormal(type) * static_cast<double>(1 + random.below(40));
    case 2:
      return random.sign() * random.uniform(1.0, 60.0);
    default:
      return std::ldexp(1.0, static_cast<int>(random.below(9)));
  }
}

double usual_base(dtype, counter_random& random) {
  constexpr std::array bases{10000.0, 1000.0, 100.0, 10.0, 20000.0, 2.0};
  return random.one_in(2) ? bases[random.below(bases.size())] : random.uniform(2.0, 20000.0);
}
double extreme_base(dtype type, counter_random& random) {
  if (random.one_in(2)) return 1.0 + std::ldexp(random.uniform(1.0, 2.0), -1 - static_cast<int>(random.below(20)));
  const double largest = core::largest_finite(type);
  return std::ldexp(largest, -static_cast<int>(random.below(static_cast<std::size_t>(std::ilogb(largest)))));
}

std::size_t draw_length(counter_random& random, extent size, std::size_t columns) {
  // Some hundred elements at most.
  const std::size_t most = std::max<std::size_t>(320 / std::max<std::size_t>(columns, 1), 2);
  if (size.is_given()) return size.axis("n", 3);
  if (size.range == lengths::exactly) return size.tokens;
  if (size.range == lengths::long_ones) return 100 + random.below(60);
  if (size.range == lengths::around_blocks) {
    const std::size_t block = std::size_t{1} << (3 + random.below(4));
    return std::min(most, block - 1 + random.below(3));
  }
  return random.one_in(2) ? random.below(6) : std::min(most, random.below(18));
}

core::tensor drawn_numbers(dtype type, std::size_t count, const std::function<double()>& draw) {
  std::vector<double> all(count);
  for (double& x : all) x = core::round_to(type, draw());
  return core::make_tensor(type, {count}, all);
}

family of_positions(std::string name, std::string summary, position_filler fill, number_drawer theta, bool integers) {
  family f{std::move(name), std::move(summary)};
  f.applies = [integers](const core::operation& op) {
    return op.name == "sinusoidal/table_at" || (integers && op.name == "sinusoidal/table");
  };
  f.generate = [=](const core::operation& op, dtype type, const core::attributes& settings, counter_random& random,
                   extent size) -> core::tensors {
    const bool table = op.name == "sinusoidal/table";
    const std::size_t drawn = random.below(5), pairs = size.axis("r", size.is_given() ? 3 : drawn);
    const std::size_t columns =
        table ? static_cast<std::size_t>(core::setting<std::int64_t>(settings, "width")) : 2 * pairs;
    std::vector<double> positions(draw_length(random, size, columns));
    fill(positions, furthest_position(type, !table), random);
    if (table) return {{"position", core::make_tensor(dtype::i64, {positions.size()}, positions)}};
    for (double& m : positions) m = core::round_to(type, m);
    return {{"position", core::make_tensor(type, {positions.size()}, positions)},
            {"theta", drawn_numbers(type, pairs, [&] { return theta(type, random); })}};
  };
  return f;
}

// Distances of decay: near 0, inside the window from 1 to the base, and beyond.
double usual_distance(dtype, counter_random& random) { return random.sign() * random.uniform(0.0, 60.0); }
double small_distance(dtype type, counter_random& random) {
  if (random.one_in(4)) return 0.0;
  return random.sign() *
         std::ldexp(random.uniform(1.0, 2.0), -static_cast<int>(random.below(type == dtype::f16 ? 12 : 60)));
}
double wide_distance(dtype type, counter_random& random) {
  return random.sign() *
         std::ldexp(random.uniform(1.0, 2.0), static_cast<int>(random.below(type == dtype::f16 ? 15 : 30)));
}
double sometimes_nan(dtype type, counter_random& random) {
  return random.one_in(4) ? std::nan("") : usual_distance(type, random);
}

family of_numbers(const char* operation, const char* input, std::string name, std::string summary, number_drawer draw) {
  family f{std::move(name), std::move(summary)};
  f.applies = [=](const core::operation& op) { return op.name == operation; };
  f.generate = [=](const core::operation& op, dtype type, const core::attributes&, counter_random& random,
                   extent size) -> core::tensors {
    const std::size_t most = size.range == lengths::exactly ? size.tokens : 24;
    const std::size_t count = size.axis(op.input(input)->axes[0], std::min(draw_length(random, size, 8), most));
    return {{input, drawn_numbers(type, count, [&] { return draw(type, random); })}};
  };
  return f;
}
family of_bases(std::string name, std::string summary, number_drawer draw) {
  return of_numbers("sinusoidal/frequencies", "base", std::move(name), std::move(summary), draw);
}
family of_distances(std::string name, std::string summary, number_drawer draw) {
  return of_numbers("sinusoidal/decay", "s", std::move(name), std::move(summary), draw);
}

// One family of that name for all operations.
family either(family one, const family& other) {
  const auto applies = one.applies, applies_other = other.applies;
  const auto generate = one.generate, generate_other = other.generate;
  one.applies = [=](const core::operation& op) { return applies(op) || applies_other(op); };
  one.generate = [=](const core::operation& op, dtype type, const core::attributes& settings, counter_random& random,
                     extent size) {
    return (applies(op) ? generate : generate_other)(op, type, settings, random, size);
  };
  return one;
}

std::vector<usual_size> usual_sizes() {
  const std::vector<std::string> table{"sinusoidal/table"}, at{"sinusoidal/table_at"},
      frequencies{"sinusoidal/frequencies"}, decay{"sinusoidal/decay"};
  return {
      {table, {{"n", 66}, {"d", 64}}, true},
      {table, {{"n", 1025}, {"d", 8}}, true},
      {table, {{"n", 5}, {"d", 130}}, true},
      {table, {{"n", 191}, {"d", 66}}, true},
      {table, {{"n", 128}, {"d", 128}}, true},
      {table, {{"n", 5}, {"d", 515}}, true},
      {table, {{"n", 3}, {"d", 514}}, true, "consecutive_far"},
      {table, {{"n", 5}, {"d", 33}}, true, "", {{"layout", std::string("interleaved")}, {"odd", std::string("zero")}}},
      {table, {{"n", 5}, {"d", 33}}, true, "", {{"rule", std::string("tensor2tensor")}, {"odd", std::string("extra")}}},
      {table, {{"n", 66}, {"d", 130}}, true, every_family},
      {table, {{"n", 4097}, {"d", 128}}},
      {table, {{"n", 65537}, {"d", 4}}},
      {table, {{"n", 3}, {"d", 4096}}},
      {at, {{"n", 127}, {"r", 33}}, true},
      {at, {{"n", 1025}, {"r", 4}}, true},
      {at, {{"n", 64}, {"r", 64}}, true},
      {at, {{"n", 66}, {"r", 66}}, true, every_family},
      {at, {{"n", 4097}, {"r", 64}}},
      {at, {{"n", 65537}, {"r", 2}}},
      {at, {{"n", 3}, {"r", 2049}}},
      {frequencies, {{"k", 3}, {"r", 65}}, true},
      {frequencies, {{"k", 4}, {"r", 64}}, true},
      {frequencies, {{"k", 3}, {"r", 66}}, true, every_family},
      {frequencies, {{"k", 2}, {"r", 2049}}},
      {decay, {{"n", 1025}}, true},
      {decay, {{"n", 1023}}, true},
      {decay, {{"n", 130}}, true, every_family},
  };
}

}  // namespace

encoding_tests make_tests() {
  encoding_tests tests;
  tests.name = "sinusoidal";
  tests.families = {
      either(of_positions("mild", "consecutive positions; bases from 2 to 20000; distances below 60", consecutive,
                          geometric, true),
             either(of_bases("mild", "", usual_base), of_distances("mild", "", usual_distance))),
      of_positions("large_positions", "positions that short formats cannot tell apart, to 2^31", large, geometric,
                   true),
      of_positions("consecutive_far", "consecutive positions, far away", consecutive_far, geometric, true),
      of_positions("negative_positions", "positions of both signs", negative, geometric, true),
      of_positions("near_collisions", "positions whose rows nearly repeat", near_collisions, one_or_geometric, true),
      of_positions("fractions", "halves and other fractions", fractions, geometric, false),
      of_positions("extreme_theta", "frequencies that are 0, subnormal or large", fractions, extreme_theta, false),
      of_positions("small_positions", "positions that are 0 or below 1", zeros_and_small, one_or_geometric, false),
      of_bases("extreme_bases", "bases near 1 and to the end of the format", extreme_base),
      of_distances("small_distances", "distances that are 0 or below 2", small_distance),
      of_distances("wide_distances", "distances inside the window of decay and beyond", wide_distance),
      either(of_positions("nan_inside", "a NaN in some positions", nan_inside, geometric, false),
             of_distances("nan_inside", "", sometimes_nan)),
  };
  // Longer tables in several families: one long case alone may have no frequency.
  for (family& f : tests.families)
    f.parts_classes = f.name == "mild" || f.name == "fractions" || f.name == "negative_positions";
  tests.families.back().holds_nan = true;
  tests.sizes = usual_sizes();
  tests.long_ones = {{{"sinusoidal/table"}, {{"n", 2}, {"d", 2}}},
                     {{"sinusoidal/table_at"}, {{"n", 2}}},
                     {{"sinusoidal/frequencies"}, {{"r", 1}}},
                     {{"sinusoidal/decay"}, {}, {{"n", 4100}}}};  // an integral takes 0.1 ms
  tests.mutants = mutants();
  tests.controls = controls();
  tests.laws = laws();
  return tests;
}

}  // namespace assay::properties::encodings::sinusoidal
