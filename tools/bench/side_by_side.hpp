// Members of a comparison, timed in turns under Google Benchmark.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/bench/measure.hpp"

namespace assay::bench {

struct member {
  std::string name;
  double elements;              ///< that a run computes
  std::function<double()> run;  ///< gives its seconds
  std::vector<double> ns = {};  ///< of an element, in each round
};

/// f with its seconds: of the processor on one thread, else of the clock.
std::function<double()> timed(int threads, std::function<void()> f);

/// Repetitions of different members follow each other in random order from now on.
void take_turns();

/// All repetitions of all members.
void run_side_by_side(int rounds, std::vector<member>& members);

/// Of members of which the first two are floors, in and past the caches, and the third is ours.
measurement beside_best_floor(const char* operation, std::vector<std::size_t> shape,
                              const std::vector<member>& members);

spread spread_of(std::vector<double> x);
std::vector<double> ratios(const std::vector<double>& x, const std::vector<double>& y);

}  // namespace assay::bench
