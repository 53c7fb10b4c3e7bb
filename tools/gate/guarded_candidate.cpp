#include "tools/gate/guarded_candidate.hpp"

#include <fmt/format.h>

#include <filesystem>

namespace assay::tools {
namespace {

using properties::fault;

constexpr int most_hangs = 3, most_faults = 18, most_faults_of_part = 4;

// The private folder has another name in every run, and a report the same text for the same seed.
std::string without_private_folder(std::string message) {
  std::error_code none;
  const std::string folder = std::filesystem::temp_directory_path(none).string() + "/";
  if (none) return message;
  for (std::size_t at = 0; (at = message.find(folder, at)) != std::string::npos;) {
    const std::size_t name = message.find('/', at + folder.size());
    message.erase(at, (name == std::string::npos ? at + folder.size() : name + 1) - at);
  }
  return message;
}

}  // namespace

bool ends_the_program(fault f) { return f != fault::unsupported && f != fault::error_reply && f != fault::bad_output; }

bool guarded_candidate::run_is_over() const { return hangs_ >= most_hangs || faults_ >= most_faults; }
bool guarded_candidate::part_is_over() const { return run_is_over() || faults_of_part_ >= most_faults_of_part; }

std::string guarded_candidate::why_over() const {
  if (hangs_ >= most_hangs) return fmt::format("it hung {} times", hangs_);
  return fmt::format("it had to be started again {} times, the last time after {}: {}", faults_, name_of(last_.kind),
                     last_.message);
}

properties::call_result guarded_candidate::evaluate(const properties::request& call) {
  around_();
  if (part_is_over()) return tl::make_unexpected(last_);
  auto result = inner_.evaluate(call);
  around_();
  if (!result) result.error().message = without_private_folder(std::move(result.error().message));
  if (!result && ends_the_program(result.error().kind)) {
    last_ = result.error();
    ++faults_;
    ++faults_of_part_;
    hangs_ += last_.kind == fault::timed_out;
  }
  return result;
}

}  // namespace assay::tools
