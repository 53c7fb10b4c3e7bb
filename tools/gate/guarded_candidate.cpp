#include "tools/gate/guarded_candidate.hpp"

#include <fmt/format.h>

#include "golden/formats/temporary_folder.hpp"

namespace assay::tools {
namespace {

using properties::fault;

constexpr int most_hangs = 3, most_faults = 18, most_faults_of_part = 4;

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
  // A report has the same text for the same seed.
  if (!result)
    for (std::string* text : {&result.error().message, &result.error().errors})
      *text = formats::without_temporary_folders(std::move(*text));
  if (!result && ends_the_program(result.error().kind)) {
    last_ = result.error();
    ++faults_;
    ++faults_of_part_;
    hangs_ += last_.kind == fault::timed_out || last_.kind == fault::silent_hello;
  }
  return result;
}

}  // namespace assay::tools
