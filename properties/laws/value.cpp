#include "properties/laws/laws.hpp"

namespace assay::properties {
namespace {

property against_truth(const char* name, const char* summary, bool gradients) {
  property p{name, summary};
  p.applies = [gradients](const core::operation& op) { return op.is_vjp() == gradients; };
  p.check = [](implementation& under_test, const test_case& c) {
    if (!within_domain(under_test.describe(), c)) return outcome{status::outside_domain};
    return compare_with_truth(under_test, c.call);
  };
  p.decides_class = true;
  return p;
}

}  // namespace

property value_property() {
  return against_truth("value", "forward outputs against the certified truth, element by element", false);
}
property vjp_property() {
  return against_truth("vjp", "gradients against the certified truth, element by element", true);
}

}  // namespace assay::properties
