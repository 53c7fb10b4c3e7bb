// Shifts and scores small enough to check by hand.
#include <catch2/catch.hpp>
#include <limits>

#include "reference/oracle.hpp"

using namespace assay;

namespace {

using inputs = std::map<std::string, std::pair<core::shape, std::vector<double>>>;
std::vector<double> output_of(const char* operation, const inputs& given, core::attributes settings = {}) {
  core::request call{reference::find_operation(operation), core::dtype::f64, {}, std::move(settings)};
  for (const auto& [name, x] : given) call.inputs.emplace(name, core::make_tensor(call.type, x.first, x.second));
  const core::tensor out = reference::certify(call).begin()->second.rounded;
  return {out.values.begin(), out.values.end()};
}
constexpr double inf = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("transformer_xl/shift/by_hand", "[property]") {
  const inputs x{{"x", {{1, 1, 2, 3}, {3, 2, 1, 6, 5, 4}}}};
  CHECK(output_of("transformer_xl/shift", x) == std::vector<double>{2, 1, 0, 6, 5, 4});
  CHECK(output_of("transformer_xl/shift", x, {{"above", std::string("masked")}}) ==
        std::vector<double>{2, 1, -inf, 6, 5, 4});
  const inputs square{{"x", {{1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}}}};
  CHECK(output_of("transformer_xl/shift", square) == std::vector<double>{3, 0, 4, 5, 6, 0, 7, 8, 9});
  CHECK(output_of("transformer_xl/shift", square, {{"above", std::string("zero")}}) ==
        std::vector<double>{3, 0, 0, 5, 6, 0, 7, 8, 9});
  const inputs tall{{"x", {{1, 1, 3, 1}, {1, 2, 3}}}};  // more queries than keys
  CHECK(output_of("transformer_xl/shift", tall) == std::vector<double>{2, 0, 3});
}

TEST_CASE("transformer_xl/shift_both_sides/by_hand", "[property]") {
  const inputs x{{"x", {{1, 1, 2, 4}, {2, 1, 0, -1, 12, 11, 10, 9}}}};  // the distances 2 to -1 of two queries
  CHECK(output_of("transformer_xl/shift_both_sides", x) == std::vector<double>{0, -1, 11, 10});
}

TEST_CASE("transformer_xl/scores/by_hand", "[property]") {
  const inputs x{{"q", {{1, 1, 2, 1}, {1, 2}}},
                 {"k", {{1, 1, 3, 1}, {1, 10, 100}}},
                 {"u", {{1, 1}, {1}}},
                 {"v", {{1, 1}, {-1}}},
                 {"p", {{1, 3, 1}, {1000, 2000, 4000}}}};
  CHECK(output_of("transformer_xl/scores", x) ==
        std::vector<double>{2 * 1 + 0 * 2000, 2 * 10 + 0 * 1000, -inf, 3 + 4000, 30 + 2000, 300 + 1000});
  CHECK(output_of("transformer_xl/scores", x, {{"clamp", std::int64_t{1}}})[3] == 3 + 2000);
}
