#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "tools/explore/draw.hpp"
#include "tools/explore/page.hpp"

namespace assay::explore {
namespace {

// A field quoted as in RFC 4180.
std::string csv_word(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

nlohmann::ordered_json as_value(double x) {
  if (std::isnan(x)) return nullptr;
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  return x;
}

void write_file(const std::filesystem::path& path, const std::string& text) {
  const std::filesystem::path beside = path.string() + ".part";
  {
    std::ofstream file(beside, std::ios::binary);
    file << text;
    file.close();
    if (!file) throw std::runtime_error(path.string() + ": cannot be written");
  }
  std::filesystem::rename(beside, path);
}

}  // namespace

std::string as_csv(const std::vector<measured_cell>& cells) {
  std::string s = "measure,implementation,arithmetic,storage,family,decay,scale,size,seed,result,value\n";
  for (const measured_cell& m : cells)
    for (const auto& [name, value] : m.found) {
      const cell& c = m.what;
      s += fmt::format("{},{},{},{},{},{},{},{},{},{},{}\n", c.measure, csv_word(c.implementation), c.arithmetic,
                       c.storage, csv_word(c.family), c.decay, c.scale, c.size, c.seed, name,
                       std::isnan(value) ? "" : fmt::format("{}", value));
    }
  return s;
}

std::string as_json(const sweep_identity& identity, const std::vector<measured_cell>& cells) {
  nlohmann::ordered_json all{{"format", "assay-sweep/1"},
                             {"version", identity.version},
                             {"sweep", identity.name},
                             {"question", identity.question},
                             {"candidate", identity.candidate}};
  if (!identity.formula.empty()) all["formula"] = {{"spec", identity.formula}, {"sha256", identity.formula_sha256}};
  all["cells"] = nlohmann::ordered_json::array();
  for (const measured_cell& m : cells) {
    const cell& c = m.what;
    nlohmann::ordered_json found = nlohmann::ordered_json::object();
    for (const auto& [name, value] : m.found) found[name] = as_value(value);
    all["cells"].push_back({{"cell", text_of(c)},
                            {"measure", c.measure},
                            {"implementation", c.implementation},
                            {"arithmetic", c.arithmetic},
                            {"storage", c.storage},
                            {"family", c.family},
                            {"decay", c.decay},
                            {"scale", c.scale},
                            {"size", c.size},
                            {"seed", c.seed},
                            {"results", std::move(found)}});
  }
  return all.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

void write_documents(const std::filesystem::path& folder, const sweep_identity& identity,
                     const std::vector<measured_cell>& cells, bool figures, const std::vector<measured_cell>& beside,
                     const std::string& beside_name) {
  const std::vector<question> questions = questions_of(cells, beside);
  write_file(folder / "cells.csv", as_csv(cells));
  write_file(folder / "cells.json", as_json(identity, cells));
  write_file(folder / "findings.md", findings(identity, cells));
  if (figures) {
    std::filesystem::create_directories(folder / "figures");
    for (const question& q : questions)
      for (const chart& c : q.charts) write_file(folder / "figures" / (c.id + ".svg"), standalone(c));
  }
  write_file(folder / "index.html",
             page(identity, questions, answers_of(cells, identity.candidate), cells.size(), beside_name));
}

}  // namespace assay::explore
