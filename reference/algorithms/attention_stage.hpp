#pragma once

namespace assay::reference {

/// The parts of attention that have a format of their own, in the order of attention_stages()
/// (kinds/attention_declarations.hpp).
enum class attention_stage { scores, softmax, output, accumulation };

}  // namespace assay::reference
