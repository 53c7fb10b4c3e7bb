// Reports compared: one table of candidates by operations.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "golden/formats/file.hpp"
#include "tools/command_line.hpp"
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

// "7 digits up to 1, 3 up to 4097 (number of tokens)"
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

// A line of a table cell. `place`: the address of its subject on the page of its report, such as
// "#value-rope-rotate-f32".
struct report_line {
  std::string text, place{};
};

std::vector<std::string> texts_in(const json& j, const char* key) {
  std::vector<std::string> texts;
  for (const json& text : j.value(key, json::array()))
    if (text.is_string()) texts.push_back(text.get<std::string>());
  return texts;
}

// "wrong result", "crash"
std::string kind_of_failure(const json& check) {
  std::string kind = text_or(check.value("counterexample", json::object()), "kind");
  std::replace(kind.begin(), kind.end(), '_', ' ');
  return kind;
}

// The address of a counterexample on the page of a report: "#" and the name of its file.
std::string place_of(const json& check) {
  const std::filesystem::path file = text_or(check.value("counterexample", json::object()), "file");
  return file.empty() ? "" : "#" + file.stem().string();
}

// Lines about the faults of a part, from the first of its failed checks that has a fault of its own.
std::vector<report_line> lines_of_failed(const json& check, std::size_t failed) {
  std::string text = "failed: " + check["property"].get<std::string>();
  if (failed > 1) text += fmt::format(" and {} more", failed - 1);
  if (const std::string kind = kind_of_failure(check); !kind.empty()) text += " (" + kind + ")";
  std::vector<report_line> lines{{text, place_of(check)}};
  for (std::string& fault : texts_in(check, "faults")) lines.push_back({std::move(fault)});
  return lines;
}

// Lines of one report about an operation in a dtype.
std::vector<report_line> lines_of(const json& report, const json& part) {
  std::size_t failed = 0;
  const json* first_failed = nullptr;
  std::string digits;
  for (const json& c : report["checks"]) {
    if (part_of(c) != part_of(part)) continue;
    if (c["verdict"] == "failed" && !c.contains("by_fault_of") && failed++ == 0) first_failed = &c;
    if (c.contains("error_along")) digits = digits_of(c);
  }
  if (first_failed) return lines_of_failed(*first_failed, failed);
  std::vector<report_line> lines{{"passed"}};
  const std::string reached = text_or(part, "class");
  if (!reached.empty()) lines.push_back({"class " + reached});
  if (part.contains("share_of_law")) lines.push_back({number_text(part["share_of_law"]) + " of its law"});
  if (!digits.empty()) lines.push_back({digits});
  std::vector<std::string> sizes;
  const json largest = part.value("largest_sizes", json::object());
  for (const auto& [axis, size] : largest.items()) sizes.push_back(axis + " " + size.dump());
  if (!sizes.empty()) lines.push_back({fmt::format("sizes tried, up to {}", fmt::join(sizes, ", "))});
  return lines;
}

struct column {
  std::string candidate, verdict;
  std::filesystem::path page{};  ///< the page of the report; empty if there is none
  std::map<std::string, std::vector<report_line>> parts{};
};

struct comparison {
  std::vector<std::string> parts{};  // in order of appearance
  std::vector<column> columns{};
};

// The user formula against which the candidate was judged: another formula is another truth.
std::string formula_of(const json& report) {
  const json formula = report.value("formula", json());
  const std::string sha256 = formula.is_object() ? text_or(formula, "sha256") : "";
  return sha256.empty() ? "" : fmt::format(", of the formula with sha256 {:.12}", sha256);
}

// The key for faults of the run as a whole: if a candidate did not start, there is nothing else.
constexpr const char* whole_run = "the run as a whole";

comparison compared(const std::vector<json>& reports, const std::vector<std::filesystem::path>& pages) {
  comparison all;
  const auto add = [&](column& c, const std::string& part, std::vector<report_line> lines) {
    c.parts.emplace(part, std::move(lines));
    if (std::find(all.parts.begin(), all.parts.end(), part) == all.parts.end()) all.parts.push_back(part);
  };
  const bool several_formulas = std::ranges::any_of(
      reports, [&](const json& report) { return formula_of(report) != formula_of(reports.front()); });
  for (std::size_t k = 0; k < reports.size(); ++k) {
    const json &report = reports[k], &about = report["candidate"];
    const std::string name = text_or(about, "name", text_or(about, "specification")),
                      version = text_or(about, "version");
    column c{version.empty() ? name : name + " " + version, text_or(report, "verdict"), pages[k]};
    for (const json& part : report["accuracy_class"])
      add(c, part_of(part) + (several_formulas ? formula_of(report) : ""), lines_of(report, part));
    std::vector<report_line> whole;
    for (std::string& complaint : texts_in(report, "complaints")) whole.push_back({std::move(complaint)});
    if (!whole.empty()) add(c, whole_run, std::move(whole));
    all.columns.push_back(std::move(c));
  }
  return all;
}

