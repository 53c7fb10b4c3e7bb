#include "properties/harness/one_sign.hpp"

#include <algorithm>
#include <cmath>

#include "properties/harness/catalogue.hpp"

namespace assay::properties {

void take_signs(core::tensor& t, bool equal) {
  constexpr double most = 2.0;  // a narrow format holds the sums of many such numbers
  auto& x = t.values.storage();
  if (x.empty()) return;
  const double first = std::isfinite(x[0]) && x[0] != 0.0 ? std::min(std::fabs(x[0]), most) : 1.0;
  for (double& v : x)
    if (std::isfinite(v)) v = equal ? first : std::fabs(v);
}

namespace {

// The family to start from: inputs for which many terms along a long axis have weight, or else mild ones.
const family* base_of(const std::vector<family>& all, const core::operation& op) {
  for (const auto& is_such :
       {+[](const family& f) { return !f.long_axis.empty(); }, +[](const family& f) { return f.is_mild; }})
    for (const family& f : all)
      if (is_such(f) && f.applies(op)) return &f;
  return nullptr;
}

}  // namespace

family one_sign_family(const std::vector<family>& all) {
  const auto is_real = [](const core::tensor_declaration& d) { return !d.own_type.has_value(); };
  family f{one_sign, "numbers of one sign, or all the same: sums of them do not cancel"};
  f.of_one_sign = true;
  f.applies = [all, is_real](const core::operation& op) {
    return base_of(all, op) != nullptr && std::any_of(op.inputs.begin(), op.inputs.end(), is_real);
  };
  f.generate = [all, is_real](const core::operation& op, core::dtype type, const core::attributes& settings,
                              core::counter_random& random, extent size) {
    const core::tensors drawn = base_of(all, op)->generate(op, type, settings, random, size);
    const auto taken = [&](bool equal) {
      core::tensors inputs = drawn;
      for (const core::tensor_declaration& d : op.inputs)
        if (is_real(d) && d.domain.high > 0.0) take_signs(inputs.at(d.name), equal);
      return inputs;
    };
    const bool equal = draws_equal(random);
    core::tensors inputs = taken(equal);
    // Reason: two vectors of equal numbers span no plane, for example.
    return equal && rests_on_convention({&op, type, inputs, settings}) ? taken(false) : inputs;
  };
  return f;
}

}  // namespace assay::properties
