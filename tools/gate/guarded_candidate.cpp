#include "tools/gate/guarded_candidate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

namespace assay::tools {
namespace {

using properties::fault;

constexpr int most_hangs = 3, most_faults = 18, most_faults_of_part = 4;

// The private folder has another name in every run, and a report the same text for the same seed.
std::string without_private_folder(std::string message) {
  std::error_code none;
  const std::filesystem::path base = std::filesystem::temp_directory_path(none);
  if (none) return message;
  const std::string start = (std::filesystem::absolute(base) / "assay-").string();
  constexpr std::size_t drawn = 6;  // letters that mkdtemp draws
  const auto is_drawn = [](unsigned char c) { return std::isalnum(c) != 0; };
  for (std::size_t at = 0; (at = message.find(start, at)) != std::string::npos;) {
    const std::string name = message.substr(at + start.size(), drawn);
    if (name.size() == drawn && std::all_of(name.begin(), name.end(), is_drawn))
      message.erase(at, start.size() + drawn + (message[at + start.size() + drawn] == '/'));
    else
      at += start.size();
  }
  return message;
}

}  // namespace

bool ends_the_program(fault f) { return f != fault::unsupported && f != fault::error_reply && !is_bad_output(f); }

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
  if (!result)
    for (std::string* text : {&result.error().message, &result.error().errors})
      *text = without_private_folder(std::move(*text));
  if (!result && ends_the_program(result.error().kind)) {
    last_ = result.error();
    ++faults_;
    ++faults_of_part_;
    hangs_ += last_.kind == fault::timed_out || last_.kind == fault::silent_hello;
  }
  return result;
}

}  // namespace assay::tools
