// Logits of DAPE small enough to check by hand.
#include <catch2/catch.hpp>
#include <limits>

#include "reference/oracle.hpp"

using namespace assay;

namespace {

// One head and one hidden unit with slope 1/4: the network gives w2 leaky(w1_s s + w1_b bias + c1) + c2.
core::request by_hand(const core::operation& op, std::vector<double> s, std::vector<double> bias, std::size_t kernel,
                      std::vector<double> w1, std::vector<double> w2) {
  const std::size_t m = s.size();
  return {&op,
          core::dtype::f64,
          {{"s", core::make_tensor(core::dtype::f64, {1, 1, 1, m}, s)},
           {"bias", core::make_tensor(core::dtype::f64, {1, 1, m}, bias)},
           {"w1", core::make_tensor(core::dtype::f64, {1, 2, kernel}, w1)},
           {"c1", core::make_tensor(core::dtype::f64, {1}, {1.0})},
           {"w2", core::make_tensor(core::dtype::f64, {1, 1, kernel}, w2)},
           {"c2", core::make_tensor(core::dtype::f64, {1}, {0.5})}},
          {{"kernel", static_cast<std::int64_t>(kernel)}, {"slope", 0.25}}};
}
const core::operation& logits() { return *reference::find_operation("dape/logits"); }
constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("dape/formula/by_hand", "[property]") {
  core::request call = by_hand(logits(), {3, -5, 7}, {-1, -2, -infinity}, 1, {2, 1}, {4});
  auto a = reference::certify(call).at("a").rounded.values;
  CHECK(a(0, 0, 0, 0) == 3 - 1 + 4 * 6 + 0.5);            // 2 * 3 - 1 + 1 = 6
  CHECK(a(0, 0, 0, 1) == -5 - 2 + 4 * -11 * 0.25 + 0.5);  // 2 * -5 - 2 + 1 = -11, below 0
  CHECK(a(0, 0, 0, 2) == -infinity);
  call.attributes["form"] = std::string("plain");
  a = reference::certify(call).at("a").rounded.values;
  CHECK(a(0, 0, 0, 0) == 3 + 4 * 6 + 0.5);
}

TEST_CASE("dape/formula/kernel_by_hand", "[property]") {
  // Hidden units at keys 0, 1, 2 from scores 3, 5 and a masked element: y = s(j - 1) + 10 s(j) + 100 s(j + 1) + 1.
  const core::request call = by_hand(logits(), {3, 5, 7}, {0, 0, -infinity}, 3, {1, 10, 100, 0, 0, 0}, {1, 2, 4});
  const double y0 = 30 + 500 + 1, y1 = 3 + 50 + 1, y2 = 5 + 1;
  const auto a = reference::certify(call).at("a").rounded.values;
  CHECK(a(0, 0, 0, 0) == 3 + 2 * y0 + 4 * y1 + 0.5);
  CHECK(a(0, 0, 0, 1) == 5 + y0 + 2 * y1 + 4 * y2 + 0.5);  // the hidden unit of a masked key counts
  CHECK(a(0, 0, 0, 2) == -infinity);
}

TEST_CASE("dape/formula/masked_elements_have_the_gradient_0", "[property]") {
  core::request call = by_hand(*reference::find_operation("dape/logits:vjp"), {3, 7}, {-1, -infinity}, 1, {2, 1}, {4});
  call.inputs.emplace("grad_a", core::make_tensor(core::dtype::f64, {1, 1, 1, 2}, {1.0, 1.0}));
  const auto gradient = reference::certify(call);
  CHECK(gradient.at("grad_s").rounded.values(0, 0, 0, 0) == 1 + 4 * 2);
  CHECK(gradient.at("grad_s").rounded.values(0, 0, 0, 1) == 0.0);
  CHECK(gradient.at("grad_bias").rounded.values(0, 0, 0) == 1 + 4);
  CHECK(gradient.at("grad_bias").rounded.values(0, 0, 1) == 0.0);
  CHECK(gradient.at("grad_c2").rounded.values(0) == 1.0);
}

TEST_CASE("dape/formula/even_kernels_are_refused", "[property]") {
  CHECK_FALSE(core::conflict_within(logits(), core::completed(logits(), {{"kernel", std::int64_t{2}}})).empty());
}
