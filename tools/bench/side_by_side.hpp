// Members of a comparison, timed in turns under Google Benchmark.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/bench/measure.hpp"

namespace assay::bench {

struct member {
  std::string name;
  double elements;              ///< the number of elements that a run computes
  std::function<double()> run;  ///< returns the seconds of a run
  std::vector<double> ns = {};  ///< per element, in each round
};

/// Runs f and returns its seconds: processor time on one thread, else clock time.
std::function<double()> timed(int threads, std::function<void()> f);

/// From this call on, repetitions of different members follow one another in random order.
void take_turns();

/// Runs all repetitions of all members.
void run_side_by_side(int rounds, std::vector<member>& members);

/// Compares the third member, Assay's code, with the faster of two floors in each round. Precondition: the first two
/// members are the floors, one that writes through the caches and one that writes past them.
measurement beside_best_floor(const char* operation, std::vector<std::size_t> shape,
                              const std::vector<member>& members);

spread spread_of(std::vector<double> x);
std::vector<double> ratios(const std::vector<double>& x, const std::vector<double>& y);

}  // namespace assay::bench
