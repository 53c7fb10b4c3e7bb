// Workflow commands of GitHub Actions: https://docs.github.com/actions/reference/workflow-commands-for-github-actions
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "tools/report/escape.hpp"
#include "tools/report/report.hpp"

namespace assay::tools {
namespace {

std::string encoded(std::string_view text, std::string_view reserved) {
  std::string all;
  for (const char c : text)
    all += reserved.find(c) == std::string_view::npos ? std::string(1, c)
                                                      : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  return all;
}

// The source file of a candidate "python:model:rotate" or "python:a/model.py:rotate", if it exists.
std::string file_of(const std::string& spec) {
  if (!spec.starts_with("python:")) return "";
  std::string module = spec.substr(7);
  module = module.substr(0, module.rfind(':'));
  if (!module.ends_with(".py")) {
    std::ranges::replace(module, '.', '/');
    module += ".py";
  }
  std::error_code failed;
  return std::filesystem::is_regular_file(module, failed) ? module : "";
}

}  // namespace

std::string to_github(const gate_report& r) {
  const std::string file = file_of(r.candidate_spec);
  const std::string file_property = file.empty() ? "" : "file=" + encoded(file, "%\r\n:,") + ",";
  std::string all;
  const auto annotate = [&](const char* level, const std::string& title, const std::string& sentence) {
    all += fmt::format("::{} {}title={}::{}\n", level, file_property, encoded("Assay: " + title, "%\r\n:,"),
                       encoded(plain(sentence), "%\r\n"));
  };
  for (const auto& [part, sentences] : r.faults)
    for (const std::string& sentence : sentences)
      annotate("error", fmt::format("{} in {}", part.first, core::name_of(part.second)), sentence);
  for (const complaint& c : r.complaints) annotate("error", candidate_title(r), c.text);
  for (const std::string& warning : r.warnings) annotate("warning", candidate_title(r), warning);
  return all;
}

}  // namespace assay::tools
