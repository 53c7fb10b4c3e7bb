#include "properties/encodings.hpp"

namespace assay::properties {

#define ASSAY_ENCODING(name) encoding_tests name##_tests();
#include "assay_encodings.inc"
#undef ASSAY_ENCODING

const std::vector<encoding_tests>& all_encoding_tests() {
  static const std::vector<encoding_tests> all{
#define ASSAY_ENCODING(name) name##_tests(),
#include "assay_encodings.inc"
#undef ASSAY_ENCODING
  };
  return all;
}

}  // namespace assay::properties
