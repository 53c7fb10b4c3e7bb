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
      // MPT's order gives the same slopes for any alpha_max; the official ones always use 8.
      CHECK(equal(alibi_exponent({"official", 16, heads, true}, k), alibi_exponent({"mpt", 16, heads}, k)));
      CHECK(equal(alibi_exponent({"official", 16, heads}, k), official));
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

TEST_CASE("alibi/slopes/heads_of_a_slice", "[property][alibi]") {
  const core::operation& op = *reference::find_operation("alibi/slopes");
  const auto slopes = [&](std::int64_t heads, std::int64_t all, std::int64_t first, const char* rule) {
    const core::request call{
        &op,
        core::dtype::f64,
        {},
        {{"heads", heads}, {"all_heads", all}, {"first_head", first}, {"rule", std::string(rule)}}};
    const auto outputs = make_builtin("optimized").value()->evaluate(call);
    const core::tensor proved = reference::certify(call).at("slopes").rounded;
    CHECK(core::identical(outputs.value().at("slopes"), proved));
    return std::vector<double>(proved.values.begin(), proved.values.end());
  };
  for (const char* rule : {"official", "naive", "mpt"}) {
    const std::vector<double> all = slopes(12, 0, 0, rule);
    CHECK(slopes(5, 12, 7, rule) == std::vector<double>(all.begin() + 7, all.end()));
    CHECK(slopes(4, 12, 0, rule) == std::vector<double>(all.begin(), all.begin() + 4));
    CHECK(slopes(5, 0, 7, rule) == slopes(5, 12, 7, rule));  // the last slopes of a model with 7 + 5 heads
  }
}

// Three keys whose logits are 0 without the bias, and values 1, 0, 0: the output is the weight of the first key.
TEST_CASE("alibi/attention/by_hand", "[property][alibi]") {
  const core::operation& op = *reference::find_operation("alibi/attention");
  const auto weights = [&](std::size_t n, core::attributes settings) {
    core::request call{&op, core::dtype::f64, {}, std::move(settings)};
    call.inputs = {{"q", core::zeros(call.type, {1, 1, n, 4})},
                   {"k", core::zeros(call.type, {1, 1, 3, 4})},
                   {"v", core::make_tensor(call.type, {1, 1, 3, 1}, {1.0, 0.0, 0.0})},
                   {"slopes", core::make_tensor(call.type, {1}, {std::log(2.0)})}};
    const core::tensor o = reference::certify(call).at("o").rounded;
    return std::vector<double>(o.values.begin(), o.values.end());
  };
  const auto near = [](const std::vector<double>& x, const std::vector<double>& y) {
    CHECK(x.size() == y.size());
    for (std::size_t k = 0; k < x.size(); ++k) CHECK(std::fabs(x[k] - y[k]) < 1e-15);
  };
  const auto first = [](const char* setting, const char* value) {
    return core::attributes{{setting, std::string(value)}};
  };
  for (const char* form : {"distance", "absolute"}) {
    near(weights(3, first("form", form)), {1.0, 1 / 3.0, 1 / 7.0});
    near(weights(1, first("form", form)), {1 / 7.0});  // behind two cached keys
  }
  near(weights(2, first("alignment", "first")), {1.0, 1 / 3.0});
  near(weights(2, {{"alignment", std::string("first")}, {"causal", false}}), {1 / 7.0, 1 / 7.0});
  near(weights(2, {{"causal", false}, {"form", std::string("absolute")}}), {1 / 4.0, 1 / 7.0});
  near(weights(1, first("bias_factor", "sqrt")), {1 / 21.0});  // of four features: twice the slope
  near(weights(1, first("bias_factor", "inverse_sqrt")), {1 / (1 + std::sqrt(2.0) + 2)});
  near(weights(5, {}), {0.0, 0.0, 1.0, 1 / 3.0, 1 / 7.0});  // two queries stand before the first key
}

TEST_CASE("alibi/slopes/another_largest_exponent_beside_the_official_rule", "[property][alibi]") {
  const auto optimized = make_builtin("optimized").value();
  const core::operation& op = *reference::find_operation("alibi/slopes");
  for (const double alpha : {0.0625, 4.0, 16.0})
    for (const std::int64_t heads : {1, 5, 8, 12}) {
      core::request call{
          &op, core::dtype::f32, {}, {{"heads", heads}, {"alpha_max", alpha}, {"alpha_of_official", true}}};
      const core::tensor slopes = reference::certify(call).at("slopes").rounded;
      CHECK(core::identical(optimized->evaluate(call).value().at("slopes"), slopes));
      call.attributes = {{"heads", heads}, {"alpha_max", alpha}, {"rule", std::string("mpt")}};
      CHECK(core::identical(reference::certify(call).at("slopes").rounded, slopes));
    }
}

TEST_CASE("alibi/slopes/settings_that_there_are_not", "[property][alibi]") {
  const core::operation& op = *reference::find_operation("alibi/slopes");
  CHECK(core::check_request({&op, core::dtype::f64, {}, {{"alpha_max", 8.0625}}}));
  CHECK_FALSE(core::check_request({&op, core::dtype::f64, {}, {{"alpha_max", 8.1}}}));
  CHECK_FALSE(core::check_request({&op, core::dtype::f64, {}, {{"heads", std::int64_t{0}}}}));
  CHECK_FALSE(core::check_request({&op, core::dtype::f64, {}, {{"rule", std::string("bloom")}}}));
  const auto slice = [&](std::int64_t heads, std::int64_t all, std::int64_t first) {
    return core::check_request(
        {&op, core::dtype::f64, {}, {{"heads", heads}, {"all_heads", all}, {"first_head", first}}});
  };
  CHECK(slice(4, 12, 8));
  CHECK_FALSE(slice(4, 12, 9));
  CHECK(slice(8, 0, 1));  // from a model of nine heads
}
