#include "tools/gate/size_limits.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace assay::tools {
namespace {

// Whether `large` is at least `least` times as large along every axis.
bool covers(const core::axis_sizes& large, const core::axis_sizes& small, double least = 1) {
  return std::all_of(small.begin(), small.end(), [&](const auto& axis) {
    const auto found = large.find(axis.first);
    return found != large.end() && static_cast<double>(found->second) >= least * static_cast<double>(axis.second);
  });
}

bool any_covers(const std::vector<core::axis_sizes>& all, const core::axis_sizes& sizes) {
  return std::any_of(all.begin(), all.end(), [&](const auto& one) { return covers(one, sizes); });
}

// The axis whose size is the largest multiple of the answered sizes, and this multiple.
std::pair<std::string, double> farthest_axis(const core::axis_sizes& largest, const core::axis_sizes& sizes) {
  std::pair<std::string, double> most{"", 0};
  for (const auto& [axis, size] : sizes) {
    const auto found = largest.find(axis);
    const std::size_t tried = found == largest.end() ? 1 : std::max<std::size_t>(found->second, 1);
    const double multiple = static_cast<double>(size) / static_cast<double>(tried);
    if (multiple > most.second) most = {axis, multiple};
  }
  return most;
}

std::string in_words(const core::axis_sizes& sizes) {
  std::vector<std::string> all;
  for (const auto& [axis, size] : sizes) all.push_back(fmt::format("{} = {}", axis, size));
  return fmt::format("{}", fmt::join(all, ", "));
}

}  // namespace

const size_limits::seen* size_limits::find(const properties::request& call) const {
  const auto found = all_.find({call.operation->name, call.type});
  return found == all_.end() ? nullptr : &found->second;
}

void size_limits::note_answered(const properties::request& call) {
  const auto sizes = core::check_request(call);
  if (!sizes) return;
  seen& s = all_[{call.operation->name, call.type}];
  for (const auto& [axis, size] : *sizes) s.largest[axis] = std::max(s.largest[axis], size);
  if (any_covers(s.answered, *sizes)) return;
  std::erase_if(s.answered, [&](const auto& smaller) { return covers(*sizes, smaller); });
  s.answered.push_back(*sizes);
}

void size_limits::note_oversized(const properties::request& call, std::string limit) {
  all_[{call.operation->name, call.type}].oversized.push_back({core::sizes_of(call), std::move(limit)});
}

bool size_limits::is_larger_than_answered(const properties::request& call) const {
  const seen* s = find(call);
  const auto sizes = core::check_request(call);
  return s != nullptr && sizes && !s->answered.empty() && !any_covers(s->answered, *sizes);
}

double size_limits::multiple_of_answered(const properties::request& call) const {
  const seen* s = find(call);
  return s == nullptr ? 1.0 : std::max(1.0, farthest_axis(s->largest, core::sizes_of(call)).second);
}

bool size_limits::is_oversized(const properties::request& call) const {
  const seen* s = find(call);
  if (s == nullptr || s->oversized.empty() || !is_larger_than_answered(call)) return false;
  const core::axis_sizes sizes = core::sizes_of(call);
  return std::any_of(s->oversized.begin(), s->oversized.end(),
                     [&](const oversized_call& o) { return covers(sizes, o.sizes, 0.5); });
}

std::vector<std::string> size_limits::sentences(const core::operation& op, core::dtype type) const {
  std::vector<std::string> all;
  const auto found = all_.find({op.name, type});
  if (found == all_.end()) return all;
  // The smallest oversized call for each axis.
  std::map<std::string, const oversized_call*> by_axis;
  for (const oversized_call& o : found->second.oversized) {
    const auto [axis, multiple] = farthest_axis(found->second.largest, o.sizes);
    const oversized_call*& least = by_axis[multiple > 1 ? axis : ""];
    if (least == nullptr || most_steps(o.sizes) < most_steps(least->sizes)) least = &o;
  }
  for (const auto& [axis, o] : by_axis) {
    const std::string where = axis.empty() ? "where sizes are as large together as in this call"
                                           : fmt::format("beyond {} = {}", axis, found->second.largest.at(axis));
    all.push_back(fmt::format("{} in {} was not tried {}: at {} there was {}", op.name, core::name_of(type), where,
                              in_words(o->sizes), o->limit));
  }
  return all;
}

double most_steps(const core::axis_sizes& sizes) {
  double steps = 1;
  std::size_t longest = 1;
  for (const auto& [axis, size] : sizes) {
    steps *= static_cast<double>(std::max<std::size_t>(size, 1));
    longest = std::max(longest, size);
  }
  return steps * static_cast<double>(longest);
}

bool says_no_memory(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char x) { return std::tolower(x); });
  constexpr std::array words{"memoryerror",   "can't allocate memory", "cannot allocate memory",
                             "out of memory", "not enough memory",     "unable to allocate",
                             "bad_alloc"};
  return std::any_of(words.begin(), words.end(),
                     [&](const char* word) { return text.find(word) != std::string::npos; });
}

}  // namespace assay::tools
