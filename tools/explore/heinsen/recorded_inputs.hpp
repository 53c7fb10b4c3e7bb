// Inputs that a user has recorded, such as the gates of a trained model: the family "file:PATH", a safetensors file
// with log_p or the gate logits g, and h, all [B, n, d].
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "reference/core/result.hpp"

namespace assay::explore {

struct recorded_inputs {
  std::size_t lanes = 0, tokens = 0;  ///< B d and n
  std::vector<double> log_p, h;       ///< lane by lane
};

bool is_recorded(const std::string& family);
/// The inputs of the file, read only once. The error names the file and what is wrong. Precondition:
/// is_recorded(family).
core::result<std::shared_ptr<const recorded_inputs>> recorded_inputs_of(const std::string& family);
/// The hash of the numbers of the file, begun with `hash`; `hash` itself if the file cannot be read. Precondition:
/// is_recorded(family).
std::uint64_t hash_of_recorded(const std::string& family, std::uint64_t hash);

}  // namespace assay::explore
