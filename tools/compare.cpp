// Reports side by side: one table of candidates by operations.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "golden/formats/file.hpp"
#include "tools/commands.hpp"
#include "tools/gate/pinning.hpp"
#include "tools/report/escape.hpp"
#include "tools/report/html_parts.hpp"

namespace assay::tools {
namespace {

using nlohmann::json;

// "rope/rotate in f32"
std::string part_of(const json& entry) {
  return entry["operation"].get<std::string>() + " in " + entry["dtype"].get<std::string>();
}

std::string text_or(const json& j, const char* key, const std::string& otherwise = {}) {
  const auto it = j.find(key);
  return it != j.end() && it->is_string() ? it->get<std::string>() : otherwise;
}

std::string number_text(const json& j) {
  if (!j.is_number()) return j.is_string() ? j.get<std::string>() : "";
  const double x = j.get<double>();
  return x == std::floor(x) && std::fabs(x) < 1e15 ? fmt::format("{:.0f}", x) : fmt::format("{:.3g}", x);
}

// "7 digits up to n = 1, 3 up to n = 4097"
std::string digits_of(const json& check) {
  const json along = check.value("error_along", json());
  if (!along.is_object()) return {};
  std::string text;
  for (const json& kept : along.value("digits", json::array())) {
    if (!kept.is_object() || !kept.contains("digits")) continue;
    text += fmt::format("{}{}{} up to {}", text.empty() ? "" : ", ", kept["digits"].dump(),
                        text.empty() ? " digits" : "", number_text(kept.value("up_to", json())));
  }
  return text.empty() ? text : text + " (" + text_or(along, "quantity") + ")";
}

// What one report says of an operation in a dtype, a line each.
std::vector<std::string> lines_of(const json& report, const json& part) {
  std::vector<std::string> lines;
  std::size_t failed = 0;
  std::string first_failed, digits;
  for (const json& c : report["checks"]) {
    if (part_of(c) != part_of(part)) continue;
    if (c["verdict"] == "failed" && !c.contains("by_fault_of") && failed++ == 0) first_failed = c["property"];
    if (c.contains("error_along")) digits = digits_of(c);
  }
  if (failed == 1) lines.push_back("failed: " + first_failed);
  if (failed > 1) lines.push_back(fmt::format("failed: {} and {} more", first_failed, failed - 1));
  if (failed > 0) return lines;
  lines.push_back("passed");
  const std::string reached = text_or(part, "class");
  if (!reached.empty()) lines.push_back("class " + reached);
  if (part.contains("share_of_law")) lines.push_back(number_text(part["share_of_law"]) + " of its law");
  if (!digits.empty()) lines.push_back(digits);
  std::vector<std::string> sizes;
  const json largest = part.value("largest_sizes", json::object());
  for (const auto& [axis, size] : largest.items()) sizes.push_back(axis + " " + size.dump());
  if (!sizes.empty()) lines.push_back(fmt::format("sizes tried, up to {}", fmt::join(sizes, ", ")));
  return lines;
}

struct column {
  std::string candidate, verdict;
  std::map<std::string, std::vector<std::string>> parts{};
};

struct comparison {
  std::vector<std::string> parts{};  // in the order in which they come up
  std::vector<column> columns{};
};

comparison compared(const std::vector<json>& reports) {
  comparison all;
  for (const json& report : reports) {
    const json& about = report["candidate"];
    const std::string name = text_or(about, "name", text_or(about, "specification")),
                      version = text_or(about, "version");
    column c{version.empty() ? name : name + " " + version, text_or(report, "verdict")};
    for (const json& part : report["accuracy_class"]) {
      c.parts.emplace(part_of(part), lines_of(report, part));
      if (std::find(all.parts.begin(), all.parts.end(), part_of(part)) == all.parts.end())
        all.parts.push_back(part_of(part));
    }
    all.columns.push_back(std::move(c));
  }
  return all;
}

using line_writer = std::string (*)(std::string_view);

// One row: what each candidate says of a part.
std::string row_of(const comparison& all, const std::string& part, const char* open, const char* close,
                   const char* line_end, line_writer escape) {
  std::string row;
  for (const column& c : all.columns) {
    const auto found = c.parts.find(part);
    std::string text;
    if (found != c.parts.end())
      for (const std::string& line : found->second) text += (text.empty() ? "" : line_end) + escape(line);
    if (text.empty()) text = "not tried";
    row += open + text + close;
  }
  return row;
}

std::string as_markdown(const comparison& all) {
  std::string text = "| |", rule = "|---|";
  for (const column& c : all.columns) {
    text += fmt::format(" {}: **{}** |", escape_markdown(c.candidate), escape_markdown(c.verdict));
    rule += "---|";
  }
  text += "\n" + rule + "\n";
  for (const std::string& part : all.parts)
    text += fmt::format("| {} |{}\n", escape_markdown(part), row_of(all, part, " ", " |", "<br>", escape_markdown));
  return text;
}

std::string as_page(const comparison& all) {
  std::string head = "<th scope=\"col\">operation</th>", rows;
  for (const column& c : all.columns)
    head += fmt::format("<th scope=\"col\">{}: {}</th>", escape_markup(c.candidate), escape_markup(c.verdict));
  for (const std::string& part : all.parts)
    rows += fmt::format("<tr><th scope=\"row\">{}</th>{}</tr>\n", escape_markup(part),
                        row_of(all, part, "<td>", "</td>", "<br>", escape_markup));
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src "
      "data:\">\n<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n"
      "<title>Assay: {} candidates</title>\n<style>\n{}</style>\n</head>\n<body>\n<main>\n<h2>Candidates by "
      "operations</h2>\n{}</main>\n</body>\n</html>\n",
      all.columns.size(), page_style(),
      scrolling("candidates by operations",
                "<table><thead><tr>" + head + "</tr></thead><tbody>\n" + rows + "</tbody></table>"));
}

}  // namespace

int compare(const compare_options& options) {
  std::vector<json> reports;
  for (const std::filesystem::path& path : options.reports) {
    auto report = read_report(std::filesystem::is_directory(path) ? path / "report.json" : path);
    if (!report) {
      complain(report.error().message);
      return wrong_input;
    }
    reports.push_back(std::move(*report));
  }
  const comparison all = compared(reports);
  fmt::print("{}", as_markdown(all));
  if (!options.page.empty())
    if (const auto written = formats::replace_file(options.page, as_page(all)); !written) {
      complain(written.error().message);
      return wrong_input;
    }
  return all_passed;
}

}  // namespace assay::tools
