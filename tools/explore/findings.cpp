#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "tools/explore/measure.hpp"
#include "tools/explore/page.hpp"
#include "tools/explore/presentation.hpp"
#include "tools/report/escape.hpp"

namespace assay::explore {
namespace {

using tools::escape_markdown;

// Cells whose measured value is not within a factor of 2 of a law that predicts it (and does not bound it).
std::string differences(const std::vector<measured_cell>& cells) {
  std::string s;
  std::size_t compared = 0, apart = 0;
  for (const measured_cell& m : cells) {
    const char* predicted = find_measure(m.what.measure)->presented->predicted;
    if (predicted == nullptr) continue;
    const double x = value_of(m, predicted), y = value_of(m, "law");
    if (std::isnan(x) || std::isnan(y)) continue;
    ++compared;
    if (x <= 2 * y && x >= y / 2) continue;
    ++apart;
    s += fmt::format("| `{}` | {} | {} |\n", text_of(m.what), shown(x), shown(y));
  }
  if (compared == 0) return "";
  return fmt::format("\n## Where they differ\n\n{} of {} cells are not within a factor of 2 of what is predicted.\n",
                     apart, compared) +
         (apart == 0 ? "" : "\n| cell | measured | law |\n|---|---|---|\n" + s);
}

}  // namespace

std::string findings(const sweep_identity& identity, const std::vector<measured_cell>& cells) {
  std::string s =
      fmt::format("# Numerical limits of position encodings\n\nMeasured by Assay {}, sweep `{}`, {} cells.\n",
                  identity.version, identity.name, cells.size());
  for (finding& f : all_findings()) {
    for (const measured_cell& m : cells)
      if (f.takes(m.what)) f.table.take(m);
    if (f.table.is_empty()) continue;
    s += fmt::format("\n## {}\n\n{}\n\n{}{}", escape_markdown(f.title),
                     tools::markdown_code(command_of(identity, f.preset)),
                     f.note.empty() ? "" : escape_markdown(f.note) + "\n\n", f.table.markdown());
  }
  return s + differences(cells);
}

}  // namespace assay::explore
