// A call that a user asks about, by command or from a program: the subject of `assay truth` and `assay judge`.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "properties/harness/implementation.hpp"
#include "reference/accuracy_class.hpp"
#include "reference/core/result.hpp"

namespace assay::tools {

struct requested_call {
  properties::request call;
  core::precisions compute{core::dtype::f64};
  /// The outputs must be within the law of this class; nothing: any outputs without a bug are right.
  std::optional<reference::accuracy_class> within{};
  bool strict = false;  ///< suspicious outputs are not right
  double limit = 0.0;   ///< seconds that the truth may take; 0: no limit
};

/// The question in the words of its user. An empty text or a null value stands for the usual choice.
struct requested_words {
  std::string operation;         ///< "rope/rotate", "rope/rotate:vjp"
  std::filesystem::path inputs;  ///< safetensors
  std::string dtype{};           ///< dtype of the call; empty: that of the inputs
  nlohmann::json settings{};     ///< {"layout": "half_split"}
  nlohmann::json compute{};      ///< "f32", or {"angle": "f32"}
  std::string accuracy_class{};  ///< "sequential"
  bool strict = false;
  double limit = 0.0;  ///< seconds; 0: no limit
};
/// Refuses errors in the words with the same messages as the gate has for a candidate.
core::result<requested_call> requested_call_from(const requested_words& words);

/// Converts "layout=half_split", ... to {"layout": "half_split"}: a value is JSON if it is a number or a boolean,
/// unless the operation declares it as a string ("base=2" of attention/lse).
core::result<nlohmann::json> settings_from(const std::vector<std::string>& texts, const core::operation* op = nullptr);

}  // namespace assay::tools
