#include "tools/bench/side_by_side.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <utility>

namespace assay::bench {
namespace {

double now(int threads) {
  if (threads > 1) return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Passes each repetition to the member that it belongs to.
class collector : public benchmark::BenchmarkReporter {
 public:
  explicit collector(std::vector<member>& members) : members_(members) {}
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs)
      if (run.run_type == Run::RT_Iteration)
        for (member& m : members_)
          if (run.run_name.function_name == m.name)
            m.ns.push_back(1e9 * run.real_accumulated_time / static_cast<double>(run.iterations) / m.elements);
  }

 private:
  std::vector<member>& members_;
};

}  // namespace

std::function<double()> timed(int threads, std::function<void()> f) {
  return [threads, f = std::move(f)] {
    const double start = now(threads);
    f();
    return now(threads) - start;
  };
}

void take_turns() {
  std::string name = "assay bench", interleaving = "--benchmark_enable_random_interleaving=true";
  char* words[] = {name.data(), interleaving.data(), nullptr};
  int count = 2;
  benchmark::Initialize(&count, words);
}

void run_side_by_side(int rounds, std::vector<member>& members) {
  for (member& m : members) {
    m.run();  // brings pages and caches into the state of later runs
    benchmark::RegisterBenchmark(m.name.c_str(),
                                 [&m](benchmark::State& state) {
                                   for ([[maybe_unused]] auto _ : state) state.SetIterationTime(m.run());
                                 })
        ->UseManualTime()
        ->MinTime(0.002)
        ->Repetitions(rounds);
  }
  collector results(members);
  benchmark::RunSpecifiedBenchmarks(&results);
  benchmark::ClearRegisteredBenchmarks();
}

spread spread_of(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  return {x[x.size() / 2], x.front(), x.back()};
}
std::vector<double> ratios(const std::vector<double>& x, const std::vector<double>& y) {
  std::vector<double> r(x.size());
  for (std::size_t k = 0; k < r.size(); ++k) r[k] = x[k] / y[k];
  return r;
}

measurement beside_best_floor(const char* operation, std::vector<std::size_t> shape,
                              const std::vector<member>& members) {
  std::vector<double> best(members[0].ns.size());
  std::transform(members[0].ns.begin(), members[0].ns.end(), members[1].ns.begin(), best.begin(),
                 [](double x, double y) { return std::min(x, y); });
  const std::vector<double>& own = members[2].ns;
  measurement m{operation, std::move(shape)};
  m.ns = spread_of(own).median, m.floor_ns = spread_of(best).median, m.share = spread_of(ratios(best, own));
  return m;
}

}  // namespace assay::bench