// The way in which a table is written: separators of the lines of a cell, and text, with a link if there is a page.
struct table_style {
  const char *open, *close, *line_end, *nothing;
  std::function<std::string(const std::string& text, const column& candidate_column, const std::string& place)> text;
};

// One row: what each candidate's report says about a part.
std::string row_of(const comparison& all, const std::string& part, const table_style& style) {
  std::string row;
  for (const column& c : all.columns) {
    const auto found = c.parts.find(part);
    std::string text;
    if (found != c.parts.end())
      for (const report_line& l : found->second)
        text += (text.empty() ? "" : style.line_end) + style.text(l.text, c, l.place);
    if (text.empty()) text = part == whole_run ? style.nothing : "not tried";
    row += style.open + text + style.close;
  }
  return row;
}

// The name of a candidate links to the top of its page, and a failure to its counterexample.
constexpr const char* top = "#top";

std::string address_of(const column& c, const std::string& place, const std::filesystem::path& from) {
  if (c.page.empty() || place.empty()) return {};
  return url_path(c.page.lexically_proximate(from).generic_string()) + (place == top ? "" : place);
}

std::string as_markdown(const comparison& all) {
  const auto here = std::filesystem::current_path();
  const table_style style{" ", " |", "<br>", "",
                          [&](const std::string& text, const column& c, const std::string& place) {
                            const std::string address = address_of(c, place, here);
                            return address.empty() ? escape_markdown(text) : markdown_link(text, address);
                          }};
  std::string text = "| |", rule = "|---|";
  for (const column& c : all.columns) {
    text += fmt::format(" {}: **{}** |", style.text(c.candidate, c, top), escape_markdown(c.verdict));
    rule += "---|";
  }
  text += "\n" + rule + "\n";
  for (const std::string& part : all.parts)
    text += fmt::format("| {} |{}\n", escape_markdown(part), row_of(all, part, style));
  return text;
}

std::string as_page(const comparison& all, const std::filesystem::path& folder) {
  const table_style style{
      "<td>", "</td>", "<br>", "", [&](const std::string& text, const column& c, const std::string& place) {
        const std::string address = address_of(c, place, folder);
        return address.empty() ? escape_markup(text)
                               : fmt::format("<a href=\"{}\">{}</a>", escape_markup(address), escape_markup(text));
      }};
  std::string head = "<th scope=\"col\">operation</th>", rows;
  for (const column& c : all.columns)
    head += fmt::format("<th scope=\"col\">{}: {}</th>", style.text(c.candidate, c, top), escape_markup(c.verdict));
  for (const std::string& part : all.parts)
    rows += fmt::format("<tr><th scope=\"row\">{}</th>{}</tr>\n", escape_markup(part), row_of(all, part, style));
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

struct compare_options {
  std::vector<std::filesystem::path> reports;  ///< report.json, or the folders that hold them
  std::filesystem::path page{};                ///< empty: none
};

// Reports side by side: a table of candidates by operations, in Markdown on stdout and as a page.
int compare(const compare_options& options) {
  std::vector<json> reports;
  std::vector<std::filesystem::path> pages;
  std::error_code failed;
  for (const std::filesystem::path& path : options.reports) {
    const auto file = std::filesystem::is_directory(path, failed) ? path / "report.json" : path;
    auto report = read_report(file);
    if (!report) {
      complain(report.error().message);
      return wrong_input;
    }
    reports.push_back(std::move(*report));
    const auto page = std::filesystem::absolute(file, failed).lexically_normal().parent_path() / "index.html";
    pages.push_back(std::filesystem::exists(page, failed) ? page : std::filesystem::path());
  }
  const comparison all = compared(reports, pages);
  fmt::print("{}", as_markdown(all));
  if (options.page.empty()) return all_passed;
  const auto folder = std::filesystem::absolute(options.page, failed).lexically_normal().parent_path();
  if (const auto written = formats::replace_file(options.page, as_page(all, folder)); !written) {
    complain(written.error().message);
    return wrong_input;
  }
  return all_passed;
}

}  // namespace

command_work compare_command(CLI::App& app) {
  auto options = std::make_shared<compare_options>();
  app.add_option("reports", options->reports, "report.json of each, or its folder")->required();
  app.add_option("--page", options->page, "writes the table as a page, too, such as compared.html");
  return [options](const program_options&) { return compare(*options); };
}

}  // namespace assay::tools
