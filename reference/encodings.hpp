// The encodings as types, forward-declared from the one list.
#pragma once

namespace assay::reference {
#define ASSAY_ENCODING(name) struct name;
#include "assay_encodings.inc"
#undef ASSAY_ENCODING
}  // namespace assay::reference
