// The catalogue of this build. This object is part of every program that links assay::properties.
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

catalogue make_catalogue() {
  return {{value_property(), vjp_property(), jvp_property(), continuation_property(), recurrence_property(),
           attachment_property(), adjoint_property(), causality_property(), lane_property(), permutation_property(),
           repeat_property(), variants_property()},
          {
#define ASSAY_ENCODING(name) encodings::name::make_tests(),
#include "assay_encodings.inc"
#undef ASSAY_ENCODING
          }};
}

[[maybe_unused]] const bool installed = (install_catalogue(make_catalogue), true);

}  // namespace
}  // namespace assay::properties
