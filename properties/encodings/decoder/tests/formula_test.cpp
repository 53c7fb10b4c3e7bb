// Calls small enough to compute by hand.
#include <catch2/catch.hpp>
#include <cmath>

#include "reference/oracle.hpp"

using namespace assay;
using core::dtype;
using core::make_tensor;

namespace {

core::tensor reals(core::shape s, std::vector<double> x) { return make_tensor(dtype::f64, std::move(s), std::move(x)); }
core::tensor whole(core::shape s, std::vector<double> x) { return make_tensor(dtype::i64, std::move(s), std::move(x)); }

std::vector<double> o_of(const char* operation, core::tensors inputs, core::attributes settings) {
  const auto made =
      reference::certify({reference::find_operation(operation), dtype::f64, std::move(inputs), std::move(settings)});
  const auto& x = made.at("o").rounded.values.storage();
  return {x.begin(), x.end()};
}

// One head of one feature; queries of 0 weigh all keys that they see equally.
core::tensors of_three_tokens(std::vector<double> documents) {
  return {{"q", reals({1, 1, 3, 1}, {0, 0, 0})},
          {"k", reals({1, 1, 3, 1}, {1, 2, 3})},
          {"v", reals({1, 1, 3, 1}, {2, 4, 9})},
          {"query_norm", reals({1}, {1})},
          {"key_norm", reals({1}, {1})},
          {"slope", reals({1}, {std::log(2)})},
          {"sink", reals({1}, {0})},
          {"position", whole({1, 3}, {0, 1, 2})},
          {"document", whole({1, 3}, std::move(documents))}};
}
const core::attributes plain{{"norm", std::string("none")}, {"layout", std::string("none")}};

}  // namespace

TEST_CASE("decoder/attention/means_of_what_is_seen", "[property]") {
  CHECK(o_of("decoder/attention", of_three_tokens({7, 7, 7}), plain) == std::vector<double>{2, 3, 5});
  // Tokens of another document are hidden, wherever they are.
  CHECK(o_of("decoder/attention", of_three_tokens({7, -1, 7}), plain) == std::vector<double>{2, 4, 5.5});
  core::attributes with_sink = plain;
  with_sink["sinks"] = true;
  CHECK(o_of("decoder/attention", of_three_tokens({1, 2, 3}), with_sink) == std::vector<double>{1, 2, 4.5});
}

TEST_CASE("decoder/attention/a_slope_halves_for_each_token", "[property]") {
  core::attributes biased = plain;
  biased["alibi"] = true;
  const auto o = o_of("decoder/attention", of_three_tokens({0, 0, 0}), biased);
  CHECK(o[1] == Approx((4 + 2 / 2.0) / 1.5).epsilon(1e-14));
  CHECK(o[2] == Approx((9 + 4 / 2.0 + 2 / 4.0) / 1.75).epsilon(1e-14));
}

TEST_CASE("decoder/attention/temperatures", "[property]") {
  // Place 3 with a context of 2: log 3 / log 2; with a floor at 2: 1 + log(2) / 10.
  core::tensors inputs = of_three_tokens({0, 0, 0});
  inputs["q"] = reals({1, 1, 3, 1}, {1, 1, 1});
  inputs["k"] = reals({1, 1, 3, 1}, {0, 0, 1});
  inputs["v"] = reals({1, 1, 3, 1}, {0, 0, 1});
  const auto weight = [&](const char* rule) {
    core::attributes settings = plain;
    settings["temperature"] = std::string(rule);
    settings["trained_length"] = std::int64_t{2};
    return o_of("decoder/attention", inputs, settings)[2];
  };
  const auto share = [](double logit) { return std::exp(logit) / (std::exp(logit) + 2); };
  CHECK(weight("none") == Approx(share(1)).epsilon(1e-14));
  CHECK(weight("log_n") == Approx(share(std::log(3) / std::log(2))).epsilon(1e-14));
  CHECK(weight("floored") == Approx(share(1 + 0.1 * std::log(2))).epsilon(1e-14));
}

TEST_CASE("decoder/latent/keys_and_values_of_latents", "[property]") {
  // At position 0 nothing turns: the logits are 2 * 3 c and q' k'.
  const core::tensors inputs{{"q", reals({1, 1, 1, 1}, {2})},      {"q_turned", reals({1, 1, 1, 2}, {1, 0})},
                             {"latent", reals({1, 2, 1}, {0, 1})}, {"k_turned", reals({1, 2, 2}, {6, 5, 0, 7})},
                             {"key_up", reals({1, 1, 1}, {3})},    {"value_up", reals({1, 1, 1}, {8})},
                             {"position", whole({1, 2}, {0, 0})}};
  CHECK(o_of("decoder/latent", inputs, {{"scale", std::string("one")}}) == std::vector<double>{4});
}

TEST_CASE("decoder/paged/reads_the_pages_of_its_row", "[property]") {
  // Two rows, pages of two places: row 1 has page 2 and the first place of page 0; row 2 has page 1 alone.
  const core::tensors inputs{{"q", reals({2, 1, 1, 1}, {0, 0})},
                             {"key_pages", reals({3, 2, 1, 1}, {1, 1, 1, 1, 1, 1})},
                             {"value_pages", reals({3, 2, 1, 1}, {1, 100, 5, 7, 2, 6})},
                             {"table", whole({2, 2}, {2, 0, 1, 1})},
                             {"length", whole({2}, {3, 2})}};
  CHECK(o_of("decoder/paged", inputs, {}) == std::vector<double>{3, 6});
}
