// The algorithms of the recurrence as streams: the next tokens go in, their states come out, in memory that does not
// depend on the length. Every operation is rounded to the working format of the thread
// (reference/readings/rounded.hpp).
//
// | name            | algorithm                                                                        |
// | sequential      | as written, step by step                                                          |
// | balanced_tree   | odd-even recursion: bit for bit reference/algorithms/scans.hpp, balanced_prefixes |
// | chunked_tree    | a balanced tree in every 64 tokens, the state carried on                          |
// | chunked_doubling | Hillis and Steele in every 256 tokens, the state carried on                      |
// | linear          | X = p X + e^h with a running shift                                                |
// | scaled_linear   | X = m 2^k, m in [1/2, 1), s = log m + k ln 2                                       |
// | bare_linear     | X = p X + e^h without a shift: overflows                                          |
// | cumsum          | two prefix sums (Heinsen 2023); A, h - A and the log-sum-exp are stored            |
// | chunked_cumsum  | two prefix sums in every 64 tokens, the state carried on                          |
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "tools/explore/formats.hpp"

namespace assay::explore {

/// The length of every block of inputs except the last one. It is a multiple of the length of every chunk.
inline constexpr std::size_t block_tokens = 4096;

class streaming_scan {
 public:
  virtual ~streaming_scan() = default;
  /// The states of the next tokens, starting from s_0 = 0, in the working format of the thread.
  virtual void run(std::span<const double> a, std::span<const double> h, std::span<double> s) = 0;
};

struct scan_algorithm {
  std::string_view name, summary;
  /// Starts the algorithm; numbers that it writes to memory between its steps are rounded to `stored`.
  std::unique_ptr<streaming_scan> (*start)(const storage_format& stored);
};
const std::vector<scan_algorithm>& scan_algorithms();
/// Returns null if there is no algorithm of that name.
const scan_algorithm* find_scan(std::string_view name);

}  // namespace assay::explore
