// States leave the unit circle on which they begin: nothing normalises them.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstddef>

#include "reference/oracle.hpp"

using namespace assay;
using core::dtype;

namespace {

constexpr std::size_t heads = 2, tokens = 64, width = 4, layers = 3;
using states = xt::xarray<double>;

// Layers of tape/mix with causal attention that weighs all visible tokens equally. Returns the modulus |e| of each
// state.
states moduli(double mix_of_head) {
  core::tensor weights{dtype::f64, xt::zeros<double>({std::size_t{1}, heads, tokens, tokens})};
  states cosine = xt::zeros<double>({std::size_t{1}, heads, tokens, width}), sine = cosine;
  for (std::size_t h = 0; h < heads; ++h)
    for (std::size_t i = 0; i < tokens; ++i) {
      for (std::size_t j = 0; j <= i; ++j) weights.values(0, h, i, j) = 1.0 / static_cast<double>(i + 1);
      for (std::size_t t = 0; t < width; ++t) {
        const double angle = static_cast<double>(i) * std::pow(1e4, -static_cast<double>(t) / width);
        cosine(0, h, i, t) = std::cos(angle);
        sine(0, h, i, t) = std::sin(angle);
      }
    }
  for (std::size_t layer = 0; layer < layers; ++layer) {
    const auto next = reference::evaluate({reference::find_operation("tape/mix"),
                                           dtype::f64,
                                           {{"e_cos", {dtype::f64, cosine}},
                                            {"e_sin", {dtype::f64, sine}},
                                            {"weights", weights},
                                            {"mix", {dtype::f64, states{{mix_of_head, 0.0}, {0.0, mix_of_head}}}}}},
                                          reference::accuracy_class::sequential);
    cosine = next.at("f_cos").values;
    sine = next.at("f_sin").values;
  }
  return xt::sqrt(cosine * cosine + sine * sine);
}

}  // namespace

// Measured: |e| is from 0.24 to 3.4 after three layers. A query that sees only itself multiplies its state by 1 + mix
// in each layer. A query that sees many tokens adds a mean of states, which is short if their angles differ, and has
// another direction. So |e|, with which scores grow, depends on the position and on the frequency: the slowest pairs
// drift most.
TEST_CASE("tape/states/drift_from_the_circle", "[property]") {
  const states still = moduli(0.0), drifted = moduli(0.5);
  CHECK(xt::amax(xt::abs(still - 1.0))() < 1e-15);
  for (std::size_t t = 0; t < width; ++t) CHECK(drifted(0, 0, 0, t) == Approx(std::pow(1.5, layers)).epsilon(1e-15));
  CHECK(xt::amax(drifted)() == Approx(3.375));
  CHECK(xt::amin(drifted)() == Approx(0.24167).epsilon(1e-4));
  CHECK(drifted(0, 0, tokens - 1, 0) == Approx(1.09591).epsilon(1e-4));
  CHECK(drifted(0, 0, tokens - 1, width - 1) == Approx(3.37408).epsilon(1e-4));
}
