// Frequencies and magnitudes for longer contexts: outputs by hand, and the integers of ramps and steps.
#include <mpfr.h>

#include <boost/multiprecision/cpp_dec_float.hpp>
#include <catch2/catch.hpp>
#include <cmath>

#include "properties/kinds/table.hpp"
#include "reference/algorithms/extended_frequencies.hpp"
#include "reference/readings/enclosure.hpp"

using namespace assay;

namespace {

using long_number = boost::multiprecision::cpp_dec_float_50;
using std::int64_t;

// The frequencies of four pairs, which without scaling are 1, 1/2, 1/4, 1/8.
std::vector<double> theta(const char* scaling, core::attributes settings) {
  settings["scaling"] = std::string(scaling);
  settings["pairs"] = int64_t{4};
  return properties::table_by_hand("rope/extended_frequencies", {{"base", {16.0}}}, settings);
}
double magnitude(const char* rule, double factor, core::attributes settings) {
  settings["rule"] = std::string(rule);
  return properties::table_by_hand("rope/magnitude", {{"factor", {factor}}}, settings).at(0);
}
reference::extension settings_of(core::attributes settings) {
  return reference::extension(core::completed(*reference::find_operation("rope/extended_frequencies"), settings));
}

// The integer that both ends of an interval are.
double only_integer_of(const reference::enclosure& x) {
  REQUIRE(mpfr_equal_p(x.low(), x.high()) != 0);
  return to_double(x);
}
// floor and ceil of the index of the pair that makes so many turns, as the formula computes it.
struct integers {
  double below, above;
};
integers beside_index(const reference::extension& e, double base, double turns) {
  const reference::computing_with_digits precision(80);
  const reference::enclosure index = reference::index_of_turns(e, reference::enclosure(base), turns);
  return {only_integer_of(floor(index)), -only_integer_of(floor(-index))};
}

}  // namespace

TEST_CASE("rope/extended_frequencies/by_hand", "[property]") {
  using numbers = std::vector<double>;
  // c(beta) = log2(100 / (2 pi beta)): between 1 and 2 for 4 turns, between 3 and 4 for one. A third of pair 2 and two
  // thirds of pair 3 are interpolated.
  const core::attributes ramp{{"trained_length", int64_t{100}}, {"beta_fast", 4.0}, {"factor", 4.0}};
  CHECK(theta("yarn", ramp) == numbers{1.0, 0.5, 0.25 * 0.75, 0.125 * 0.5});
  auto by_wavelengths = ramp;
  by_wavelengths["blend"] = std::string("wavelengths");
  CHECK(theta("yarn", by_wavelengths) == numbers{1.0, 0.5, 0.25 / 2.0, 0.125 / 3.0});
  // The ramp ends behind the last pair and is cut at r - 1: half of pair 2 is interpolated.
  auto cut = ramp;
  cut["last"] = std::string("pairs");
  CHECK(theta("yarn", cut) == numbers{1.0, 0.5, 0.25 * 0.625, 0.125 / 4.0});
  // The numbers of turns are 100 theta / (2 pi): 15.9, 8, 4, 2. Pair 2 makes 3.98 turns and pair 3 makes 1.99.
  auto by_turns = ramp;
  by_turns["ramp"] = std::string("turns");
  const numbers turning = theta("yarn", by_turns);
  CHECK(turning[1] == 0.5);
  CHECK(turning[3] == Approx(0.125 * (0.25 + 0.75 * (1.9894367886486917 - 1.0) / 3.0)).epsilon(1e-15));
  CHECK(theta("llama3", {{"trained_length", int64_t{100}}, {"factor", 4.0}}) == turning);
  // Without a band a pair is kept or divided: the numbers of turns are 15.9, 8, 4, 2.
  CHECK(theta("llama3", {{"trained_length", int64_t{100}}, {"factor", 4.0}, {"low", 3.0}, {"high", 3.0}}) ==
        numbers{1.0, 0.5, 0.25, 0.03125});
  // Pair t is multiplied by 2^-t: a = 7 * 2 - 6 = 8 and 8^(-t/3), at twice the trained length.
  const auto dynamic = [](const char* scaling, int64_t length) {
    return theta(scaling, {{"factor", 7.0}, {"trained_length", int64_t{4096}}, {"length", length}});
  };
  CHECK(dynamic("dynamic", 8192) == numbers{1.0, 0.25, 0.0625, 0.015625});
  for (const char* scaling : {"dynamic", "dynamic_steps"})
    for (const int64_t length : {1, 4095, 4096}) CHECK(dynamic(scaling, length) == numbers{1.0, 0.5, 0.25, 0.125});
  CHECK(dynamic("dynamic_steps", 8192).back() == 0.125 / 3.0);
  CHECK(dynamic("dynamic_steps", 8193).back() == 0.125 / 7.0);
  CHECK(theta("ntk_fixed", {{"factor", 16.0}}) == numbers{0.5, 0.125, 0.03125, 0.0078125});  // 16^(-(t+1)/4)
  const numbers mixed = theta("ntk_mixed", {{"factor", 3.5}, {"mixed", 0.625}});
  CHECK(mixed[0] == Approx(std::exp(-std::log(3.5) / std::pow(4.0, 0.625))).epsilon(1e-15));
}

TEST_CASE("rope/divided_frequencies/by_hand", "[property]") {
  const std::vector<double> halves =
      properties::table_by_hand("rope/divided_frequencies", {{"base", {16.0}}, {"factors", {1.0, 2.0, 5.0, 8.0}}});
  CHECK(halves == std::vector<double>{1.0, 0.25, 0.05, 0.015625});
}

