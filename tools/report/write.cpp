#include "golden/file.hpp"
#include "tools/case_file.hpp"
#include "tools/report/report.hpp"

namespace assay::tools {

core::result<void> write_report(const gate_report& r, const std::filesystem::path& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder / "counterexamples", failed);
  if (failed) return core::failure("cannot create " + folder.string() + ": " + failed.message());
  // Counterexamples of an earlier run would be taken for this one's.
  for (const auto& entry : std::filesystem::directory_iterator(folder / "counterexamples"))
    if (entry.path().extension() == ".json") std::filesystem::remove(entry.path(), failed);

  const auto text_of = [](const nlohmann::ordered_json& j) {
    return j.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  };
  for (const auto& c : r.checks) {
    if (!c.found) continue;
    const auto json = to_json(stored_case{c.checked, c.found->minimal});
    if (auto ok = golden::replace_file(folder / "counterexamples" / counterexample_name(c), text_of(json)); !ok)
      return ok;
  }
  if (auto ok = golden::replace_file(folder / "summary.md", to_markdown(r)); !ok) return ok;
  return golden::replace_file(folder / "report.json", text_of(to_json(r)));
}

}  // namespace assay::tools
