// Outputs computed elsewhere, for cases that `assay cases` has exported.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "properties/harness/implementation.hpp"

namespace assay::transports {

/// Identifies the content of a call: SHA-256 of operation, dtype, settings and inputs, bit by bit (NaN payloads aside).
/// Later settings with their standard values are left out.
std::string call_identity(const properties::request& call);

/// A folder with cases.jsonl, one call on each line with paths relative to the folder; the files of inputs and, if the
/// user's program has written them, of outputs; and optionally hello.json, the hello object.
///
/// A call is answered by its content, whatever its number is. Calls that were not exported are declined (their inputs
/// depend on earlier outputs, or a counterexample is being shrunk). Its description says `recorded`: it does not know
/// what a second call would give.
class recorded_candidate final : public properties::implementation {
 public:
  /// Reads everything except the outputs, and does not trust it: paths must stay inside the folder. The error names
  /// file and line.
  static core::result<std::unique_ptr<recorded_candidate>> read(const std::filesystem::path& folder);

  /// The description from hello.json, but only operations and dtypes of exported calls; without hello.json, those for
  /// which some outputs exist.
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
