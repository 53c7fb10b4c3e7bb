// Scores small enough to check by hand: all vectors have width 1.
#include <catch2/catch.hpp>

#include "reference/oracle.hpp"

using namespace assay;

TEST_CASE("xlnet/scores/by_hand", "[property]") {
  core::request call{reference::find_operation("xlnet/scores"), core::dtype::f64, {}};
  const auto put = [&](const char* name, core::shape shape, std::vector<double> x) {
    call.inputs.emplace(name, core::make_tensor(call.operation->input(name)->type_in(call.type), std::move(shape), x));
  };
  put("q", {1, 1, 2, 1}, {1, 2});
  put("k", {1, 1, 2, 1}, {1, 10});
  put("u", {1, 1}, {1});
  put("v", {1, 1}, {0});
  put("w", {1, 1}, {-1});
  put("p", {1, 4, 1}, {9999, 100, 200, 300});  // for the distances 2, 1, 0, -1
  put("e", {1, 2, 1}, {1000, 2000});
  put("other_segment", {1, 2, 2}, {0, 1, 1, 0});
  const core::tensor s = reference::certify(call).at("s").rounded;
  CHECK(std::vector<double>(s.values.begin(), s.values.end()) ==
        std::vector<double>{2 + 200, 20 + 300, 3 + 2 * 100 + 2000, 30 + 2 * 200 + 1000});
}
