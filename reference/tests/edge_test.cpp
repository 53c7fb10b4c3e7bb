// The table of special values, in the certified truth and in every algorithm that has an answer for them.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "reference/oracle.hpp"

using namespace assay;
using namespace assay::reference;
using core::dtype;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
const double not_a_number = std::numeric_limits<double>::quiet_NaN();

core::tensors one_lane(const std::vector<double>& log_p, const std::vector<double>& h, double s0) {
  const std::size_t n = h.size();
  return {{"log_p", core::make_tensor(dtype::f64, {1, n, 1}, log_p)},
          {"h", core::make_tensor(dtype::f64, {1, n, 1}, h)},
          {"s0", core::make_tensor(dtype::f64, {1, 1}, {s0})}};
}

std::vector<double> values(const core::tensor& t) { return {t.values.begin(), t.values.end()}; }

// s as the truth and as sequential, tree and linear compute it: all have the same special values, and are near each
// other.
std::vector<double> states(const core::tensors& in) {
  const core::operation& op = *find_operation("heinsen/scan");
  const auto truth = certify({&op, dtype::f64, in});
  REQUIRE(count_undecided(truth) == 0);
  const std::vector<double> s = values(truth.at("s").rounded);
  for (const auto c : {accuracy_class::sequential, accuracy_class::tree, accuracy_class::linear}) {
    INFO(name_of(c));
    const std::vector<double> other = values(evaluate({&op, dtype::f64, in}, c).at("s"));
    for (std::size_t i = 0; i < s.size(); ++i)
      CHECK((core::same_value(other[i], s[i]) || std::fabs(other[i] - s[i]) <= 1e-14 * (1 + std::fabs(s[i]))));
  }
  return s;
}

bool same(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), core::same_value);
}

struct gradients {
  std::vector<double> a, h, s0;
};
gradients gradients_of(core::tensors in, const std::vector<double>& grad_s, double grad_s_n) {
  in.emplace("grad_s", core::make_tensor(dtype::f64, {1, grad_s.size(), 1}, grad_s));
  in.emplace("grad_s_n", core::make_tensor(dtype::f64, {1, 1}, {grad_s_n}));
  const core::operation& op = *find_operation("heinsen/scan:vjp");
  const auto truth = certify({&op, dtype::f64, in});
  const core::tensors by_step = evaluate({&op, dtype::f64, in}, accuracy_class::sequential);
  for (const auto& [name, t] : by_step)
    for (std::size_t i = 0; i < t.size(); ++i)
      CHECK(std::fabs(t.values.storage()[i] - truth.at(name).rounded.values.storage()[i]) < 1e-14);
  return {values(truth.at("grad_log_p").rounded), values(truth.at("grad_h").rounded),
          values(truth.at("grad_s0").rounded)};
}

}  // namespace

TEST_CASE("heinsen/scan/special_values", "[unit][heinsen]") {
  const double log_2 = std::log(2.0);
  CHECK(same(states(one_lane({-inf}, {3}, 7)), {3}));                   // p = 0 cuts the past
  CHECK(same(states(one_lane({0}, {0}, 0)), {log_2}));                  // p = 1
  CHECK(same(states(one_lane({-1, -2}, {-inf, -inf}, 5)), {4, 2}));     // h = -inf: exact sums
  CHECK(same(states(one_lane({-1}, {2}, -inf)), {2}));                  // no past
  CHECK(same(states(one_lane({-1, -1}, {-inf, 4}, -inf)), {-inf, 4}));  // -inf prefix
  CHECK(same(states(one_lane({-inf, -1}, {-inf, 4}, 3)), {-inf, 4}));   // reset to nothing
  CHECK(same(states(one_lane({-0.0}, {-inf}, 1)), states(one_lane({0.0}, {-inf}, 1))));
  CHECK(same(states(one_lane({0, 0, 0}, {-inf, -inf, -inf}, 0.1)), {0.1, 0.1, 0.1}));  // identity elements
  CHECK(same(states(one_lane({-1}, {-100}, 1)), {std::log1p(std::exp(-100.0))}));      // 3.7e-44, not 0
  CHECK(same(states(one_lane({}, {}, 2)), {}));
}

TEST_CASE("heinsen/scan/nan_and_infinity", "[unit][heinsen]") {
  CHECK(same(states(one_lane({-1, -1, -inf}, {0, not_a_number, 0}, 0)),
             {states(one_lane({-1}, {0}, 0))[0], not_a_number, not_a_number}));
  const core::operation& op = *find_operation("heinsen/scan");
  const auto plus = certify({&op, dtype::f64, one_lane({-1, -1}, {inf, 0}, 0)});
  CHECK(same(values(plus.at("s").rounded), {inf, inf}));
  const auto undefined = certify({&op, dtype::f64, one_lane({-inf}, {0}, inf)});  // 0 * inf
  CHECK(same(values(undefined.at("s").rounded), {not_a_number}));
}

