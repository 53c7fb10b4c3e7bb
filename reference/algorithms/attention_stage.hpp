#pragma once

namespace assay::reference {

/// What of attention has a format of its own, in the order of attention_stages() (kinds/attention_declarations.hpp).
enum class attention_stage { scores, softmax, output, accumulation };

}  // namespace assay::reference
