// Paths short enough to compute by hand.
#include <catch2/catch.hpp>
#include <cmath>

#include "reference/oracle.hpp"

using namespace assay;
using core::dtype;
using core::make_tensor;

namespace {

// Two features for each token of a head.
core::tensor rows(std::vector<double> x) {
  const std::size_t n = x.size() / 2;
  return make_tensor(dtype::f64, {1, 1, n, 2}, std::move(x));
}
core::tensor numbers(std::vector<double> x) {
  const std::size_t n = x.size();
  return make_tensor(dtype::f64, {1, 1, n}, std::move(x));
}
core::tensor values(std::vector<double> x) {
  const std::size_t n = x.size();
  return make_tensor(dtype::f64, {1, 1, n, 1}, std::move(x));
}

std::vector<double> attended(core::tensors inputs) {
  inputs.emplace("v", values({1, 0, 0}));
  const auto made = reference::certify({reference::find_operation("contextual/path_attention"),
                                        dtype::f64,
                                        std::move(inputs),
                                        {{"scale", std::string("one")}}});
  const auto& o = made.at("o").rounded.values.storage();
  return {o.begin(), o.end()};
}
double share(double logit, std::vector<double> others) {
  double sum = std::exp(logit);
  for (const double x : others) sum += std::exp(x);
  return std::exp(logit) / sum;
}

}  // namespace

TEST_CASE("contextual/path_attention/by_hand", "[property]") {
  // The second token reflects the first key (1, 2) to (-1, 2); the third one halves its second feature: (-1, 1). A
  // token's w does not change its own key.
  const auto o = attended({{"q", rows({5, 5, 1, 1, 1, 1})},
                           {"k", rows({1, 2, 0, 1, 1, 0})},
                           {"w", rows({0, 1, 1, 0, 0, 1})},
                           {"beta", numbers({2, 2, 0.5})}});
  CHECK(o[0] == 1.0);
  CHECK(o[1] == Approx(share(1, {1})).epsilon(1e-15));
  CHECK(o[2] == Approx(share(0, {0.5, 1})).epsilon(1e-15));
}

TEST_CASE("contextual/path_attention/order", "[property]") {
  // The second token projects (1, 0) on (1, 1), then the third one projects it on the first axis: (1/2, 0). The other
  // order would leave (1/2, 1/2).
  const double half = std::sqrt(0.5);
  const auto o = attended({{"q", rows({0, 0, 0, 0, 2, 4})},
                           {"k", rows({1, 0, 0, 0, 0, 0})},
                           {"w", rows({1, 0, half, -half, 0, 1})},
                           {"beta", numbers({0, 1, 1})}});
  CHECK(o[2] == Approx(share(1, {0, 0})).epsilon(1e-12));
}

TEST_CASE("contextual/selective_rotation/by_hand", "[property]") {
  // Half of two sixths of a turn, from the cache and from the first token; then the angle returns to 0.
  const auto made = reference::certify({reference::find_operation("contextual/selective_rotation"),
                                        dtype::f64,
                                        {{"x", make_tensor(dtype::f64, {1, 2, 1, 2}, {2, 0, 0, 3})},
                                         {"phi", make_tensor(dtype::f64, {1, 2, 1, 1}, {M_PI / 3, -2 * M_PI / 3})},
                                         {"temperature", make_tensor(dtype::f64, {1}, {0.5})},
                                         {"s0", make_tensor(dtype::f64, {1, 1, 1}, {M_PI / 3})}},
                                        {}});
  const auto& y = made.at("y").rounded.values.storage();
  CHECK(y[0] == Approx(1.0).epsilon(1e-15));
  CHECK(y[1] == Approx(std::sqrt(3.0)).epsilon(1e-15));
  CHECK(std::fabs(y[2]) < 1e-15);
  CHECK(y[3] == Approx(3.0).epsilon(1e-15));
}

TEST_CASE("contextual/selective_rotation/no_token", "[property]") {
  const auto made = reference::certify({reference::find_operation("contextual/selective_rotation"),
                                        dtype::f64,
                                        {{"x", make_tensor(dtype::f64, {1, 0, 1, 2}, {})},
                                         {"phi", make_tensor(dtype::f64, {1, 0, 1, 1}, {})},
                                         {"temperature", make_tensor(dtype::f64, {1}, {0.5})},
                                         {"s0", make_tensor(dtype::f64, {1, 1, 1}, {8})}},
                                        {}});
  CHECK(made.at("s_n").rounded.values(0, 0, 0) == 8.0);
}
