// The catalogue of this build. This object is part of every program that links assay::properties.
#include "properties/faults/declared_faults.hpp"
#include "properties/harness/catalogue.hpp"
#include "properties/laws/laws.hpp"

namespace assay::properties {

#define ASSAY_ENCODING(name)   \
  namespace encodings::name {  \
  encoding_tests make_tests(); \
  }
#include "assay_encodings.inc"
#undef ASSAY_ENCODING

namespace {

// The tests of an encoding, with the mutants of its declarations.
encoding_tests with_declared_mutants(encoding_tests tests) {
  tests.unmutated = [name = tests.name] { return plain_implementation(name); };
  tests.generated = [right = tests.unmutated, name = tests.name, own = tests.generated] {
    std::vector<variant> all = declared_mutants(name, right);
    if (own)
      for (variant& v : own()) all.push_back(std::move(v));
    return all;
  };
  return tests;
}

catalogue make_catalogue() {
  return {{value_property(), vjp_property(), jvp_property(), continuation_property(), recurrence_property(),
           attachment_property(), adjoint_property(), causality_property(), lane_property(), permutation_property(),
           repeat_property(), recomputation_property(), dtype_order_property(), variants_property(), strides_property(),
           empty_axes_property()},
          {
#define ASSAY_ENCODING(name) encodings::name::make_tests(),
#include "assay_encodings.inc"
#undef ASSAY_ENCODING
          },
          with_declared_mutants};
}

[[maybe_unused]] const bool installed = (install_catalogue(make_catalogue), true);

}  // namespace
}  // namespace assay::properties
