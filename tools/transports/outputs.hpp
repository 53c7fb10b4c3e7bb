// The file in which a candidate leaves its outputs.
#pragma once

#include <filesystem>

#include "golden/formats/safetensors.hpp"
#include "properties/harness/implementation.hpp"

namespace assay::transports {

/// The outputs of a call, or a failure that says whether the file is missing, is not readable, is too short or too
/// long, or which rule of check_outputs it breaks. Precondition: check_inputs accepts the inputs.
properties::call_result read_outputs(const std::filesystem::path& path, const properties::request& call,
                                     const formats::read_limits& limits = {});

}  // namespace assay::transports
