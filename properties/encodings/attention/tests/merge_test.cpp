// Parts of attention small enough to merge by hand, and their gradients where there is nothing to weigh.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "reference/oracle.hpp"

using namespace assay;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

// Merges parts of two features for one query.
reference::certified_outputs merged(const std::vector<double>& parts, const std::vector<double>& lses,
                                    core::attributes settings = {}, bool gradient = false) {
  const core::operation& op = *reference::find_operation(gradient ? "attention/merge:vjp" : "attention/merge");
  core::request call{&op, core::dtype::f64, {}, std::move(settings)};
  call.inputs.emplace("parts", core::make_tensor(call.type, {1, 1, 1, lses.size(), 2}, parts));
  call.inputs.emplace("lses", core::make_tensor(call.type, {1, 1, 1, lses.size()}, lses));
  if (gradient) {
    call.inputs.emplace("grad_o", core::make_tensor(call.type, {1, 1, 1, 2}, std::vector<double>{1, 2}));
    call.inputs.emplace("grad_lse", core::make_tensor(call.type, {1, 1, 1}, std::vector<double>{4}));
  }
  return reference::certify(call);
}
std::vector<double> values(const reference::certified_outputs& all, const char* name) {
  const auto& x = all.at(name).rounded.values.storage();
  return {x.begin(), x.end()};
}
using numbers = std::vector<double>;

}  // namespace

TEST_CASE("attention/merge/by_hand", "[property]") {
  const core::attributes two{{"base", std::string("2")}};
  const auto quarter = merged({4, 8, 8, 16}, {3, 3 + std::log2(3.0)}, two);
  CHECK(values(quarter, "o").front() == Approx(7.0));
  CHECK(values(merged({4, 8, 8, 16}, {3, 3}, two), "o") == numbers{6, 12});
  CHECK(values(merged({4, 8, 8, 16}, {3, 3}, two), "lse") == numbers{4});
  CHECK(values(merged({1, 2, 3, 4, 5, 6, 7, 8}, {-1e4, -1e4, -1e4, -1e4}, two), "lse") == numbers{-9998});
  CHECK(values(merged({4, 8, 8, 16}, {0, 0}), "lse") == numbers{std::log(2.0)});
}

TEST_CASE("attention/merge/parts_without_keys", "[property]") {
  const core::attributes plus{{"empty", std::string("plus_infinity")}};
  const double nan = std::nan("");
  for (const double x : {7.0, nan}) {  // this value must not be read
    CHECK(values(merged({x, x, 8, 16}, {-inf, 1.5}), "o") == numbers{8, 16});
    CHECK(values(merged({x, x, 8, 16}, {-inf, 1.5}), "lse") == numbers{1.5});
    CHECK(values(merged({8, 16, x, x}, {1.5, inf}, plus), "o") == numbers{8, 16});
    CHECK(values(merged({x, x, x, x}, {-inf, -inf}), "o") == numbers{0, 0});
  }
  CHECK(values(merged({1, 1, 1, 1}, {-inf, -inf}), "lse") == numbers{-inf});
  CHECK(values(merged({1, 1, 1, 1}, {inf, -inf}, plus), "lse") == numbers{inf});
  CHECK(values(merged({}, {}, plus), "lse") == numbers{inf});
  CHECK(std::isnan(values(merged({1, 1, 1, 1}, {nan, 0}), "lse").front()));
  // A single part is the result, unless its lse is NaN or +inf.
  for (const double no_lse : {nan, inf})
    for (const char* output : {"o", "lse"})
      CHECK(std::isnan(values(merged({8, 16, 1, 1}, {no_lse, -inf}), output).front()));
}

TEST_CASE("attention/merge/gradients_by_hand", "[property]") {
  const auto gradients = merged({4, 8, 8, 16}, {3, 3}, {}, true);
  CHECK(values(gradients, "grad_parts") == numbers{0.5, 1, 0.5, 1});
  // g . (o_i - o) / 2 = -+5, and grad_lse / 2
  CHECK(values(gradients, "grad_lses") == numbers{-3, 7});
  const auto alone = merged({4, 8, 7, 7}, {3, -inf}, {}, true);
  CHECK(values(alone, "grad_parts") == numbers{1, 2, 0, 0});
  CHECK(values(alone, "grad_lses") == numbers{4, 0});
}
