#include <unistd.h>

#include <cerrno>

#include "golden/formats/file.hpp"
#include "tools/case_file.hpp"
#include "tools/report/report.hpp"
#include "tools/report/snippet.hpp"

namespace assay::tools {

core::result<void> prepare_report(const std::filesystem::path& folder) {
  std::error_code failed;
  const std::filesystem::path cases = folder / "counterexamples";
  std::filesystem::create_directories(cases, failed);
  // An existing folder may belong to another user: its contents could then be neither removed nor replaced.
  for (const std::filesystem::path& written : {folder, cases})
    if (!failed && ::access(written.c_str(), W_OK) != 0) failed.assign(errno, std::generic_category());
  if (failed)
    return core::failure("cannot write to " + cases.string() + ": " + failed.message() +
                         "; --report names another folder");
  for (auto entry = std::filesystem::directory_iterator(cases, failed); entry != std::filesystem::directory_iterator();
       entry.increment(failed))
    if (entry->path().extension() == ".json" || entry->path().extension() == ".py")
      std::filesystem::remove(entry->path(), failed);
  // A killed run must not leave an earlier verdict behind, and no run the parts of an earlier shard.
  for (const char* name : {"report.json", "junit.xml", "summary.md", "index.html", "shard.json"})
    std::filesystem::remove(folder / name, failed);
  return {};
}

core::result<std::string> write_report(const gate_report& r, const std::filesystem::path& folder) {
  const auto write = [&](const std::filesystem::path& name, const std::string& text) {
    return formats::replace_file(folder / name, text);
  };
  const auto text_of = [](const nlohmann::ordered_json& j) {
    return j.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  };
  for (const auto& c : r.checks) {
    if (!c.found) continue;
    const auto json = to_json(stored_case{c.checked, c.found->minimal});
    const std::filesystem::path cases = "counterexamples";
    if (auto ok = write(cases / counterexample_name(c), text_of(json)); !ok) return tl::make_unexpected(ok.error());
    if (auto ok = write(cases / snippet_name(c), python_snippet(r, c)); !ok) return tl::make_unexpected(ok.error());
  }
  std::string summary = to_markdown(r);
  // The last file says that the report is complete.
  for (const auto& [name, text] : {std::pair("summary.md", summary),
                                   {"index.html", to_html(r)},
                                   {"junit.xml", to_junit(r)},
                                   {"report.json", text_of(to_json(r))}})
    if (auto ok = write(name, text); !ok) return tl::make_unexpected(ok.error());
  return summary;
}

}  // namespace assay::tools
