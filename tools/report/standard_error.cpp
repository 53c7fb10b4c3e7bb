// The text that a candidate wrote to stderr, if it ended or was stopped.
#include <fmt/format.h>

#include <algorithm>

#include "tools/report/escape.hpp"
#include "tools/report/report.hpp"

namespace assay::tools {
namespace {

constexpr std::size_t most_lines = 20, most_bytes = 2000;

std::string place_of(const adapter_fault& f) {
  return f.operation == nullptr ? f.on : fmt::format("{} in {}, {}", f.operation->name, core::name_of(f.type), f.on);
}

void note(std::vector<stderr_excerpt>& all, std::string_view errors, const std::string& place) {
  auto lines = stderr_lines(errors);
  if (lines.empty()) return;
  auto it = std::find_if(all.begin(), all.end(), [&](const stderr_excerpt& e) { return e.lines == lines; });
  if (it == all.end()) it = all.insert(it, stderr_excerpt{{}, std::move(lines)});
  it->places.push_back(place);
}

}  // namespace

std::vector<std::string> stderr_lines(std::string_view errors) {
  while (!errors.empty() && (errors.back() == '\n' || errors.back() == '\r' || errors.back() == ' '))
    errors.remove_suffix(1);
  const bool cut = errors.size() > most_bytes;
  if (cut) errors.remove_prefix(errors.size() - most_bytes);
  std::vector<std::string> lines;
  for (std::size_t begin = 0; !errors.empty() && begin <= errors.size();) {
    const std::size_t end = std::min(errors.find('\n', begin), errors.size());
    lines.push_back(plain(errors.substr(begin, end - begin)));
    begin = end + 1;
  }
  // Half a line says little if whole lines follow.
  if (cut && lines.size() > 1) lines.erase(lines.begin());
  if (lines.size() > most_lines) lines.erase(lines.begin(), lines.end() - most_lines);
  return lines;
}

std::string places_in_words(const stderr_excerpt& e) {
  const std::size_t more = e.places.size() - 1;
  return more == 0 ? e.places.front() : fmt::format("{}, and {} more", e.places.front(), more);
}

std::vector<stderr_excerpt> stderr_excerpts(const gate_report& r) {
  std::vector<stderr_excerpt> all;
  if (r.start_fault) note(all, r.start_fault->errors, place_of(*r.start_fault));
  for (const adapter_fault& f : r.adapter_faults) note(all, f.errors, place_of(f));
  for (const properties::check_result& c : r.checks)
    if (c.found && c.found->shown.failure)
      note(all, c.found->shown.failure->errors,
           fmt::format("{} of {} in {}", c.checked->name, c.operation->name, core::name_of(c.type)));
  for (const adapter_fault& f : r.horizon_faults) note(all, f.errors, place_of(f));
  return all;
}

}  // namespace assay::tools
