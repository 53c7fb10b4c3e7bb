#include "properties/laws/laws.hpp"

namespace assay::properties {
namespace {

property against_truth(const char* name, const char* summary, core::derivative kind) {
  property p{name, summary};
  p.applies = [kind](const core::operation& op) { return op.kind() == kind; };
  p.check = [](implementation& under_test, const test_case& c) {
    if (!within_domain(under_test.describe(), c)) return outcome{status::outside_domain};
    const call_result outputs = under_test.evaluate(c.call);
    return outputs ? judged(under_test.describe(), c.call, *outputs) : no_outputs(outputs.error());
  };
  p.decides_class = true;
  return p;
}

}  // namespace

property value_property() {
  return against_truth("value", "forward outputs against the certified truth, element by element",
                       core::derivative::none);
}
property vjp_property() {
  return against_truth("vjp", "gradients against the certified truth, element by element", core::derivative::vjp);
}
property jvp_property() {
  return against_truth("jvp", "directional derivatives against the certified truth, element by element",
                       core::derivative::jvp);
}

}  // namespace assay::properties
