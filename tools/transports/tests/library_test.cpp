// A shared library in this process: changes to the floating-point environment remain limited to the library.
#include "tools/transports/library.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>

#include "reference/oracle.hpp"

using namespace assay;

TEST_CASE("transports/library/flushing_subnormals_stays_with_the_library") {
  ::setenv("HOSTILE_LIBRARY", "flushes", 1);
  const auto library = transports::library_candidate::open(ASSAY_HOSTILE_LIBRARY);
  INFO((library ? "" : library.error().message));
  REQUIRE(library.has_value());
  const volatile float tiny = 1e-30f;
  CHECK(tiny * 1e-10f != 0.0f);
  const core::tensor h = core::make_tensor(core::dtype::f32, {1, 2, 1}, {1e-40, -1e-45});
  const core::operation* scan = reference::find_operation("heinsen/scan");
  const auto result = library->evaluate(
      {scan, core::dtype::f32, {{"log_p", h}, {"h", h}, {"s0", core::zeros(core::dtype::f32, {1, 1})}}});
  ::unsetenv("HOSTILE_LIBRARY");
#ifdef __SSE__
  INFO((result ? "" : result.error().message));
  REQUIRE(result.has_value());
  CHECK(core::identical(result->at("s"), h));
#endif
  CHECK(tiny * 1e-10f != 0.0f);
}

TEST_CASE("transports/library/outputs_have_the_declared_shapes") {
  const auto library = transports::library_candidate::open(ASSAY_HOSTILE_LIBRARY);
  REQUIRE(library.has_value());
  const core::operation* scan = reference::find_operation("heinsen/scan");
  for (const std::size_t n : {0u, 1u, 3u}) {
    const core::tensor x = core::zeros(core::dtype::f32, {1, n, 2});
    const auto result = library->evaluate(
        {scan, core::dtype::f32, {{"log_p", x}, {"h", x}, {"s0", core::zeros(core::dtype::f32, {1, 2})}}});
    REQUIRE(result.has_value());
    CHECK(result->at("s").shape() == core::shape{1, n, 2});
    CHECK(result->at("s_n").shape() == core::shape{1, 2});
  }
}
