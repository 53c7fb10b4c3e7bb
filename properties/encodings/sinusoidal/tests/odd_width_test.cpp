// What stands in the columns of an odd width, by its three conventions.
#include <catch2/catch.hpp>
#include <cmath>

#include "properties/encodings/sinusoidal/tests/tables.hpp"

using namespace assay;
using namespace assay::properties;
using namespace assay::properties::encodings::sinusoidal::testing;

namespace {

std::vector<double> row(const char* odd, std::size_t width, double position, const char* rule = "paper") {
  core::request call = table_call(core::dtype::f64, {position}, width, "cosine");
  call.attributes["layout"] = std::string("half_split");
  call.attributes["odd"] = std::string(odd);
  call.attributes["rule"] = std::string(rule);
  const auto truth = reference::certify(call);
  const auto& p = truth.at("p").rounded.values.storage();
  for (const char* builtin : {"optimized", "sequential"}) {
    const core::tensor again = make_builtin(builtin).value()->evaluate(call).value().at("p");
    for (std::size_t k = 0; k < p.size(); ++k) CHECK(std::fabs(again.values.storage()[k] - p[k]) < 1e-15);
  }
  return {p.begin(), p.end()};
}

}  // namespace

// cos 1, cos 0.01, sin 1, sin 0.01, 0: the frequencies of width 4, as timestep_embedding of openai/guided-diffusion.
TEST_CASE("sinusoidal/table/padded_is_the_even_width_and_a_zero", "[unit]") {
  CHECK(row("padded", 5, 1.0) ==
        std::vector<double>{0.5403023058681398, 0.9999500004166653, 0.8414709848078965, 0.009999833334166664, 0.0});
  // Here the second frequency is 10000^(-2/5) = 0.0251188643150958.
  const std::vector<double> zero = row("zero", 5, 1.0), extra = row("extra", 5, 1.0);
  CHECK(std::fabs(zero[3] - 0.025116222909773774) < 1e-16);
  CHECK(zero[4] == 0.0);
  CHECK(std::fabs(extra[4] - 0.025116222909773774) < 1e-16);
}

TEST_CASE("sinusoidal/table/padded_is_zero_where_widths_and_rules_leave_no_difference", "[unit]") {
  for (const std::size_t width : {1, 2, 6, 8}) CHECK(row("padded", width, 3.0) == row("zero", width, 3.0));
  for (const std::size_t width : {3, 5, 7})
    CHECK(row("padded", width, 3.0, "tensor2tensor") == row("zero", width, 3.0, "tensor2tensor"));
  CHECK(row("padded", 1, 3.0) == std::vector<double>{0.0});
}
