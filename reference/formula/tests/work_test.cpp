// The work of programs is known before they are evaluated.
#include "reference/formula/work.hpp"

#include <catch2/catch.hpp>

#include "reference/formula/text.hpp"

using namespace assay;
using namespace assay::reference;

namespace {

formula::program working(const std::string& nodes, int output) {
  const auto p = formula::read_program(R"({"schema": "assay-program/1", "nodes": [)" + nodes +
                                       R"(], "outputs": [{"name": "y", "node": )" + std::to_string(output) + "}]}");
  INFO((p ? std::string() : p.error().message));
  REQUIRE(p.has_value());
  return *p;
}
std::string matrix(const std::string& name, int rows, int columns) {
  return R"({"op": "input", "name": ")" + name + R"(", "kind": "real", "shape": [)" + std::to_string(rows) + ", " +
         std::to_string(columns) + "]}";
}

}  // namespace

TEST_CASE("formula/cost/counts_terms_functions_and_what_outputs_need", "[unit]") {
  const std::string product =
      matrix("x", 4, 5) + "," + matrix("y", 6, 5) + R"(, {"op": "contract", "in": [0, 1], "of": "ad,bd->ab"},
      {"op": "exp", "in": [2]}, {"op": "sum", "in": [3], "axes": [0, 1]}, {"op": "log_sum_exp", "in": [2], "axes": [0]})";
  CHECK(formula::work_of(working(product, 0)) == 20);
  CHECK(formula::work_of(working(product, 2)) == 20 + 30 + 4 * 6 * 5);
  CHECK(formula::work_of(working(product, 4)) == 20 + 30 + 120 + 24 * 32 + 24);
  CHECK(formula::work_of(working(product, 5)) == 20 + 30 + 120 + 24 * 32);
  CHECK(formula::check_work(working(product, 2), 170).has_value());
  CHECK(formula::check_work(working(product, 2), 169).error().message ==
        "node 2 (contract): up to here the program needs more than 169 additions");
}

TEST_CASE("formula/cost/a_short_text_that_asks_for_too_much_is_refused", "[unit]") {
  // A million million million products: elements alone do not show it.
  std::string bomb = matrix("x", 8192, 8192) + R"(, {"op": "contract", "in": [0, 0], "of": "ad,bd->ab"})";
  for (int k = 1; k < 8; ++k)
    bomb += R"(, {"op": "contract", "in": [)" + std::to_string(k) + R"(, 0], "of": "ad,bd->ab"})";
  const auto p = working(bomb, 8);
  CHECK(formula::work_of(p) == (std::uint64_t{1} << 26) + 8 * (std::uint64_t{1} << 39));
  CHECK(formula::check_work(p, std::uint64_t{1} << 40).error().message ==
        "node 2 (contract): up to here the program needs more than 1099511627776 additions");
  CHECK(formula::check_work(p, std::uint64_t{1} << 30).error().message.starts_with("node 1 (contract)"));
  // Sums over an empty axis are cheap, and so are arrays without elements.
  CHECK(formula::work_of(working(matrix("x", 0, 9) + R"(, {"op": "contract", "in": [0, 0], "of": "da,db->ab"})", 1)) ==
        81);
}
