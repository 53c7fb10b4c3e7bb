// Conventions and scores of rotary encoding, small enough to check by hand, and calls that are refused.
#include <catch2/catch.hpp>
#include <cmath>
#include <string>

#include "reference/oracle.hpp"

using namespace assay;

namespace {

using core::dtype;
using std::string;

core::request call_of(const char* operation, core::attributes settings) {
  return {reference::find_operation(operation), dtype::f64, {}, std::move(settings)};
}
std::vector<double> turned_by_hand(const std::vector<double>& x, double position, core::attributes settings) {
  core::request call = call_of("rope/rotate", std::move(settings));
  call.inputs = {{"x", core::make_tensor(dtype::f64, {1, 1, 1, x.size()}, x)},
                 {"position", core::make_tensor(dtype::i64, {1, 1}, {position})}};
  const core::tensor y = reference::certify(call).at("y").rounded;
  return {y.values.begin(), y.values.end()};
}
/// A call with one head of width 2, whose one pair has the frequency 1.
core::request scores_of(const std::vector<double>& q, const std::vector<double>& query_positions,
                        const std::vector<double>& k, const std::vector<double>& key_positions,
                        core::attributes settings) {
  core::request call = call_of("rope/scores", std::move(settings));
  call.inputs = {{"q", core::make_tensor(dtype::f64, {1, query_positions.size(), 1, 2}, q)},
                 {"k", core::make_tensor(dtype::f64, {1, key_positions.size(), 1, 2}, k)},
                 {"query_position", core::make_tensor(dtype::i64, {1, query_positions.size()}, query_positions)},
                 {"key_position", core::make_tensor(dtype::i64, {1, key_positions.size()}, key_positions)}};
  return call;
}

constexpr double cosine_of_2 = -0.4161468365471424, sine_of_2 = 0.90929742682568170, cosine_of_1 = 0.54030230586813972,
                 sine_of_1 = 0.84147098480789651;
const core::attributes unscaled{{"scale", string("one")}};

}  // namespace

TEST_CASE("rope/rotate/conventions_by_hand", "[property]") {
  const auto clockwise = turned_by_hand({1, 0, 7}, 2, {{"direction", string("clockwise")}});
  CHECK(clockwise == std::vector<double>{cosine_of_2, -sine_of_2, 7});
  const auto last = turned_by_hand({7, 7, 7, 1, 0}, 2, {{"at", string("end")}, {"rotary", std::int64_t{1}}});
  CHECK(last == std::vector<double>{7, 7, 7, cosine_of_2, sine_of_2});
  // The two pairs (t, t + 2) have the frequencies 1 and 1/2; only the first pair turns. As a block, the pair would be
  // (0, 1).
  core::attributes proportional{
      {"partial", string("proportional")}, {"layout", string("half_split")}, {"rotary", std::int64_t{1}}};
  CHECK(turned_by_hand({1, 7, 0, 7, 7}, 1, proportional) == std::vector<double>{cosine_of_1, 7, sine_of_1, 7, 7});
  // With base 16, the second of four pairs has the frequency 1/2; in a block of two pairs it would have 1/4.
  proportional = {{"partial", string("proportional")}, {"rotary", std::int64_t{2}}, {"base", 16.0}};
  CHECK(turned_by_hand({7, 7, 1, 0, 7, 7, 7, 7}, 2, proportional)[2] == cosine_of_1);
  const auto twice = turned_by_hand({1, 0, 7}, 2, {{"magnitude", 2.0}});
  // Coordinates that do not turn are not multiplied.
  CHECK(twice == std::vector<double>{2 * cosine_of_2, 2 * sine_of_2, 7});
}

TEST_CASE("rope/scores/by_hand", "[property]") {
  // A unit vector turned by its position: scores are cosines of the differences, or sines for a perpendicular vector.
  const std::vector<double> q{1, 0}, k{1, 0, 0, 1};
  const auto s = [&](core::attributes settings) {
    const core::tensor all = reference::certify(scores_of(q, {5}, k, {4, 3}, std::move(settings))).at("s").rounded;
    return std::vector<double>(all.values.begin(), all.values.end());
  };
  CHECK(s(unscaled) == std::vector<double>{cosine_of_1, sine_of_2});
  CHECK(s({{"scale", string("one")}, {"direction", string("clockwise")}}) ==
        std::vector<double>{cosine_of_1, -sine_of_2});
  CHECK(s({{"scale", string("one")}, {"logit_factor", 0.5}})[0] == cosine_of_1 / 2);
  CHECK(s({{"scale", string("one")}, {"magnitude", 2.0}})[0] == 4 * cosine_of_1);
  CHECK(std::fabs(s({})[0] - cosine_of_1 / std::sqrt(2.0)) < 1e-16);

  // The gradient of q turns all keys back by their distances.
  core::request call = scores_of(q, {5}, k, {4, 3}, unscaled);
  call.operation = reference::find_operation("rope/scores:vjp");
  call.inputs.emplace("grad_s", core::make_tensor(dtype::f64, {1, 1, 1, 2}, {1, 0}));
  const auto gradients = reference::certify(call);
  const auto &grad_q = gradients.at("grad_q").rounded.values, &grad_k = gradients.at("grad_k").rounded.values;
  CHECK(grad_q(0, 0, 0, 0) == cosine_of_1);
  CHECK(grad_q(0, 0, 0, 1) == -sine_of_1);
  CHECK(grad_k(0, 0, 0, 1) == sine_of_1);
  CHECK(grad_k(0, 1, 0, 0) == 0.0);
}

TEST_CASE("rope/scores/heads_of_queries_follow_one_another_in_their_group", "[property][gate]") {
  core::request call = call_of("rope/scores", {{"scale", string("one")}, {"group", std::int64_t{2}}});
  call.inputs = {{"q", core::make_tensor(dtype::f64, {1, 1, 4, 1}, {1, 2, 3, 4})},
                 {"k", core::make_tensor(dtype::f64, {1, 1, 2, 1}, {10, 1000})},
                 {"query_position", core::zeros(dtype::i64, {1, 1})},
                 {"key_position", core::zeros(dtype::i64, {1, 1})}};
  const core::tensor s = reference::certify(call).at("s").rounded;
  CHECK(std::vector<double>(s.values.begin(), s.values.end()) == std::vector<double>{10, 20, 3000, 4000});
  call.operation = reference::find_operation("rope/scores:vjp");
  call.inputs.emplace("grad_s", core::make_tensor(dtype::f64, {1, 4, 1, 1}, {1, 1, 1, 1}));
  const core::tensor grad_k = reference::certify(call).at("grad_k").rounded;
  CHECK(std::vector<double>(grad_k.values.begin(), grad_k.values.end()) == std::vector<double>{3, 7});
  call.attributes["group"] = std::int64_t{3};
  CHECK(core::check_request(call).error().message.find(
            "must have shape [B, n, h*u, d] with h = 2 (from 'k') and u = 3 (from 'group')") != string::npos);
}

TEST_CASE("rope/rotate/settings_that_exclude_each_other_are_refused", "[gate]") {
  core::request call = call_of("rope/rotate", {{"partial", string("proportional")}, {"at", string("end")}});
  call.inputs = {{"x", core::zeros(dtype::f64, {1, 1, 1, 4})}, {"position", core::zeros(dtype::i64, {1, 1})}};
  const auto refused = core::check_request(call);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("turns the first pairs") != string::npos);
  call.attributes = {{"direction", string("left")}};
  CHECK(core::check_request(call).error().message.find("counterclockwise") != string::npos);
  call.attributes = {{"magnitude", 0.0}};
  CHECK_FALSE(core::check_request(call));
}
