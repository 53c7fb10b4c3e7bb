// What a candidate does not take, although it never said so.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tools/report/report.hpp"

namespace assay::tools {

std::string without_digits(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char x) { return x >= '0' && x <= '9'; }, '0');
  return text;
}

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

}  // namespace assay::tools
