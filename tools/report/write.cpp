#include "golden/file.hpp"
#include "tools/case_file.hpp"
#include "tools/report/report.hpp"
#include "tools/report/snippet.hpp"

namespace assay::tools {

core::result<void> prepare_report(const std::filesystem::path& folder) {
  std::error_code failed;
  const std::filesystem::path cases = folder / "counterexamples";
  std::filesystem::create_directories(cases, failed);
  if (failed) return core::failure("cannot create " + cases.string() + ": " + failed.message());
  for (auto entry = std::filesystem::directory_iterator(cases, failed); entry != std::filesystem::directory_iterator();
       entry.increment(failed))
    if (entry->path().extension() == ".json" || entry->path().extension() == ".py")
      std::filesystem::remove(entry->path(), failed);
  // A run that is killed must not leave an earlier verdict behind.
  for (const char* name : {"report.json", "junit.xml", "summary.md", "index.html"})
    std::filesystem::remove(folder / name, failed);
  return {};
}

core::result<void> write_report(const gate_report& r, const std::filesystem::path& folder) {
  const auto text_of = [](const nlohmann::ordered_json& j) {
    return j.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  };
  for (const auto& c : r.checks) {
    if (!c.found) continue;
    const auto json = to_json(stored_case{c.checked, c.found->minimal});
    if (auto ok = golden::replace_file(folder / "counterexamples" / counterexample_name(c), text_of(json)); !ok)
      return ok;
    if (auto ok = golden::replace_file(folder / "counterexamples" / snippet_name(c), python_snippet(c)); !ok) return ok;
  }
  for (const auto& [name, text] :
       {std::pair("summary.md", to_markdown(r)), {"index.html", to_html(r)}, {"junit.xml", to_junit(r)}})
    if (auto ok = golden::replace_file(folder / name, text); !ok) return ok;
  return golden::replace_file(folder / "report.json", text_of(to_json(r)));
}

}  // namespace assay::tools
