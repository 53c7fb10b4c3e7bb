// A call that somebody asks about, by command or from a program of theirs: what `assay truth` and `assay judge` answer.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "properties/harness/implementation.hpp"
#include "reference/accuracy_class.hpp"
#include "reference/core/result.hpp"

namespace assay::tools {

struct asked_call {
  properties::request call;
  core::precisions compute{core::dtype::f64};
  /// Within the law of this class; nothing: all that is no bug.
  std::optional<reference::accuracy_class> within{};
  bool strict = false;  ///< what is suspicious is not right
  double limit = 0.0;   ///< seconds that the truth may take; 0: there is none
};

/// As it was asked. Where a text is empty or an object null, what the operation, the inputs and the gate take as usual.
struct asked_words {
  std::string operation;         ///< "rope/rotate", "rope/rotate:vjp"
  std::filesystem::path inputs;  ///< safetensors
  std::string dtype{};           ///< of the call; else that of the inputs
  nlohmann::json settings{};     ///< {"layout": "half_split"}
  nlohmann::json compute{};      ///< "f32", or {"angle": "f32"}
  std::string accuracy_class{};  ///< "sequential"
  bool strict = false;
  double limit = 0.0;  ///< seconds; 0: none
};
/// Refuses what is wrong in it, with the words that the gate has for a candidate.
core::result<asked_call> asked_call_from(const asked_words& words);

/// {"layout": "half_split"} of "layout=half_split", ...: a value is JSON where it is a number or a boolean, unless the
/// operation declares it as a string ("base=2" of attention/lse).
core::result<nlohmann::json> settings_from(const std::vector<std::string>& texts, const core::operation* op = nullptr);

}  // namespace assay::tools
