// Candidates that run as programs and speak the candidate protocol on stdin and stdout.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "golden/formats/safetensors.hpp"
#include "golden/formats/temporary_folder.hpp"
#include "properties/harness/implementation.hpp"
#include "tools/transports/child_process.hpp"
#include "tools/transports/protocol.hpp"

namespace assay::transports {

struct process_limits {
  // Limits on computing time; for a program that does not compute, ten times as long (child_process::exchange).
  std::chrono::milliseconds hello{60'000};        ///< from the start to the answer to hello
  std::chrono::milliseconds call{30'000};         ///< of each call
  std::chrono::milliseconds first_call{120'000};  ///< of an operation's first call after a start
  std::chrono::milliseconds farewell{2'000};      ///< from the end of stdin to SIGKILL
  /// After this number of restarts every call reports the last fault. A restart after a limit on time or memory does
  /// not count if another call was answered since.
  int restarts = 20;
  child_limits child{};
  formats::read_limits outputs{};
};

/// Why no program was started; the text ends with what it wrote to stderr. `failure`: what the program did.
struct start_error : core::error {
  std::optional<properties::call_failure> failure{};
};

/// A candidate program. A call whose answer breaks the protocol, the limits or the process is reported once and never
/// repeated; the next call restarts the program.
///
/// `evaluate` throws std::runtime_error if Assay itself cannot write the inputs (a full disk, for example): this is no
/// fault of the candidate, and must not lead to a verdict. Nothing else throws.
class process_candidate final : public properties::implementation {
 public:
  using started = tl::expected<std::unique_ptr<process_candidate>, start_error>;
  /// Starts the program with these words (split_words makes them from a command). Errors name the program by `shown`.
  static started start(std::vector<std::string> words, const std::string& shown, const process_limits& limits = {});
  ~process_candidate() override;

  [[nodiscard]] const properties::description& describe() const override { return about_; }
  properties::call_result evaluate(const properties::request& call) override;

  /// The end of what the program wrote to stderr since it was last started.
  [[nodiscard]] std::string stderr_tail() const;
  /// The end of its output on stdout other than messages.
  [[nodiscard]] std::string log_tail() const;

  [[nodiscard]] int restarts() const { return restarts_; }
  /// The process group, or -1 if no program runs.
  [[nodiscard]] int process_group() const;
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_.path(); }

 private:
  process_candidate(std::vector<std::string> words, const process_limits& limits, formats::temporary_folder folder);
  std::optional<properties::call_failure> launch();
  tl::expected<std::string, properties::call_failure> ask(const std::string& text, std::chrono::milliseconds limit);
  properties::call_result converse(const properties::request& call, std::uint64_t id,
                                   const std::filesystem::path& inputs, const std::filesystem::path& outputs);
  properties::call_failure stop(properties::fault kind, const std::string& message);

  std::vector<std::string> words_;
  process_limits limits_;
  formats::temporary_folder folder_;  ///< holds the files of calls
  std::unique_ptr<child_process> child_;
  properties::description about_;
  bool greeted_ = false;
  std::set<std::string> called_;  ///< operations called since the last start
  std::uint64_t next_id_ = 1;
  int restarts_ = 0;
  int restarts_at_limits_ = 0;  ///< restarts after a limit on time or memory was met, since the last answer
  int forgiven_ = 0;            ///< earlier restarts at limits, before an answer: they do not count
  std::optional<properties::call_failure> last_fault_;
  std::string old_errors_, old_log_;  ///< from the program that was stopped last
};

}  // namespace assay::transports
