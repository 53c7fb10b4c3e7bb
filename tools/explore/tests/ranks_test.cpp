// Ranks that share a sweep, as threads with mailboxes in place of MPI: all of them must end, whatever happens.
// tools/tests/explore_ranks_test.py does the same with mpirun.
#include "tools/explore/ranks.hpp"

#include <catch2/catch.hpp>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "golden/formats/temporary_folder.hpp"
#include "tools/explore/run.hpp"

using namespace assay;
using namespace assay::explore;

namespace {

struct mailboxes {
  std::mutex mutex;
  std::condition_variable arrived;
  std::vector<std::deque<std::pair<int, std::string>>> by_rank;
};

class mail_channel : public rank_channel {
 public:
  mail_channel(mailboxes& boxes, int rank) : boxes_(boxes), rank_(rank) {}
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return static_cast<int>(boxes_.by_rank.size()); }
  [[nodiscard]] int neighbours() const override { return size(); }
  void send(int to, const std::string& message) override {
    const std::lock_guard lock(boxes_.mutex);
    boxes_.by_rank.at(to).emplace_back(rank_, message);
    boxes_.arrived.notify_all();
  }
  std::pair<int, std::string> receive() override {
    std::unique_lock lock(boxes_.mutex);
    auto& own = boxes_.by_rank.at(rank_);
    boxes_.arrived.wait(lock, [&] { return !own.empty(); });
    auto first = std::move(own.front());
    own.pop_front();
    return first;
  }

 private:
  mailboxes& boxes_;
  int rank_;
};

caller no_candidates() {
  return [](const std::string&, const core::request&) -> core::result<core::tensors> { return core::failure("none"); };
}

// Cells whose results hold NaN and infinities, and a cell of a candidate that fails.
std::vector<cell> cells_with_a_failing_one() {
  std::vector<cell> all;
  for (const char* name : {"sequential", "cumsum", "process:not there"})
    for (const std::uint64_t n : {10, 100, 300}) all.push_back({"scan", name, "f16", "f16", "resets", 3, 1, n, 1});
  return all;
}

struct outcome {
  std::vector<measured_cell> cells;
  std::vector<failed_cell> failed;
  std::string broken;
  std::uint64_t elsewhere = 0;
};

// Runs a sweep on `ranks` ranks. The others have two threads each. The first rank measures only if it is alone.
outcome run_on(
    int ranks, const std::function<caller()>& make_caller = no_candidates,
    const std::function<void(const progress_report&)>& report_progress = [](const auto&) {}) {
  const auto cells = cells_with_a_failing_one();
  const auto folder = formats::temporary_folder::make().value();
  auto store =
      sweep_store::create(folder.path() / "sweep", {"0.1.0", "test", "why?", "0123", "", cells.size(), 1, 1}).value();
  outcome y;
  run_settings settings{1, {}, no_candidates};
  settings.report_progress = [&](const progress_report& r) {
    y.elsewhere = r.elsewhere;
    report_progress(r);
  };
  mailboxes boxes;
  boxes.by_rank.resize(static_cast<std::size_t>(ranks));
  std::vector<std::thread> others;
  for (int k = 1; k < ranks; ++k)
    others.emplace_back([&, k] {
      mail_channel channel(boxes, k);
      measure_for_first_rank(channel, "0.1.0", 2, make_caller);
    });
  {
    mail_channel channel(boxes, 0);
    asking_ranks asking(channel, "0.1.0");
    CHECK(asking.difference().empty());
    settings.threads = ranks > 1 ? 0 : 1;
    settings.ranks = ranks > 1 ? &asking : nullptr;
    try {
      y.failed = run_sweep(cells, store, settings);
    } catch (const std::runtime_error& e) {
      y.broken = e.what();
    }
  }
  for (std::thread& t : others) t.join();
  y.cells = store.cells();
  return y;
}

}  // namespace

TEST_CASE("explore/ranks/give_the_cells_of_one_run", "[unit]") {
  const outcome one = run_on(1);
  REQUIRE(one.cells.size() == 6);
  REQUIRE(one.failed.size() == 3);
  for (const int ranks : {2, 4}) {
    const outcome y = run_on(ranks);
    CHECK(y.broken.empty());
    CHECK(y.elsewhere == 9);
    CHECK(y.failed.size() == 3);
    CHECK(y.failed.at(0).why.find("rank ") == 0);
    REQUIRE(y.cells.size() == one.cells.size());
    for (std::size_t k = 0; k < y.cells.size(); ++k) {
      CHECK(y.cells[k].id == one.cells[k].id);
      CHECK(y.cells[k].what == one.cells[k].what);
      REQUIRE(y.cells[k].found.size() == one.cells[k].found.size());
      for (const auto& [name, value] : one.cells[k].found) {
        const double other = y.cells[k].found.at(name);
        CHECK((other == value || (std::isnan(other) && std::isnan(value))));
      }
    }
  }
}

TEST_CASE("explore/ranks/one_that_breaks_ends_the_run", "[unit]") {
  const outcome y = run_on(3, []() -> caller { throw std::runtime_error("no memory"); });
  CHECK(y.broken.find("no memory") != std::string::npos);
  CHECK(y.broken.find("rank ") == 0);
}

// A result arrives and cannot be written. The rank that sent it must not wait for an answer for ever.
TEST_CASE("explore/ranks/a_first_rank_that_breaks_ends_the_others", "[unit]") {
  const outcome y = run_on(3, no_candidates, [](const progress_report& r) {
    if (r.done > 0) throw std::runtime_error("disk full");
  });
  CHECK(y.broken == "disk full");
}

TEST_CASE("explore/ranks/another_version_is_told", "[unit]") {
  mailboxes boxes;
  boxes.by_rank.resize(3);
  std::vector<std::thread> others;
  for (int k = 1; k < 3; ++k)
    others.emplace_back([&, k] {
      mail_channel channel(boxes, k);
      measure_for_first_rank(channel, k == 1 ? "0.1.0" : "0.1.9", 3, no_candidates);
    });
  {
    mail_channel channel(boxes, 0);
    const asking_ranks asking(channel, "0.1.0");
    CHECK(asking.difference() == "rank 2 is Assay 0.1.9, the first is 0.1.0");
    CHECK(asking.threads() == 6);
  }
  for (std::thread& t : others) t.join();
}
