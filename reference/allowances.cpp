#include <algorithm>
#include <cmath>

#include "reference/oracle.hpp"
#include "reference/registry.hpp"

namespace assay::reference {

namespace {

double finite_or_zero(double x) { return std::isfinite(x) ? x : 0.0; }

}  // namespace

allowances allow(const core::request& call, core::dtype compute) {
  const core::operation& op = *call.operation;
  const auto law = routines_for(op).law;
  const std::vector<accuracy_class>& own = algorithms_of(op);
  allowances out;
  for (std::size_t c = 1; c < accuracy_classes.size(); ++c) {
    if (std::find(own.begin(), own.end(), accuracy_classes[c]) == own.end()) {
      for (auto& [name, a] : out) a.k[c] = a.k[c - 1];
      continue;
    }
    for (auto& [name, l] : law(call, accuracy_classes[c], compute)) {
      allowance& a = out[name];
      if (c == 1) {
        // uniform: 2 ulp (4u) of max(1, |s|); for a gradient 16u of its magnitude, which the law knows to k units of
        // double's u, or underflow.
        const double underflow = core::smallest_normal(compute) / core::unit_roundoff(compute);
        const bool exact = !core::is_floating(op.output(name)->type_in(compute));
        a.k[0] = l.magnitude;
        for (std::size_t i = 0; i < a.k[0].size(); ++i) {
          double& k = a.k[0].storage()[i];
          const double of_gradient = 16.0 * (k + 0x1p-53 * finite_or_zero(l.k.storage()[i])) + underflow;
          k = exact ? 0.0 : op.is_forward() ? 4.0 * std::max(1.0, k) : of_gradient;
        }
      }
      const auto& before = a.k[c - 1].storage();
      for (std::size_t i = 0; c > 1 && i < before.size(); ++i) l.k.storage()[i] = std::max(l.k.storage()[i], before[i]);
      a.k[c] = std::move(l.k);
    }
  }
  return out;
}

}  // namespace assay::reference
