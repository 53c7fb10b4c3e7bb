// Tests of the recurrence's measures: the streams compute what they claim, lengths and algorithms do not disturb one
// another, and the published laws hold.
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <utility>

#include "golden/formats/safetensors.hpp"
#include "reference/algorithms/scans.hpp"
#include "reference/readings/rounded.hpp"
#include "tools/explore/heinsen/scans.hpp"
#include "tools/explore/heinsen/streams.hpp"
#include "tools/explore/measure.hpp"
#include "tools/explore/sweep.hpp"
#include "tools/explore/tests/callers.hpp"

using namespace assay;
using namespace assay::explore;
using reference::rounded;

namespace {

cell scan_cell(const char* implementation, std::uint64_t n, const char* arithmetic = "f32", double decay = 0) {
  return {"scan", implementation, arithmetic, arithmetic, "gates", decay, 1, n, 1};
}

double measured(const cell& c, const char* what) { return measure_cell(c, nobody).value().at(what); }

}  // namespace

TEST_CASE("explore/scan/balanced_tree_is_that_of_the_reference", "[unit]") {
  constexpr std::size_t n = 1000;
  std::vector<double> a(n), h(n), s(n);
  token_stream(scan_cell("balanced_tree", n), 0).next(a, h);
  for (const core::dtype type : {core::dtype::f64, core::dtype::f32, core::dtype::bf16}) {
    const reference::computing_in format(type);
    find_scan("balanced_tree")->start(*find_format("f32"))->run(a, h, s);
    std::vector<rounded> ra, rh, rs(n);
    for (std::size_t i = 0; i < n; ++i) ra.emplace_back(a[i]), rh.emplace_back(h[i]);
    reference::balanced_tree_scan<rounded>({ra.data(), 1, n}, {rh.data(), 1, n}, rounded(0.0), {rs.data(), 1, n});
    for (std::size_t i = 0; i < n; ++i) REQUIRE(s[i] == rs[i].number);
  }
}

TEST_CASE("explore/scan/all_right_algorithms_agree_in_f64", "[unit]") {
  for (const scan_algorithm& algorithm : scan_algorithms()) {
    cell c = scan_cell("", 700, "f64");
    c.implementation = algorithm.name;
    INFO(algorithm.name);
    const double worst = measured(c, "worst");
    CHECK(worst < 1e-12);
    CHECK(worst > 0.0);
  }
}

TEST_CASE("explore/scan/a_cell_alone_gives_what_it_gives_among_others", "[unit]") {
  std::vector<cell> batch;
  for (const char* name : {"sequential", "cumsum", "chunked_tree"})
    for (const char* arithmetic : {"f32", "f64"})
      for (const std::uint64_t n : {1, 7, 300, 5000, 70000}) {
        batch.push_back(scan_cell(name, n, arithmetic));
        batch.back().storage = "f32";
      }
  const measure& m = *find_measure("scan");
  for (const cell& c : batch) REQUIRE(m.batch(c) == m.batch(batch.front()));
  const auto together = m.run(batch, nobody).value();
  for (std::size_t k = 0; k < batch.size(); ++k) {
    INFO(text_of(batch[k]));
    const results alone = measure_cell(batch[k], nobody).value();
    REQUIRE(alone.size() == together[k].size());
    for (const auto& [name, value] : alone) {
      INFO(name);
      const double other = together[k].at(name);
      CHECK((value == other || (std::isnan(value) && std::isnan(other))));
    }
  }
}

TEST_CASE("explore/scan/prefix_sums_lose_digits_in_proportion_to_n", "[property]") {
  for (const char* arithmetic : {"f32", "f16", "bf16"})
    for (const std::uint64_t n : {64, 256}) {
      INFO(arithmetic << ", n = " << n);
      const double constant = measured(scan_cell("cumsum", n, arithmetic), "constant");
      CHECK(constant > 0.3);
      CHECK(constant < 0.9);
    }
  const double growth =
      std::log(measured(scan_cell("cumsum", 16384), "rms") / measured(scan_cell("cumsum", 64), "rms")) /
      std::log(16384.0 / 64.0);
  CHECK(growth > 0.85);
  CHECK(growth < 1.15);
}

TEST_CASE("explore/scan/a_step_loop_forgets_its_errors", "[property]") {
  const double rms = measured(scan_cell("sequential", 16384), "rms_u");
  CHECK(rms > 0.9 / 2);
  CHECK(rms < 0.9 * 2);
  // For constant p near 1, however, errors add up with one sign: 68 u at p = 0.99.
  cell constant = scan_cell("sequential", 16384, "f32", 0.99);
  constant.family = "constant";
  const double coherent = measured(constant, "rms_u");
  CHECK(coherent > 34);
  CHECK(coherent < 136);
}

