#include "tools/gate/guarded_candidate.hpp"

#include <fmt/format.h>

#include <chrono>

#include "golden/formats/temporary_folder.hpp"

namespace assay::tools {
namespace {

using properties::fault;

// For plain code, at its slowest and with all copies that it keeps.
constexpr double seconds_of_step = 1e-5, bytes_of_step = 128;
constexpr int most_hangs = 3, most_faults = 18, most_faults_of_part = 4;

}  // namespace

bool ends_the_program(fault f) { return f != fault::unsupported && f != fault::error_reply && !is_bad_output(f); }

// The limit that a call met because of its size, in words, if it is larger than all answered calls: then it is slow or
// large, and no hang. Nothing if plain code of that size meets no limit, or if its time is known to be short.
std::optional<std::string> guarded_candidate::limit_met(const properties::request& call,
                                                        const properties::call_failure& failure) const {
  if (!sizes_.is_larger_than_answered(call)) return std::nullopt;
  const double steps = most_steps(core::sizes_of(call));
  if (failure.kind == fault::timed_out) {
    if (steps * seconds_of_step < limit_ || times_.is_short(call, sizes_.multiple_of_answered(call)))
      return std::nullopt;
    return failure.message + " (--case-timeout gives it longer)";
  }
  // A system without free memory kills the process that uses most.
  const bool answered = failure.kind == fault::error_reply || failure.kind == fault::unsupported;
  const bool no_memory = failure.kind == fault::out_of_memory || (answered && says_no_memory(failure.message)) ||
                         (failure.kind == fault::crashed && (failure.message.starts_with("ended by signal 9 ") ||
                                                             failure.message.starts_with("ended with status 137")));
  if (!no_memory || steps * bytes_of_step < memory_) return std::nullopt;
  return failure.kind == fault::out_of_memory ? failure.message + " (--memory-limit gives it more)"
                                              : "no memory: " + failure.message;
}

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
  if (sizes_.is_oversized(call))
    return tl::make_unexpected(
        properties::call_failure{fault::unsupported, "not called: an earlier call of this size exceeded a limit"});
  const double began = now_();
  auto result = inner_.evaluate(call);
  const double took = now_() - began;
  around_();
  // The first call of an operation may include compilation.
  if (result) sizes_.note_answered(call);
  if (result && !warm_.insert(call.operation->name).second) times_.note(call, took);
  // The text of a report must be the same for the same seed.
  if (!result)
    for (std::string* text : {&result.error().message, &result.error().errors})
      *text = formats::without_temporary_folders(std::move(*text));
  if (!result && ends_the_program(result.error().kind)) warm_.clear();
  // Only large calls may be declined for lack of memory.
  if (!result && result.error().kind == fault::unsupported && says_no_memory(result.error().message) &&
      most_steps(core::sizes_of(call)) * bytes_of_step < memory_)
    result.error().kind = fault::error_reply;
  if (auto limit = result ? std::nullopt : limit_met(call, result.error())) {
    sizes_.note_oversized(call, std::move(*limit));
    return tl::make_unexpected(properties::call_failure{fault::unsupported, "too large: " + result.error().message});
  }
  if (!result && ends_the_program(result.error().kind)) {
    if (const auto t = times_.expected(call); result.error().kind == fault::timed_out && t && times_.may_outlast(*t)) {
      note_slow(call, *t);
      return tl::make_unexpected(properties::call_failure{fault::unsupported, "slow: " + result.error().message});
    }
    last_ = result.error();
    ++faults_;
    ++faults_of_part_;
    hangs_ += last_.kind == fault::timed_out || last_.kind == fault::silent_hello;
  }
  return result;
}

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool guarded_candidate::would_outlast(const properties::request& call) {
  if (sizes_.is_oversized(call)) return true;
  const auto t = times_.expected(call);
  if (!t || !times_.outlasts(*t)) return false;
  note_slow(call, *t);
  return true;
}

void guarded_candidate::note_slow(const properties::request& call, const expected_time& t) {
  const std::size_t size = core::sizes_of(call).at(t.axis);
  auto& axes = slow_[{call.operation->name, call.type}];
  const auto [it, is_first] = axes.emplace(t.axis, slow_axis{t, size});
  if (!is_first && size < it->second.size) it->second = {t, size};
}

std::vector<std::string> guarded_candidate::too_slow(const core::operation& op, core::dtype type) const {
  std::vector<std::string> all = sizes_.sentences(op, type);
  const auto found = slow_.find({op.name, type});
  if (found == slow_.end()) return all;
  const auto in_words = [](double seconds) {
    const bool long_ones = seconds >= 1e-3;
    const double x = seconds * (long_ones ? 1e3 : 1e6);
    return fmt::format(fmt::runtime(x < 10 ? "{:.2g} {}" : "{:.0f} {}"), x, long_ones ? "ms" : "us");
  };
  for (const auto& [axis, slow] : found->second)
    all.push_back(
        fmt::format("{} in {} was not tried beyond {} = {}: a call takes about {} for each of {}, and with {} = {} it "
                    "would outlast the {:g} s that a call may take (--case-timeout gives it longer)",
                    op.name, core::name_of(type), axis, slow.expected.tried,
                    in_words(slow.expected.least / static_cast<double>(slow.size)), axis, axis, slow.size, limit_));
  return all;
}

}  // namespace assay::tools
