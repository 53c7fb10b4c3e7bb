// The file of a sweep: reading gives what was written, and files that are no sweep are refused.
#include <SQLiteCpp/SQLiteCpp.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "golden/formats/temporary_folder.hpp"
#include "tools/explore/run.hpp"

using namespace assay;
using namespace assay::explore;

namespace {

std::filesystem::path file_in(const formats::temporary_folder& folder) { return folder.path() / "sweep.sqlite"; }

const sweep_identity identity{"0.1.0", "test", "why?", "0123", "", 4, 1, 1};

std::vector<cell> some_cells() {
  std::vector<cell> all;
  for (const char* name : {"sequential", "cumsum"})
    for (const std::uint64_t n : {10, 100}) all.push_back({"scan", name, "f32", "f32", "gates", 0, 1, n, 1});
  return all;
}

run_settings quietly() {
  run_settings s;
  s.threads = 2;
  s.make_caller = [] {
    return
        [](const std::string&, const core::request&) -> core::result<core::tensors> { return core::failure("none"); };
  };
  return s;
}

}  // namespace

TEST_CASE("explore/store/keeps_every_number", "[unit]") {
  const auto folder = formats::temporary_folder::make().value();
  const double infinity = std::numeric_limits<double>::infinity();
  const measured_cell m{3,
                        {"scan", "process:a b", "f32", "bf16", "gates", -0.1, 1e-300, 7, 9},
                        {{"x", 0.1}, {"none", std::nan("")}, {"far", infinity}, {"tiny", 5e-324}},
                        0.5};
  {
    auto store = sweep_store::create(file_in(folder), identity).value();
    store.add({m});
  }
  const auto store = sweep_store::open(file_in(folder)).value();
  CHECK(store.identity() == identity);
  CHECK(store.ids() == std::set<std::uint64_t>{3});
  const auto all = store.cells();
  REQUIRE(all.size() == 1);
  CHECK(all[0].what == m.what);
  CHECK(read_cell(text_of(m.what)).value() == m.what);
  CHECK(all[0].found.at("x") == 0.1);
  CHECK(std::isnan(all[0].found.at("none")));
  CHECK(all[0].found.at("far") == infinity);
  CHECK(all[0].found.at("tiny") == 5e-324);
}

TEST_CASE("explore/store/refuses_what_is_no_sweep", "[unit]") {
  const auto folder = formats::temporary_folder::make().value();
  CHECK_FALSE(sweep_store::open(file_in(folder)));
  std::ofstream(file_in(folder)) << "this is no database, and long enough to be looked at as one: "
                                 << std::string(600, 'x');
  CHECK(sweep_store::open(file_in(folder)).error().message.find("not a database") != std::string::npos);
  CHECK_FALSE(sweep_store::create(file_in(folder), identity));
  std::filesystem::remove(file_in(folder));
  SQLite::Database(file_in(folder).string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec("CREATE TABLE t(x)");
  CHECK(sweep_store::open(file_in(folder)).error().message.find("no sweep") != std::string::npos);
  std::filesystem::remove(file_in(folder));
  CHECK(sweep_store::create(file_in(folder), identity));
  SQLite::Database(file_in(folder).string(), SQLite::OPEN_READWRITE).exec("PRAGMA user_version=2");
  CHECK(sweep_store::open(file_in(folder)).error().message.find("format 2") != std::string::npos);
}

// A run that is killed while it creates the file leaves a journal of an unfinished transaction, which must be rolled
// back.
TEST_CASE("explore/store/what_a_killed_run_began_is_blank", "[unit]") {
  const auto folder = formats::temporary_folder::make().value();
  const auto begun = folder.path() / "begun.sqlite", left = file_in(folder);
  {
    SQLite::Database db(begun.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    db.exec("PRAGMA cache_size=1");  // pages go to the file before the transaction ends
    SQLite::Transaction transaction(db);
    db.exec("CREATE TABLE t(x)");
    for (int k = 0; k < 100; ++k) db.exec("INSERT INTO t VALUES(zeroblob(3000))");
    REQUIRE(std::filesystem::file_size(begun) > 0);
    std::filesystem::copy_file(begun, left);
    std::filesystem::copy_file(begun.string() + "-journal", left.string() + "-journal");
  }
  CHECK(sweep_store::is_blank(left));
  CHECK(sweep_store::create(left, identity));
}

TEST_CASE("explore/store/one_process_at_a_time", "[unit]") {
  const auto folder = formats::temporary_folder::make().value();
  const auto first = sweep_store::create(file_in(folder), identity).value();
  const auto second = sweep_store::open(file_in(folder));
  REQUIRE_FALSE(second);
  CHECK(second.error().message.find("another process") != std::string::npos);
}

TEST_CASE("explore/store/what_differs_is_named", "[unit]") {
  const auto with = [](auto change) {
    sweep_identity other = identity;
    change(other);
    return difference(identity, other);
  };
  CHECK(difference(identity, identity).empty());
  CHECK(with([](auto& i) { i.version = "9"; }).find("Assay 9") != std::string::npos);
  CHECK(with([](auto& i) { i.definition = "4"; }).find("cells") != std::string::npos);
  CHECK(with([](auto& i) { i.name = "other"; }).find("other") != std::string::npos);
  CHECK(with([](auto& i) { i.candidate = "c:d"; }).find("c:d") != std::string::npos);
  CHECK(with([](auto& i) { i.shards = 2; }).find("1/2") != std::string::npos);
}

TEST_CASE("explore/run/a_run_that_is_gone_on_with_measures_what_is_left", "[unit]") {
  const auto folder = formats::temporary_folder::make().value(), other = formats::temporary_folder::make().value();
  const auto cells = some_cells();
  sweep_identity i = identity;
  i.definition = definition_of(cells);
  auto whole = sweep_store::create(file_in(folder), i).value();
  CHECK(run_sweep(cells, whole, quietly()).empty());
  REQUIRE(whole.ids().size() == cells.size());

  auto part = sweep_store::create(file_in(other), i).value();
  part.add({whole.cells()[1]});
  run_settings settings = quietly();
  std::uint64_t reported_cells = 0;
  settings.report_progress = [&](const progress_report& r) { reported_cells = r.cells; };
  CHECK(run_sweep(cells, part, settings).empty());
  CHECK(reported_cells == cells.size() - 1);
  const auto x = whole.cells(), y = part.cells();
  REQUIRE(x.size() == y.size());
  for (std::size_t k = 0; k < x.size(); ++k) {
    CHECK(x[k].what == y[k].what);
    CHECK(x[k].found.at("rms") == y[k].found.at("rms"));
  }
}

TEST_CASE("explore/run/a_candidate_that_fails_is_told_and_left_out", "[unit]") {
  const auto folder = formats::temporary_folder::make().value();
  std::vector<cell> cells = some_cells();
  cells[0].implementation = "process:nothing";
  auto store = sweep_store::create(file_in(folder), identity).value();
  const auto failed = run_sweep(cells, store, quietly());
  REQUIRE(failed.size() == 1);
  CHECK(failed[0].what == cells[0]);
  CHECK(store.ids() == std::set<std::uint64_t>{1, 2, 3});
}
