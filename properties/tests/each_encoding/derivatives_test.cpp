// The gradients of every encoding, compared with dual numbers through its formula.
#include <catch2/catch.hpp>
#include <cmath>

#include "properties/tests/gating.hpp"

using namespace assay;
using namespace assay::properties;

namespace {

bool is_finite(const core::tensors& all) {
  for (const auto& [name, t] : all)
    for (const double x : t.values.storage())
      if (!std::isfinite(x)) return false;
  return true;
}

struct pairing {
  double sum = 0, magnitude = 0;
  void add(double x, double y) {
    if (y == 0.0) return;  // for example the cotangent of an output that is -inf
    sum += x * y;
    magnitude += std::fabs(x * y);
  }
};

void check_adjoints(const std::string& encoding) {
  for (const core::operation& op : testing::operations_of(encoding)) {
    if (!op.is_vjp()) continue;
    const core::operation& forward = reference::forward_of(op);
    std::size_t cases_checked = 0;
    for (const family& f : families_of(op))
      for (std::uint64_t seed = 1; seed <= scaled(4); ++seed) {
        const test_case c = make_case({&op, core::dtype::f64, f.name, seed}, f);
        if (!is_finite(c.call.inputs)) continue;
        const auto pulled = reference::truth_of(c.call);
        core::request point{&forward, core::dtype::f64, {}, c.call.attributes};
        core::tensors direction;
        core::counter_random random(seed + 1000);
        for (const auto& d : forward.inputs) {
          point.inputs.emplace(d.name, c.call.inputs.at(d.name));
          if (!d.differentiable) continue;
          core::tensor v = c.call.inputs.at(d.name);
          for (double& x : v.values.storage()) x = random.normal();
          direction.emplace(d.name, std::move(v));
        }
        pairing forwards, backwards;
        for (const auto& [name, derivative] : reference::derivative_along(point, direction)) {
          const auto cotangent = c.call.inputs.find("grad_" + name);
          if (cotangent == c.call.inputs.end()) continue;
          for (std::size_t i = 0; i < derivative.size(); ++i)
            forwards.add(derivative.storage()[i], cotangent->second.values.storage()[i]);
        }
        for (const auto& [name, v] : direction)
          for (std::size_t i = 0; i < v.size(); ++i)
            backwards.add(pulled.at("grad_" + name).truth(i), v.values.storage()[i]);
        const double magnitude = forwards.magnitude + backwards.magnitude;
        if (!std::isfinite(magnitude)) continue;
        INFO(summary(c));
        CHECK(std::fabs(forwards.sum - backwards.sum) <= 1e-13 * magnitude);
        cases_checked += magnitude > 0.0;
      }
    INFO(op.name);
    CHECK(cases_checked >= 8);
  }
}

}  // namespace

#define ASSAY_ENCODING(name) \
  TEST_CASE("derivatives/adjoint_of_dual_numbers/" #name, "[property]") { check_adjoints(#name); }
#include "assay_encodings.inc"
#undef ASSAY_ENCODING