TEST_CASE("attention/output/nan_in_a_key_reaches_the_queries_that_see_it", "[unit][attention]") {
  const auto row = [](const char* name, core::shape shape, std::vector<double> all) {
    return std::pair<const std::string, core::tensor>(name, core::make_tensor(dtype::f64, std::move(shape), all));
  };
  const core::operation& op = *find_operation("attention/output");
  const auto output = [&](const std::vector<double>& bias) {
    const core::tensors in{row("q", {1, 1, 1, 1}, {1}), row("k", {1, 1, 3, 1}, {1, not_a_number, 1}),
                           row("v", {1, 1, 3, 1}, {1, 2, 3}), row("bias", {1, 1, 3}, bias)};
    return values(certify({&op, dtype::f64, in}).at("o").rounded);
  };
  CHECK(same(output({0, 0, 0}), {not_a_number}));
  CHECK(same(output({0, 0, -inf}), {not_a_number}));  // a mask after it hides nothing of it
  CHECK(same(output({-inf, 0, -inf}), {not_a_number}));
  CHECK(same(output({0, -inf, 0}), {2}));
  CHECK(same(output({-inf, -inf, -inf}), {0}));
}

TEST_CASE("heinsen/scan/outside_the_domain_the_formula_holds", "[unit][heinsen]") {
  // log p > 0 is no error: the recurrence grows.
  const std::vector<double> s = states(one_lane({1, 2}, {0, -inf}, 0.5));
  CHECK(s[0] == Approx(std::log(std::exp(1.5) + 1)));
  CHECK(s[1] == s[0] + 2);
}

TEST_CASE("heinsen/scan/gradients_at_infinity", "[unit][heinsen]") {
  // h = -inf and a finite state: w = 1.
  auto g = gradients_of(one_lane({-1, -1}, {-inf, -inf}, 0), {1, 2}, 4);
  CHECK(same(g.a, {7, 6}));
  CHECK(same(g.h, {0, 0}));
  CHECK(same(g.s0, {7}));
  // The first state is -inf: nothing passes through its token.
  g = gradients_of(one_lane({-1, -1}, {-inf, 3}, -inf), {1, 2}, 0);
  CHECK(same(g.a, {0, 0}));
  CHECK(same(g.h, {0, 2}));
  CHECK(same(g.s0, {0}));
  // p = 0: w = 0, v = 1.
  g = gradients_of(one_lane({-1, -inf}, {0, 1}, 0), {0, 3}, 0);
  CHECK(same(g.h, {0, 3}));
  CHECK(same(g.s0, {0}));
}

TEST_CASE("heinsen/scan/empty", "[unit][heinsen]") {
  const core::operation& op = *find_operation("heinsen/scan");
  const auto truth = certify({&op, dtype::f64, one_lane({}, {}, 2.5)});
  CHECK(truth.at("s").rounded.shape() == core::shape{1, 0, 1});
  CHECK(same(values(truth.at("s_n").rounded), {2.5}));
  const auto g = gradients_of(one_lane({}, {}, 2.5), {}, 3);
  CHECK(same(g.s0, {3}));
  for (const core::shape& s : {core::shape{0, 3, 2}, core::shape{2, 3, 0}}) {
    const core::tensors in{{"log_p", core::zeros(dtype::f32, s)},
                           {"h", core::zeros(dtype::f32, s)},
                           {"s0", core::zeros(dtype::f32, {s[0], s[2]})}};
    CHECK(certify({&op, dtype::f32, in}).at("s").rounded.shape() == s);
    CHECK(evaluate({&op, dtype::f32, in}, accuracy_class::cumsum).at("s_n").shape() == core::shape{s[0], s[2]});
  }
}

TEST_CASE("heinsen/scan/one_token_after_an_empty_chunk", "[unit][heinsen]") {
  // The published module broadcasts an empty state here and gives 2.3133.
  const core::operation& op = *find_operation("heinsen/scan");
  core::tensors next = one_lane({-1}, {2}, 0);
  next.at("s0") = certify({&op, dtype::f64, one_lane({}, {}, 0)}).at("s_n").rounded;
  CHECK(values(certify({&op, dtype::f64, next}).at("s").rounded)[0] == Approx(2.0486).margin(5e-5));
}