TEST_CASE("explore/scan/narrow_sums_overflow_and_lose_all", "[property]") {
  // u |A_n| = 1 at n = 1 / (u E|log p|) = 320 in bf16.
  const double lost = measured(scan_cell("cumsum", 4096, "bf16"), "lost_at");
  CHECK(lost > 320 / 4);
  CHECK(lost < 320 * 4);
  CHECK(std::isnan(measured(scan_cell("sequential", 4096, "bf16"), "lost_at")));
  // Without a shift X = e^s overflows in f16 when s > 11.09.
  cell large = scan_cell("bare_linear", 256, "f16");
  large.scale = 8;
  CHECK(measured(large, "nonfinite_at") > 0);
  large.implementation = "linear";
  CHECK(std::isnan(measured(large, "nonfinite_at")));
}

TEST_CASE("explore/scan/the_truth_is_far_closer_than_the_errors", "[property]") {
  for (const char* family : {"gates", "constant", "resets", "silence", "spikes", "drift"}) {
    cell c = scan_cell("sequential", 20000, "f32", 0.9);
    c.family = family;
    const results found = measure_cell(c, nobody).value();
    INFO(family);
    CHECK(found.at("truth_radius") < 1e-3 * found.at("rms"));
    CHECK(found.at("worst") > 0);
  }
}

// The sweep finds every mutant in it: in some cell of its grid the mutant keeps at least one digit less than the step
// loop, which is right everywhere.
TEST_CASE("explore/scan/the_preset_scales_finds_every_mutant", "[property]") {
  const std::vector<cell> cells = cells_of(load_sweep("scales").value()).value();
  std::map<std::string, std::vector<cell>> batches;
  for (const cell& c : cells)
    if (c.size == 64) batches[find_measure("scan")->batch(c)].push_back(c);
  std::map<std::string, double> digits;  // by the text of the cell
  for (const auto& [text, batch] : batches) {
    const auto found = find_measure("scan")->run(batch, mutants).value();
    for (std::size_t k = 0; k < batch.size(); ++k)
      digits[text_of(batch[k])] = std::isnan(found[k].at("nonfinite_at")) ? found[k].at("digits") : 0.0;
  }
  std::map<std::string, double> lost;  // by implementation: the most digits by which it is worse than the step loop
  for (const auto& [text, kept] : digits) {
    cell step_loop = read_cell(text).value();
    double& most = lost[std::exchange(step_loop.implementation, "sequential")];
    most = std::max(most, digits.at(text_of(step_loop)) - kept);
  }
  std::size_t wrong = 0;
  for (const auto& [name, fewer] : lost) {
    if (!is_candidate(name)) continue;
    ++wrong;
    INFO(name);
    CHECK(fewer > 1.0);
  }
  CHECK(wrong == 7);
  CHECK(lost.at("balanced_tree") < 0.7);
}

TEST_CASE("explore/scan/recorded_inputs_are_a_family", "[unit]") {
  std::string folder = (std::filesystem::temp_directory_path() / "assay-recorded-XXXXXX").string();
  REQUIRE(mkdtemp(folder.data()) != nullptr);
  const std::string file = folder + "/gates.safetensors";
  // Two rows of three features: the inputs of token_stream, lane by lane.
  constexpr std::size_t n = 40;
  core::tensors tensors{{"log_p", core::make_tensor(core::dtype::f32, {2, n, 3}, std::vector<double>(6 * n))},
                        {"h", core::make_tensor(core::dtype::f32, {2, n, 3}, std::vector<double>(6 * n))}};
  for (std::size_t lane = 0; lane < 6; ++lane) {
    std::vector<double> a(n), h(n);
    token_stream(scan_cell("cumsum", n), lane).next(a, h);
    for (std::size_t i = 0; i < n; ++i) {
      tensors.at("log_p").values(lane / 3, i, lane % 3) = a[i];
      tensors.at("h").values(lane / 3, i, lane % 3) = h[i];
    }
  }
  REQUIRE(formats::write_safetensors(file, tensors));
  cell c = scan_cell("cumsum", n);
  c.family = "file:" + file;
  std::vector<double> a(n), h(n), other_a(n), other_h(n);
  for (const std::size_t lane : {0, 4}) {
    token_stream(c, lane).next(a, h);
    token_stream(scan_cell("cumsum", n), lane).next(other_a, other_h);
    CHECK(a == other_a);
    CHECK(h == other_h);
  }
  CHECK(measured(c, "rms") > 0);
  c.size = n + 1;
  CHECK(check_cell(c).error().message.find("holds 40 tokens") != std::string::npos);
  c.family = "file:" + folder + "/none";
  CHECK_FALSE(check_cell(c));
  tensors.at("log_p").values(0, 0, 0) = 1;
  REQUIRE(formats::write_safetensors(folder + "/above.safetensors", tensors));
  c.family = "file:" + folder + "/above.safetensors";
  CHECK(check_cell(c).error().message.find("at most 0") != std::string::npos);
  std::filesystem::remove_all(folder);
}
