// The slopes of linear biases, and biases small enough to check by hand.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "properties/builtin.hpp"
#include "properties/kinds/pair_bias.hpp"
#include "reference/encodings/alibi.hpp"
#include "reference/oracle.hpp"

using namespace assay;
using namespace assay::properties;
using namespace assay::reference::encodings;
using reference::rational;

TEST_CASE("alibi/slopes/named_forms_are_one_function", "[property][alibi]") {
  const auto equal = [](rational x, rational y) { return x.p == y.p && x.q == y.q; };
  for (std::size_t heads = 1; heads < 200; ++heads) {
    long c = 1;
    while (2 * c <= static_cast<long>(heads)) c *= 2;
    for (std::size_t k = 0; k < heads; ++k) {
      INFO("head " << k << " of " << heads);
      const auto head = static_cast<long>(k);
      const rational official = alibi_exponent({"official", 8, heads}, k);
      // BLOOM and llama.cpp: powers 1, 2, ... of 2^(-8/c), then 1, 3, ... of 2^(-4/c).
      const rational two_bases =
          head < c ? reference::ratio(-8 * (head + 1), c) : reference::ratio(-4 * (2 * (head - c) + 1), c);
      CHECK(equal(official, two_bases));
      CHECK(equal(official, alibi_exponent({"mpt", 8, heads}, k)));
      if (static_cast<long>(heads) == c) CHECK(equal(official, alibi_exponent({"naive", 8, heads}, k)));
    }
  }
}

TEST_CASE("alibi/bias/by_hand", "[property][alibi]") {
  const auto bias = [](const char* form, bool causal, std::int64_t last) {
    const core::tensor t = bias_by_hand("alibi/bias", {{"slopes", {0.5}}}, {4}, {4, 1, 6},
                                        {{"form", std::string(form)}, {"causal", causal}, {"last_position", last}});
    return std::vector<double>(t.values.begin(), t.values.end());
  };
  constexpr double masked = -std::numeric_limits<double>::infinity();
  CHECK(bias("distance", true, 0) == std::vector<double>{0, -1.5, masked});
  CHECK(bias("distance", false, 0) == std::vector<double>{0, -1.5, 1.0});
  CHECK(bias("absolute", false, 0) == std::vector<double>{0, -1.5, -1.0});
  CHECK(bias("key", true, 0) == std::vector<double>{2, 0.5, masked});
  CHECK(bias("key_from_last", false, 7) == std::vector<double>{-1.5, -3, -0.5});
}

TEST_CASE("alibi/slopes/correctly_rounded_up_to_128_heads", "[property][alibi]") {
  const auto optimized = make_builtin("optimized").value();
  const core::operation& op = *reference::find_operation("alibi/slopes");
  std::size_t compared = 0;
  for (const core::dtype type : {core::dtype::f32, core::dtype::f64})
    for (const char* rule : {"official", "naive", "mpt"})
      for (std::int64_t heads = 1; heads <= 128; ++heads) {
        const core::request call{&op, type, {}, {{"heads", heads}, {"rule", std::string(rule)}}};
        const auto proved = reference::certify(call);
        REQUIRE(reference::count_undecided(proved) == 0);
        const auto outputs = optimized->evaluate(call);
        REQUIRE(outputs);
        INFO(rule << " " << heads << " heads, " << core::name_of(type));
        CHECK(core::identical(outputs->at("slopes"), proved.at("slopes").rounded));
        compared += outputs->at("slopes").size();
      }
  CHECK(compared == 2 * 3 * 128 * 129 / 2);
}

TEST_CASE("alibi/slopes/of_8_and_12_heads", "[property][alibi]") {
  const core::operation& op = *reference::find_operation("alibi/slopes");
  for (const std::int64_t heads : {8, 12}) {
    const auto slopes = reference::certify({&op, core::dtype::f64, {}, {{"heads", heads}}}).at("slopes").rounded;
    for (std::size_t k = 0; k < 8; ++k) CHECK(slopes.values(k) == std::ldexp(1.0, -1 - static_cast<int>(k)));
    for (std::size_t k = 8; k < slopes.size(); ++k)
      CHECK(slopes.values(k) == std::ldexp(std::sqrt(2.0), 7 - static_cast<int>(k)));
  }
}

TEST_CASE("alibi/slopes/settings_that_there_are_not", "[property][alibi]") {
  const core::operation& op = *reference::find_operation("alibi/slopes");
  CHECK(core::check_request({&op, core::dtype::f64, {}, {{"alpha_max", 8.0625}}}));
  CHECK_FALSE(core::check_request({&op, core::dtype::f64, {}, {{"alpha_max", 8.1}}}));
  CHECK_FALSE(core::check_request({&op, core::dtype::f64, {}, {{"heads", std::int64_t{0}}}}));
  CHECK_FALSE(core::check_request({&op, core::dtype::f64, {}, {{"rule", std::string("bloom")}}}));
}
