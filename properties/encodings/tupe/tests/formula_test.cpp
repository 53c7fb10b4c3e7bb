// The bias of three tokens, by hand.
#include <catch2/catch.hpp>

#include "reference/oracle.hpp"

using namespace assay;

TEST_CASE("tupe/bias/by_hand", "[property]") {
  core::request call{reference::find_operation("tupe/bias"), core::dtype::f64, {}};
  const auto put = [&](const char* name, core::shape shape, const std::vector<double>& x) {
    call.inputs.emplace(name, core::make_tensor(call.type, std::move(shape), x));
  };
  // Two features: the factor is 1/2.
  put("p_q", {1, 3, 2}, {64, 64, 2, 0, 0, 4});
  put("p_k", {1, 3, 2}, {64, 64, 3, 5, 7, 9});
  put("theta", {1, 2}, {-1, -2});
  // The entries are for distances 0 and -1, two for -2 and beyond, one that is unused, and for 1 and beyond.
  put("table", {1, 8}, {100, 200, 300, 400, 500, 600, 700, 800});
  call.attributes["buckets"] = std::int64_t{8};
  const auto bias = [&] {
    const core::tensor b = reference::certify(call).at("bias").rounded;
    return std::vector<double>{b.values.begin(), b.values.end()};
  };
  CHECK(bias() == std::vector<double>{-1, -1, -1, -2, 103, 607, -2, 210, 118});
  call.attributes["relative"] = std::string("none");
  CHECK(bias() == std::vector<double>{-1, -1, -1, -2, 3, 7, -2, 10, 18});
}

TEST_CASE("tupe/bias/gradients_of_what_is_reset", "[property]") {
  core::request call{reference::find_operation("tupe/bias:vjp"), core::dtype::f64, {}};
  const auto put = [&](const char* name, core::shape shape, const std::vector<double>& x) {
    call.inputs.emplace(name, core::make_tensor(call.type, std::move(shape), x));
  };
  put("p_q", {1, 2, 2}, {64, 64, 2, 0});
  put("p_k", {1, 2, 2}, {64, 64, 3, 5});
  put("theta", {1, 2}, {-1, -2});
  put("table", {1, 4}, {1, 2, 3, 4});
  put("grad_bias", {1, 2, 2}, {1, 2, 4, 8});
  call.attributes["buckets"] = std::int64_t{4};
  const auto all = reference::certify(call);
  const auto check = [&](const char* output, const std::vector<double>& expected) {
    const auto& x = all.at(output).rounded.values;
    CHECK(std::vector<double>{x.begin(), x.end()} == expected);
  };
  check("grad_theta", {3, 4});
  check("grad_p_q", {0, 0, 12, 20});
  check("grad_p_k", {0, 0, 8, 0});
  check("grad_table", {8, 0, 0, 0});
}