TEST_CASE("rope/switched_frequencies/by_hand", "[property]") {
  using numbers = std::vector<double>;
  const numbers by_short{1.0, 0.5}, by_long{0.5, 0.0625};
  for (const auto& [settings, expected] : std::vector<std::pair<core::attributes, numbers>>{
           {{{"length", int64_t{4095}}}, by_short},
           {{}, by_short},
           {{{"length", int64_t{4097}}}, by_long},
           {{{"length", int64_t{4097}}, {"trained_length", int64_t{8192}}}, by_short},
           {{{"switch", std::string("at_or_above")}}, by_long},
           {{{"switch", std::string("at_or_above")}, {"length", int64_t{4095}}}, by_short}})
    CHECK(properties::table_by_hand("rope/switched_frequencies",
                                    {{"base", {16.0}}, {"short_factor", {1.0, 0.5}}, {"long_factor", {2.0, 4.0}}},
                                    settings) == expected);
}

TEST_CASE("rope/magnitude/by_hand", "[property]") {
  CHECK(magnitude("yarn", 32.0, {}) == Approx(1.3465735902799727).epsilon(1e-15));
  CHECK(magnitude("su", 32.0, {}) == Approx(std::sqrt(17.0 / 12.0)).epsilon(1e-15));  // log 32 / log 4096 = 5/12
  CHECK(magnitude("ratio", 40.0, {}) == 1.0);                                         // for equal coefficients
  CHECK(magnitude("ratio", 32.0, {{"mscale_all_dim", 0.0}}) == magnitude("yarn", 32.0, {}));
  for (const char* rule : {"yarn", "ratio", "su"})
    for (const double factor : {0.5, 1.0}) CHECK(magnitude(rule, factor, {{"mscale", 0.707}}) == 1.0);
}

// c(beta) = log2(L0 / (2 pi beta)) for base 16 and four pairs.
TEST_CASE("rope/extended_frequencies/ends_of_a_ramp_that_are_crossed", "[property]") {
  using numbers = std::vector<double>;
  const numbers plain{1.0, 0.5, 0.25, 0.125}, divided{0.25, 0.125, 0.0625, 0.03125};
  const auto crossed = [](const char* as, core::attributes settings) {
    settings["factor"] = 4.0;
    settings["crossed"] = std::string(as);
    return theta("yarn", settings);
  };
  // No pair makes 8 turns in 16 tokens: lo is 0, and hi is -1.
  core::attributes few{{"trained_length", int64_t{16}}, {"beta_slow", 8.0}, {"beta_fast", 32.0}};
  // Every pair makes more than 4 turns in 8192 tokens: lo is 8, and hi is 7.
  core::attributes many{{"trained_length", int64_t{8192}}, {"beta_fast", 4.0}};
  for (const bool truncate : {true, false}) {
    few["truncate"] = many["truncate"] = truncate;
    CHECK(crossed("reversed", few) == plain);
    CHECK(crossed("turns", few) == divided);
    CHECK(crossed("step", few) == numbers{1.0, 0.125, 0.0625, 0.03125});
    CHECK(crossed("turns", many) == plain);
    CHECK(crossed("step", many) == plain);
    CHECK(crossed("reversed", many) == divided);
    // This follows from eq. 21.
    for (core::attributes settings : {few, many}) {
      settings["factor"] = 4.0;
      settings["ramp"] = std::string("turns");
      CHECK(theta("yarn", settings) == crossed("turns", settings));
    }
  }
}

// Checked in another arithmetic, with fifty decimal digits.
TEST_CASE("rope/extended_frequencies/ends_of_ramps_are_the_right_integers", "[property]") {
  using boost::multiprecision::ceil;
  using boost::multiprecision::floor;
  using boost::multiprecision::log;
  const long_number two_pi = 8 * atan(long_number(1));
  double nearest = 1.0;
  for (const int64_t pairs : {1, 2, 16, 32, 48, 64, 128, 4096})
    for (const int64_t trained : {1, 4, 16, 2048, 4096, 8192, 32768, 131072, 1048576}) {
      const reference::extension e = settings_of({{"pairs", pairs}, {"trained_length", trained}});
      for (const double base : {2.0, 2.5, 100.0, 10000.0, 150000.0, 500000.0, 1e6, 1e7})
        for (const double beta : {0x1p-10, 0.5, 1.0, 2.0, 4.0, 32.0, 64.0}) {
          INFO(pairs << " pairs, trained length " << trained << ", base " << base << ", " << beta << " turns");
          const long_number index = pairs * log(trained / (two_pi * beta)) / log(long_number(base));
          const integers beside = beside_index(e, base, beta);
          CHECK(beside.below == long_number(floor(index)).convert_to<double>());
          CHECK(beside.above == long_number(ceil(index)).convert_to<double>());
          nearest = std::min(nearest, long_number(abs(index - round(index))).convert_to<double>());
        }
    }
  INFO("the nearest index is " << nearest << " from an integer");
  CHECK(nearest > 1e-6);  // far from what 50 digits, or those of a double, leave open
}

TEST_CASE("rope/extended_frequencies/steps_are_the_right_integers", "[property]") {
  const auto steps = [](int64_t trained, int64_t length) {
    return reference::steps_of_length(settings_of({{"trained_length", trained}, {"length", length}}));
  };
  for (const int64_t trained : {1, 3, 4096, 8191}) {
    CHECK(steps(trained, trained) == 1.0);
    for (int k = 0; trained << k < int64_t{1} << 31; ++k) {
      INFO("trained length " << trained << ", 2^" << k << " times that");
      const int64_t length = trained << k;
      CHECK(steps(trained, length) == std::ldexp(2.0, k) - 1.0);
      CHECK(steps(trained, length + 1) == std::ldexp(4.0, k) - 1.0);
      if (k > 1) CHECK(steps(trained, length - 1) == std::ldexp(2.0, k) - 1.0);
    }
  }
}
