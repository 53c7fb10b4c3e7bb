// Sweeps as users write them: messages name the line of an error.
#include "tools/explore/sweep.hpp"

#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "properties/builtin.hpp"
#include "tools/explore/measure.hpp"

using namespace assay;
using namespace assay::explore;

namespace {

const std::string good = R"(name = "mine"
[[grid]]
measure = "scan"
implementation = ["sequential", "cumsum"]
arithmetic = "f32"
family = "gates"
size = [10, 20]
)";

std::string error_of(const std::string& text) {
  const auto s = read_sweep(text, "mine.toml");
  if (!s) return s.error().message;
  const auto cells = cells_of(*s);
  return cells ? "" : cells.error().message;
}

bool says(const std::string& text, const std::string& part) {
  INFO(text);
  CHECK(text.find(part) != std::string::npos);
  return true;
}

}  // namespace

TEST_CASE("explore/sweep/a_grid_is_a_product", "[unit]") {
  const auto cells = cells_of(read_sweep(good + "decay = [0, 4.5]\n", "mine.toml").value()).value();
  CHECK(cells.size() == 8);
  CHECK(cells[0] == cell{"scan", "sequential", "f32", "f32", "gates", 0, 1, 10, 1});
  // A cell in two grids is one cell.
  CHECK(cells_of(read_sweep(good + good.substr(good.find("[[")), "mine.toml").value()).value().size() == 4);
}

TEST_CASE("explore/sweep/mistakes_are_named", "[unit]") {
  says(error_of("name = \"x\"\n"), "no [[grid]]");
  says(error_of("name = 3\n"), "line 1: 'name' must hold strings");
  says(error_of(good + "speed = 3\n"), "line 8: there is no 'speed' here");
  says(error_of(good + "seed = [-1]\n"), "'seed' must hold whole numbers");
  says(error_of(good + "decay = []\n"), "empty list");
  says(error_of(good + "storage = \"f64\"\n"), "more digits");
  says(error_of(good + "decay = inf\n"), "finite");
  says(error_of("include = [\"nothing\"]\n" + good), "no preset 'nothing'");
  says(error_of("[[grid]\n"), "line 1");
  for (const char* header : {"[=", "[[=", "[\n]", "[#]"}) says(error_of(header), "is no TOML");
  for (const char* text :
       {"\u00e9 = 1", "a = \u00e9", "a = \"\" \u00e9", "a = -\"\u00e9\"", "a = \"\"\"\n\u00e9\"\"\""})
    says(error_of(text), "beyond ASCII");
  CHECK(read_sweep("question = \"\u00e9 \\\" \u00e9\"  # \u00e9\n" + good, "mine.toml").has_value());
  for (const auto& [from, to, what] : {std::tuple{"\"scan\"", "\"scam\"", "no measure 'scam'"},
                                       {"\"cumsum\"", "\"cumsun\"", "no implementation 'cumsun'"},
                                       {"\"f32\"", "\"f31\"", "no arithmetic"},
                                       {"\"gates\"", "\"gate\"", "no family 'gate'"},
                                       {"[10, 20]", "[0]", "size must be"}}) {
    std::string text = good;
    says(error_of(text.replace(text.find(from), std::string(from).size(), to)), what);
  }
  CHECK(load_sweep("/nonexistent").error().message.find("neither a file nor a preset") != std::string::npos);
  CHECK_FALSE(load_sweep("/"));
  says(load_sweep("/dev/zero").error().message, "at most 1048576 bytes");
}

TEST_CASE("explore/sweep/presets_are_sound", "[unit]") {
  REQUIRE_FALSE(presets().empty());
  for (const preset& p : presets()) {
    const auto s = read_sweep(p.text, std::string(p.name));
    INFO(p.name << (s ? "" : s.error().message));
    REQUIRE(s);
    CHECK(s->name == p.name);
    CHECK_FALSE(s->question.empty());
    const auto cells = cells_of(*s);
    INFO((cells ? "" : cells.error().message));
    REQUIRE(cells);
    CHECK(cells->size() > 3);
    std::set<std::string> builtins;
    for (const cell& c : *cells)
      if (c.implementation.starts_with("builtin:")) builtins.insert(c.implementation.substr(8));
    for (const std::string& name : builtins) {
      INFO(name);
      CHECK(properties::make_builtin(name).has_value());
    }
    for (const cell& c : *cells)
      if (const auto again = read_cell(text_of(c)); !again || *again != c) FAIL(text_of(c));
  }
}

TEST_CASE("explore/cell/text_is_read_back", "[unit]") {
  const cell c{"scan", "process:a%20b\tc d", "f32", "f16", "gates", -0.1, 1e300, 123, 18446744073709551615u};
  CHECK(read_cell(text_of(c)).value() == c);
  const cell none{"angle", "in_format", "f32", "f32", "", 0, 1, 8, 1};  // no family
  CHECK(read_cell(text_of(none)).value() == none);
  CHECK(read_cell("angle in_format f32 f32 decay=0 scale=1 size=8 seed=1").value() == none);
  CHECK_FALSE(read_cell("scan cumsum"));
  CHECK_FALSE(read_cell("scan cumsum f32 f32 gates decay=x scale=1 size=1 seed=1"));
  CHECK_FALSE(read_cell("scan cumsum f32 f32 gates decay=0 scale=1 size=-1 seed=1"));
}
