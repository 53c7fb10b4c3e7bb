#include <algorithm>
#include <cmath>

#include "reference/error_bound.hpp"
#include "reference/oracle.hpp"
#include "reference/registry.hpp"

namespace assay::reference {

namespace {

double finite_or_zero(double x) { return std::isfinite(x) ? x : 0.0; }

// uniform: 2 ulp (4u) of the output's scale. For a derivative: 16u of its magnitude, which the law knows to within k
// units of double's u, or to underflow.
xt::xarray<double> uniform_law(const core::request& call, const std::string& output, core::dtype compute,
                               const law_output& law) {
  const core::tensor_declaration& declared = *call.operation->output(output);
  xt::xarray<double> k = law.magnitude;
  auto& uniform = k.storage();
  if (!core::is_floating(declared.type_in(call.type))) {
    std::fill(uniform.begin(), uniform.end(), 0.0);
  } else if (call.operation->is_forward()) {
    const std::vector<double> scales = core::error_scales(
        declared, declared.type_in(call.type), {k.shape().begin(), k.shape().end()}, {uniform.data(), uniform.size()});
    for (std::size_t i = 0; i < scales.size(); ++i) uniform[i] = 4.0 * scales[i];
  } else {
    const double underflow = core::smallest_normal(compute) / core::unit_roundoff(compute);
    for (std::size_t i = 0; i < uniform.size(); ++i)
      uniform[i] = 16.0 * (uniform[i] + 0x1p-53 * finite_or_zero(law.k.storage()[i])) + underflow;
  }
  return k;
}

}  // namespace

allowances allow(const core::request& call, const core::precisions& compute, accuracy_class up_to) {
  ASSAY_EXPECTS(up_to != accuracy_class::uniform);
  std::vector<accuracy_class> own = algorithms_of(*call.operation);
  std::erase_if(own, [&](accuracy_class c) { return c > up_to; });
  const std::vector<law_outputs> laws = owner_of(*call.operation).laws(call, own, compute);
  allowances out;
  for (const auto& [name, first] : laws.front()) {
    allowance& a = out[name];
    a.k[0] = uniform_law(call, name, compute.unit(), first);
    std::size_t next = 0;
    for (std::size_t c = 1; c < accuracy_classes.size(); ++c) {
      if (c > 1) a.k[c] = a.k[c - 1];
      if (next == own.size() || own[next] != accuracy_classes[c]) continue;
      const xt::xarray<double>& k = laws[next++].at(name).k;
      if (c == 1) a.k[c] = k;
      for (std::size_t i = 0; i < k.size(); ++i)
        a.k[c].storage()[i] = larger_allowance(k.storage()[i], a.k[c].storage()[i]);
    }
  }
  return out;
}

}  // namespace assay::reference
