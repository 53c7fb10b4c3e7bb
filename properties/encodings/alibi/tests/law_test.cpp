// The slopes of linear biases, and one bias row small enough to check by hand.
#include <catch2/catch.hpp>
#include <cmath>

#include "properties/builtin.hpp"
#include "reference/encodings/alibi.hpp"
#include "reference/oracle.hpp"

using namespace assay;
using namespace assay::properties;
using namespace assay::reference::encodings;
using reference::rational;

namespace {

bool equal(rational x, rational y) { return x.p == y.p && x.q == y.q; }

// The exponents of the slopes by the recursion of ofirpress/attention_with_linear_biases: those of a power of two, then
// every second one of twice as many heads.
std::vector<rational> exponents_by_recursion(std::size_t heads) {
  std::size_t below = 1;
  while (2 * below <= heads) below *= 2;
  std::vector<rational> all;
  if (below == heads) {
    for (std::size_t k = 1; k <= heads; ++k)
      all.push_back(reference::ratio(-8 * static_cast<long>(k), static_cast<long>(heads)));
    return all;
  }
  all = exponents_by_recursion(below);
  const std::vector<rational> twice = exponents_by_recursion(2 * below);
  for (std::size_t k = 0; all.size() < heads; k += 2) all.push_back(twice[k]);
  return all;
}

// The weights of 16 tokens among themselves, all logits 0 but for the biases of a form with the slope 1/2.
core::tensor weights(const char* form, bool causal) {
  constexpr std::size_t n = 16;
  std::vector<double> positions(n), unit(n * n);
  for (std::size_t i = 0; i < n; ++i) positions[i] = static_cast<double>(i);
  for (std::size_t i = 0; i < n; ++i) unit[i * (n + 1)] = 1;
  const core::dtype type = core::dtype::f64;
  const core::tensor tokens = core::make_tensor(core::dtype::i64, {n}, positions);
  const auto algorithm = make_builtin("sequential").value();
  const auto bias = algorithm->evaluate(
      {reference::find_operation("alibi/bias"),
       type,
       {{"slopes", core::make_tensor(type, {1}, {0.5})}, {"query_position", tokens}, {"key_position", tokens}},
       {{"form", std::string(form)}, {"causal", causal}}});
  const core::tensor zeros = core::zeros(type, {1, 1, n, 1});
  return algorithm
      ->evaluate({reference::find_operation("attention/output"),
                  type,
                  {{"q", zeros},
                   {"k", zeros},
                   {"v", core::make_tensor(type, {1, 1, n, n}, unit)},
                   {"bias", bias.value().at("bias")}}})
      .value()
      .at("o");
}

double largest_difference(const core::tensor& x, const core::tensor& y) {
  double largest = 0;
  for (std::size_t k = 0; k < x.size(); ++k)
    largest = std::max(largest, std::fabs(x.values.storage()[k] - y.values.storage()[k]));
  return largest;
}

}  // namespace

TEST_CASE("alibi/slopes/named_forms_are_one_function", "[property][alibi]") {
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

TEST_CASE("alibi/slopes/recursion_is_the_same", "[property][alibi]") {
  for (std::size_t heads = 1; heads < 200; ++heads) {
    const std::vector<rational> all = exponents_by_recursion(heads);
    REQUIRE(all.size() == heads);
    for (std::size_t k = 0; k < heads; ++k) {
      INFO("head " << k << " of " << heads);
      CHECK(equal(all[k], alibi_exponent({"official", 8, heads}, k)));
    }
  }
}

// The forms are one under the causal mask alone: in both directions the weights of the first query differ by 0.39,
// which is 1 - e^-1/2 but for what the farthest keys add.
TEST_CASE("alibi/bias/forms_differ_without_the_mask", "[property][alibi]") {
  CHECK(largest_difference(weights("distance", true), weights("key", true)) < 1e-15);
  CHECK(largest_difference(weights("absolute", true), weights("key_from_last", true)) < 1e-15);
  CHECK(largest_difference(weights("absolute", false), weights("key", false)) ==
        Approx(-std::expm1(-0.5)).epsilon(0.01));
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
