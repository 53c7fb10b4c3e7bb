// The page, the figures and the findings only say what holds for the cells.
#include <catch2/catch.hpp>
#include <cmath>

#include "tools/explore/draw.hpp"
#include "tools/explore/page.hpp"
#include "tools/explore/sweep.hpp"

using namespace assay;
using namespace assay::explore;

namespace {

// Cells with errors that grow like constant n^exponent, in f32.
std::vector<measured_cell> growing(double exponent, const char* name = "cumsum") {
  std::vector<measured_cell> all;
  for (const std::uint64_t n : {16, 256, 4096, 65536}) {
    const double rms = 1e-7 * std::pow(static_cast<double>(n), exponent);
    all.push_back({all.size(),
                   {"scan", name, "f32", "f32", "gates", 0, 1, n, 1},
                   {{"rms", rms},
                    {"law", rms},
                    {"constant", 0.5},
                    {"digits", 3},
                    {"truth_radius", 1e-15},
                    {"nonfinite_at", std::nan("")},
                    {"tokens_1", std::nan("")},
                    {"tokens_2", 100}},
                   0.1});
  }
  return all;
}

std::string all_sentences(const std::vector<measured_cell>& cells) {
  std::string text;
  for (const std::string& s : sentences_of("scan", cells)) text += s + "\n";
  return text;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("explore/figures/slopes_are_fitted", "[unit]") {
  for (const double exponent : {0.0, 0.5, 1.0, -2.0}) {
    std::vector<chart_point> points;
    for (const double x : {1.0, 10.0, 300.0}) points.push_back({x, 7 * std::pow(x, exponent), ""});
    points.push_back({1000, INFINITY, ""});
    points.push_back({0, 1, ""});
    CHECK(fitted_slope(points) == Approx(exponent).margin(1e-12));
  }
  CHECK(std::isnan(fitted_slope({{1, 1, ""}, {2, 2, ""}})));
}

TEST_CASE("explore/figures/sentences_follow_the_numbers", "[unit]") {
  CHECK(has(all_sentences(growing(1)), "grows in proportion to n (exponent 1.00"));
  CHECK(has(all_sentences(growing(0, "sequential")), "does not grow with n"));
  CHECK(has(all_sentences(growing(0.5, "sequential")), "grows like n^0.50"));
  CHECK(has(all_sentences(growing(1)), "in proportion to n, in every format tried: cumsum."));
  // From a format without digits left, growth cannot be seen.
  auto lost = growing(1);
  for (measured_cell m : growing(1)) {
    m.what.arithmetic = m.what.storage = "bf16";
    m.found["rms"] = 1.0;
    lost.push_back(m);
  }
  CHECK(has(all_sentences(lost),
            "in every format tried but bf16, where too few lengths have a digit left to say: cumsum."));
  CHECK(has(all_sentences(growing(0, "sequential")), "does not grow with n: sequential."));
  CHECK_FALSE(has(all_sentences(growing(0.5)), "every format"));
  CHECK_FALSE(has(all_sentences(growing(1)), "NaN"));
  auto broken = growing(1);
  broken.back().found["nonfinite_at"] = 5000;
  CHECK(has(all_sentences(broken), "infinities or NaN where the truth is finite: gates"));
  CHECK(sentences_of("counter", growing(1)).empty());
}

TEST_CASE("explore/figures/charts_hold_the_stored_numbers", "[unit]") {
  const auto questions = questions_of(growing(1), growing(0.5));
  REQUIRE(questions.size() == 1);
  REQUIRE(questions[0].charts.size() == 1);
  const chart& c = questions[0].charts[0];
  REQUIRE(c.series.size() == 2);
  CHECK_FALSE(c.series[0].beside);
  CHECK(c.series[1].beside);
  const std::string svg = drawn(c);
  for (const measured_cell& m : growing(1)) {
    CHECK(has(svg, "data-cell=\"" + text_of(m.what) + "\""));
    bool found = false;
    for (const chart_point& p : c.series[0].points) found = found || p.y == m.found.at("rms");
    CHECK(found);
  }
  CHECK(has(svg, "class=\"law\""));
  CHECK(standalone(c).starts_with("<?xml"));
}

TEST_CASE("explore/figures/texts_of_candidates_change_nothing", "[unit]") {
  auto cells = growing(1);
  for (measured_cell& m : cells) m.what.implementation = "process:<script>alert(1)</script> \"|`";
  const sweep_identity identity{"0.1.0", "x", "<b>?", "", "process:<script>", 4, 1, 1};
  const std::string text = page(identity, questions_of(cells), answers_of(cells, ""), cells.size());
  CHECK_FALSE(has(text, "<script>alert"));
  CHECK_FALSE(has(text, "<b>?"));
  CHECK_FALSE(has(findings(identity, cells), "<script>alert"));
  CHECK(has(as_csv(cells), "\"process:<script>alert(1)</script> \"\"|`\""));
}

TEST_CASE("explore/figures/the_answer_is_the_worst_and_the_best", "[unit]") {
  auto cells = growing(1);
  CHECK(answers_of(cells, "") == std::vector<std::string>{"Digits of the worst state: 3.0 in all 4 cells."});
  cells[1].found["digits"] = 7.25;
  cells[2].found["nonfinite_at"] = 9;
  cells[3].found["digits"] = 0.5;
  CHECK(answers_of(cells, "") ==
        std::vector<std::string>{
            "Digits of the worst state: infinities or NaN at worst (cumsum in f32, gates, size 4096), "
            "7.2 at best (cumsum in f32, gates, size 256)."});
  cells[3].what.implementation = "python:model:scan";
  CHECK(answers_of(cells, "python:model:scan") ==
        std::vector<std::string>{"Digits of the worst state: 0.5 in all 1 cells."});
  const cell c{"repeats", "formula", "f32", "bf16", "alibi/bias,form=key", 0, 1, 512, 1};
  cell other = c;
  other.size = 64;
  CHECK(answers_of({{0, c, {{"merged_at", 257}}, 0.1}, {1, other, {{"merged_at", std::nan("")}}, 0.1}}, "") ==
        std::vector<std::string>{
            "The first place with the row of the next one: 257 at worst (formula in bf16 stored, f32 "
            "computed, alibi/bias,form=key, size 512), none at best (formula in bf16 stored, f32 "
            "computed, alibi/bias,form=key, size 64)."});
  CHECK(sentences_of("repeats", {{0, c, {{"merged_at", 257}}, 0.1}}).front() ==
        "alibi/bias,form=key, formula in bf16 stored, f32 computed: up to 512, place 257 is the first with the row of "
        "the "
        "next one.");
}

// The command names the preset that was used; the section names the smallest preset that makes the cells. A file has
// its own command.
TEST_CASE("explore/figures/the_command_is_that_of_the_sweep", "[unit]") {
  sweep_identity identity{"0.1.0", "mine", "What does YaRN cost?", "", "", 4, 1, 1};
  CHECK(command_of(identity, "growth") == "assay explore --sweep mine.toml --out mine");
  identity.formula = "python:reference:norm";
  CHECK(command_of(identity, "growth") == "assay explore --sweep mine.toml --formula python:reference:norm --out mine");
  CHECK(command_of({"0.1.0", formulas_own_sweep, "?", "", "python:mine:norm", 4, 1, 1, identity.formula, "12"},
                   "growth") ==
        "assay explore --formula python:reference:norm --out formula --candidate python:mine:norm");
  identity.formula.clear();
  identity.candidate = "python:model.py:f g";
  CHECK(command_of(identity, "growth") ==
        "assay explore --sweep mine.toml --out mine --candidate 'python:model.py:f g'");
  const auto standard = load_sweep("standard");
  REQUIRE(standard);
  CHECK(command_of({"0.1.0", "standard", standard->question, "", "", 4, 1, 1}, "growth") ==
        "assay explore --sweep growth --out growth");
  // This sweep has the name of a preset but is none.
  CHECK(command_of({"0.1.0", "standard", "?", "", "", 4, 1, 1}, "growth") ==
        "assay explore --sweep standard.toml --out standard");
}

TEST_CASE("explore/findings/what_differs_from_its_law_is_listed", "[unit]") {
  auto cells = growing(1);
  const sweep_identity identity{"0.1.0", "x", "?", "", "", 4, 1, 1};
  CHECK(has(findings(identity, cells), "0 of 4 cells"));
  cells[2].found["law"] *= 3;
  const std::string text = findings(identity, cells);
  CHECK(has(text, "1 of 4 cells"));
  CHECK(has(text, "| `" + text_of(cells[2].what) + "` |"));
}
