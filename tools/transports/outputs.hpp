// The file in which a candidate leaves its outputs.
#pragma once

#include <filesystem>

#include "golden/safetensors.hpp"
#include "properties/implementation.hpp"

namespace assay::transports {

/// The outputs of a call, or bad_output where the file is missing, is none, or does not hold just these outputs in
/// their dtype and shapes. Precondition: check_inputs accepts the inputs.
properties::call_result read_outputs(const std::filesystem::path& path, const properties::request& call,
                                     const golden::read_limits& limits = {});

}  // namespace assay::transports
