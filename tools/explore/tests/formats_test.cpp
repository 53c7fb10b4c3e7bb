// All 256 codes of the 8-bit formats, by the definition of OFP8 (sections 3 and 4): their values, and that rounding
// gives the nearest of them.
#include "tools/explore/formats.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "tools/explore/measure.hpp"

using namespace assay;
using namespace assay::explore;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct fields {
  const char* name;
  int fraction_bits, bias;
  bool is_like_ieee;  // the largest exponent is only for infinities and NaN
};
constexpr fields e5m2{"e5m2", 2, 15, true}, e4m3{"e4m3", 3, 7, false};

double decoded(const fields& f, unsigned code) {
  const unsigned exponents = 1U << (7U - static_cast<unsigned>(f.fraction_bits)), fractions = 1U << f.fraction_bits;
  const unsigned exponent = (code & 0x7fU) / fractions, fraction = code % fractions;
  const double sign = code >= 0x80U ? -1.0 : 1.0;
  if (exponent == exponents - 1 && f.is_like_ieee) return fraction == 0 ? sign * infinity : std::nan("");
  if (exponent == exponents - 1 && fraction == fractions - 1) return std::nan("");
  const double significand = (exponent == 0 ? 0.0 : 1.0) + fraction / static_cast<double>(fractions);
  return sign * std::ldexp(significand, std::max(static_cast<int>(exponent), 1) - f.bias);
}

// The values of the codes of finite numbers from 0 on; they ascend.
std::vector<double> finite_numbers(const fields& f) {
  std::vector<double> all;
  for (unsigned code = 0; code < 0x80U && std::isfinite(decoded(f, code)); ++code) all.push_back(decoded(f, code));
  return all;
}

bool same(double x, double y) {
  return (std::isnan(x) && std::isnan(y)) || (x == y && std::signbit(x) == std::signbit(y));
}

}  // namespace

TEST_CASE("explore/formats/all_codes_of_eight_bits", "[unit]") {
  for (const fields& f : {e5m2, e4m3})
    for (const char* suffix : {"", "_sat"}) {
      const storage_format& format = *find_format(std::string(f.name) + suffix);
      INFO(format.name);
      std::size_t nans = 0, infinities = 0;
      for (unsigned code = 0; code < 256; ++code) {
        const double x = decoded(f, code);
        INFO(code);
        nans += std::isnan(x) ? 1 : 0;
        infinities += std::isinf(x) ? 1 : 0;
        if (!std::isinf(x)) CHECK(same(format.round(x), x));
      }
      CHECK(nans == (f.is_like_ieee ? 6U : 2U));
      CHECK(infinities == (f.is_like_ieee ? 2U : 0U));
      CHECK(finite_numbers(f).back() == format.largest);
      CHECK(std::ldexp(1.0, format.min_exponent) == decoded(f, 1U << static_cast<unsigned>(f.fraction_bits)));
      CHECK(format.unit_roundoff() == std::ldexp(0.5, -f.fraction_bits));
    }
}

TEST_CASE("explore/formats/eight_bits_round_to_the_nearest_code", "[unit]") {
  for (const fields& f : {e5m2, e4m3})
    for (const char* suffix : {"", "_sat"}) {
      const storage_format& format = *find_format(std::string(f.name) + suffix);
      const std::vector<double> numbers = finite_numbers(f);
      INFO(format.name);
      for (std::size_t code = 0; code + 1 < numbers.size(); ++code) {
        const double low = numbers[code], high = numbers[code + 1], middle = (low + high) / 2;
        INFO("between " << low << " and " << high);
        for (const double sign : {1.0, -1.0}) {
          CHECK(same(format.round(sign * middle), sign * (code % 2 == 0 ? low : high)));  // the even code
          CHECK(same(format.round(sign * std::nextafter(middle, 0.0)), sign * low));
          CHECK(same(format.round(sign * std::nextafter(middle, infinity)), sign * high));
        }
      }
    }
}

TEST_CASE("explore/formats/eight_bits_overflow_as_their_conversion_says", "[unit]") {
  for (const fields& f : {e5m2, e4m3}) {
    const std::vector<double> numbers = finite_numbers(f);
    const double largest = numbers.back(), step = largest - numbers[numbers.size() - 2];
    // The next code would be even in e5m2, whose largest fraction is odd, and odd in e4m3.
    const double rounds_up = largest + step / 2, rounds_down = std::nextafter(rounds_up, 0.0);
    const storage_format &plain = *find_format(f.name), &saturating = *find_format(std::string(f.name) + "_sat");
    const double beyond = f.is_like_ieee ? infinity : std::nan("");
    for (const double sign : {1.0, -1.0}) {
      INFO(f.name << ", sign " << sign);
      CHECK(plain.round(sign * rounds_down) == sign * largest);
      CHECK(same(plain.round(sign * rounds_up), f.is_like_ieee ? sign * beyond : sign * largest));
      for (const double x : {std::nextafter(rounds_up, infinity), 1e300, infinity}) {
        CHECK((std::isnan(beyond) ? std::isnan(plain.round(sign * x)) : plain.round(sign * x) == sign * beyond));
        CHECK(saturating.round(sign * x) == sign * largest);
      }
    }
    CHECK(std::isnan(saturating.round(std::nan(""))));
    CHECK(same(plain.round(-1e-300), -0.0));
  }
}

TEST_CASE("explore/formats/what_has_no_infinity_takes_no_inputs_of_minus_infinity", "[unit]") {
  const auto checked = [](const char* storage, const char* family) {
    return check_cell({"scan", "sequential", "f32", storage, family, 0, 1, 16, 1}).has_value();
  };
  CHECK(checked("e5m2", "resets"));
  for (const char* storage : {"e4m3", "e4m3_sat", "e5m2_sat"}) {
    CHECK_FALSE(checked(storage, "resets"));
    CHECK_FALSE(checked(storage, "silence"));
    CHECK(checked(storage, "gates"));
  }
}
