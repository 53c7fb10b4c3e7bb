// Outputs that were computed elsewhere, for cases that `assay cases` has exported.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "properties/harness/implementation.hpp"

namespace assay::transports {

/// Names the content of a call: SHA-256 of operation, dtype and inputs, bit by bit (NaN payloads aside).
std::string call_identity(const properties::request& call);

/// A folder with cases.jsonl, one call a line with paths relative to the folder; the files of inputs and, where
/// the user's program has written them, of outputs; and perhaps hello.json, the hello object.
///
/// A call is answered by its content, whatever its number. Declined are calls that were not exported (their inputs
/// depend on earlier outputs, or a counterexample is made smaller). Its description says `recorded`: what a second call
/// would give it does not know.
class recorded_candidate final : public properties::implementation {
 public:
  /// Reads all but the outputs, as if hostile: paths must stay within the folder. The error names file and line.
  static core::result<std::unique_ptr<recorded_candidate>> read(const std::filesystem::path& folder);

  /// hello.json's, but only operations and dtypes of which calls were exported; without hello.json those of which
  /// some outputs are there.
  [[nodiscard]] const properties::description& describe() const override { return about_; }
  properties::call_result evaluate(const properties::request& call) override;

 private:
  core::result<void> read_cases(const std::filesystem::path& folder);
  core::result<void> read_case(const std::filesystem::path& folder, std::string_view line);
  core::result<void> read_hello(const std::filesystem::path& folder);
  void offer_answered();

  struct stored_call {
    std::string operation;
    core::dtype type;
    std::filesystem::path outputs;
  };

  properties::description about_;
  std::map<std::string, stored_call> calls_;  ///< by identity
};

}  // namespace assay::transports
