#include "tools/transports/process.hpp"

#include <sys/wait.h>

#include <cstring>
#include <stdexcept>
#include <utility>

#include "tools/transports/outputs.hpp"

namespace assay::transports {
namespace {

using properties::call_failure;
using properties::fault;
using std::chrono::milliseconds;

std::string seconds_text(milliseconds time) {
  std::string text = std::to_string(time.count() / 1000);
  if (const auto rest = time.count() % 1000; rest != 0) text += "." + std::to_string(1000 + rest).substr(1);
  return text + " s";
}

// The way in which a program without an answer ended, from its wait status; -1: it had not ended.
call_failure silent_end(int status) {
  if (status == -1) return {fault::closed_stdout, "it closed its stdout but went on running"};
  if (WIFSIGNALED(status))
    return {fault::crashed, std::string("ended by signal ") + std::to_string(WTERMSIG(status)) + " (" +
                                ::strsignal(WTERMSIG(status)) + ")"};
  if (WEXITSTATUS(status) != 0) return {fault::crashed, "ended with status " + std::to_string(WEXITSTATUS(status))};
  return {fault::exited, "ended with status 0 without an answer"};
}

// The files of one call.
struct call_files {
  std::filesystem::path inputs, outputs;
  ~call_files() {
    std::error_code ignored;
    std::filesystem::remove_all(inputs, ignored);
    std::filesystem::remove_all(outputs, ignored);
  }
};

}  // namespace

process_candidate::process_candidate(std::vector<std::string> words, const process_limits& limits,
                                     formats::temporary_folder folder)
    : words_(std::move(words)), limits_(limits), folder_(std::move(folder)) {}

process_candidate::started process_candidate::start(std::vector<std::string> words, const std::string& shown,
                                                    const process_limits& limits) {
  auto folder = formats::temporary_folder::make();
  if (!folder) return tl::make_unexpected(start_error{folder.error()});
  std::unique_ptr<process_candidate> candidate(new process_candidate(std::move(words), limits, std::move(*folder)));
  if (const auto failed = candidate->launch()) {
    std::string message = "candidate '" + shown + "': " + properties::name_of(failed->kind) + ": " + failed->message;
    if (!failed->errors.empty()) message += "\nits stderr ends:\n" + failed->errors;
    return tl::make_unexpected(start_error{{std::move(message)}, failed});
  }
  return candidate;
}

process_candidate::~process_candidate() {
  if (child_) child_->finish(limits_.farewell);
}

std::optional<call_failure> process_candidate::launch() {
  called_.clear();
  auto child = child_process::spawn(words_, limits_.child);
  if (!child) return call_failure{fault::crashed, child.error().message};
  child_ = std::move(*child);
  const auto line = ask(hello_request(), limits_.hello);
  if (!line) {
    call_failure silent = line.error();
    if (silent.kind == fault::timed_out) silent.kind = fault::silent_hello;
    if (silent.kind == fault::malformed_reply) silent.kind = fault::malformed_hello;
    silent.message.insert(0, "before its hello: ");
    return silent;
  }
  if (const auto reason = parse_refusal(*line)) return stop(fault::error_reply, *reason);
  auto answer = parse_hello(*line);
  if (!answer) return stop(fault::malformed_hello, "malformed hello: " + answer.error().message);
  if (greeted_ && answer->operations != about_.operations)
    return stop(fault::malformed_hello, "its hello changed after a restart");
  if (!std::exchange(greeted_, true)) about_ = std::move(*answer);
  return std::nullopt;
}

// Ends the program after a fault.
call_failure process_candidate::stop(fault kind, const std::string& message) {
  if (child_) {
    child_->finish(milliseconds(0));
    old_errors_ = child_->stderr_tail();
    old_log_ = child_->log_tail();
    child_.reset();
  }
  return {kind, message, old_errors_};
}

tl::expected<std::string, call_failure> process_candidate::ask(const std::string& text, milliseconds limit) {
  using outcome = child_process::outcome;
  std::string line;
  switch (child_->exchange(text, line, limit)) {
    case outcome::line:
      return line;
    case outcome::timed_out:
      return tl::make_unexpected(stop(fault::timed_out, "no answer within " + seconds_text(limit) + " of computing"));
    case outcome::slept:
      return tl::make_unexpected(stop(fault::timed_out, "no answer within " +
                                                            seconds_text(child_process::times_of_sleep * limit) +
                                                            ", of which it computed less than " + seconds_text(limit)));
    case outcome::out_of_memory:
      return tl::make_unexpected(
          stop(fault::out_of_memory,
               "resident memory above the limit of " + std::to_string(limits_.child.resident_bytes >> 20) + " MiB"));
    case outcome::line_too_long:
      return tl::make_unexpected(
          stop(fault::malformed_reply, "a message longer than " + std::to_string(limits_.child.line_bytes) + " bytes"));
    case outcome::closed:
      break;
  }
  const call_failure end = silent_end(child_->finish(limits_.farewell));
  return tl::make_unexpected(stop(end.kind, end.message));
}

properties::call_result process_candidate::evaluate(const properties::request& call) {
  ASSAY_EXPECTS(call.operation != nullptr);
  if (!child_) {
    if (restarts_ - forgiven_ >= limits_.restarts)
      return tl::make_unexpected(
          call_failure{last_fault_->kind,
                       "not started again after " + std::to_string(restarts_) + " restarts: " + last_fault_->message,
                       last_fault_->errors});
    ++restarts_;
    restarts_at_limits_ += last_fault_->kind == fault::timed_out || last_fault_->kind == fault::out_of_memory;
    if (auto failed = launch()) {
      last_fault_ = failed;
      return tl::make_unexpected(std::move(*failed));
    }
  }
  const std::uint64_t id = next_id_++;
  const call_files files{folder_.path() / (std::to_string(id) + ".in.safetensors"),
                         folder_.path() / (std::to_string(id) + ".out.safetensors")};
  if (const auto written = formats::write_safetensors(files.inputs, call.inputs); !written)
    throw std::runtime_error("cannot hand inputs to the candidate: " + written.error().message);
  auto result = converse(call, id, files.inputs, files.outputs);
  if (!result && !child_) last_fault_ = result.error();
  // An answer shows that the restarts at a limit were due to large or slow calls: they are forgiven.
  if (result) forgiven_ += std::exchange(restarts_at_limits_, 0);
  return result;
}

properties::call_result process_candidate::converse(const properties::request& call, std::uint64_t id,
                                                    const std::filesystem::path& inputs,
                                                    const std::filesystem::path& outputs) {
  const bool first = called_.insert(call.operation->name).second;
  const auto line = ask(call_request(id, call, properties::requested_attributes(about_, call), inputs, outputs),
                        first ? limits_.first_call : limits_.call);
  if (!line) return tl::make_unexpected(line.error());
  const auto answer = parse_reply(*line);
  if (!answer) return tl::make_unexpected(stop(fault::malformed_reply, "malformed answer: " + answer.error().message));
  if (answer->id != id)
    return tl::make_unexpected(stop(fault::wrong_id, "answer to call " + std::to_string(answer->id) + " where call " +
                                                         std::to_string(id) + " was asked"));
  if (!answer->ok)
    return tl::make_unexpected(
        call_failure{answer->unsupported ? fault::unsupported : fault::error_reply, answer->text});
  return read_outputs(outputs, call, limits_.outputs);
}

std::string process_candidate::stderr_tail() const { return child_ ? child_->stderr_tail() : old_errors_; }
std::string process_candidate::log_tail() const { return child_ ? child_->log_tail() : old_log_; }
int process_candidate::process_group() const { return child_ ? child_->group() : -1; }

}  // namespace assay::transports
