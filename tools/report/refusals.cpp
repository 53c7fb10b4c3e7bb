// Calls that a candidate refuses without having declared it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "tools/report/report.hpp"

namespace assay::tools {

std::string refusals_in_words(const properties::check_result& c) {
  std::vector<std::string> axes;
  bool alike = true;
  for (const properties::refusal& r : c.refused) {
    axes.push_back(r.axis + " = 0" + (r.settings.empty() ? "" : " with " + r.settings));
    alike = alike && without_digits(r.message) == without_digits(c.refused.front().message);
  }
  return fmt::format("does not take {}: {}{}", fmt::join(axes, ", nor "), alike ? "" : axes.front() + ": ",
                     c.refused.front().message);
}

std::vector<std::pair<std::string, std::string>> declined_calls(const gate_report& r) {
  std::set<std::pair<std::string, std::string>> seen;
  std::vector<std::pair<std::string, std::string>> all;
  for (const properties::check_result& c : r.checks)
    for (const properties::declined_cases& declined : c.declined)
      if (seen.emplace(c.operation->name, without_digits(declined.reason)).second)
        all.emplace_back(c.operation->name, declined.reason);
  return all;
}

}  // namespace assay::tools
