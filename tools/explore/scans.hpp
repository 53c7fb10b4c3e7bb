// The algorithms of the recurrence as a stream: the next tokens in, their states out, in memory that does not depend on
// the length. Every operation is rounded to the working format of the thread (reference/readings/rounded.hpp).
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
//
// Wrong ones, each after a fault that is met in practice:
//
// | naive_exp       | log(exp(a + s) + exp(h)): overflows and underflows                              |
// | block_maximum   | exponentials of 64 tokens relative to their largest: what lies far below is lost |
// | plain_log       | log(1 + e) in place of log1p(e)                                                  |
// | threshold       | no log1p where the terms are more than 4 apart                                  |
// | floored_log     | log(X + 1e-6)                                                                    |
// | one_sided       | t + log1p(exp(h - t)), t = a + s, whichever is larger: overflows where h is       |
// | stale_shift     | X = p X + e^h with a shift that follows every 64 tokens: overflows in between     |
// | narrow_state    | step by step, with the state stored in bf16                                       |
// | clamped_decay   | step by step, with log p no smaller than -4                                       |
// | early_cut_off   | Hillis and Steele with too few strides: inputs 32 tokens back are forgotten      |
// | narrow_sum      | two prefix sums, with that of log p stored in f16: its error is u |A_n| of f16    |
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "tools/explore/formats.hpp"

namespace assay::explore {

/// Blocks of inputs have this length, the last one excepted: a multiple of every chunk.
inline constexpr std::size_t block_tokens = 4096;

class streaming_scan {
 public:
  virtual ~streaming_scan() = default;
  /// The states of the next tokens, from s_0 = 0, in the working format of the thread.
  virtual void run(std::span<const double> a, std::span<const double> h, std::span<double> s) = 0;
};

struct scan_algorithm {
  std::string_view name, summary;
  /// What it writes to memory between its steps is rounded to `stored`.
  std::unique_ptr<streaming_scan> (*start)(const storage_format& stored);
  bool is_wrong = false;
};
const std::vector<scan_algorithm>& scan_algorithms();
/// Null where there is none of that name.
const scan_algorithm* find_scan(std::string_view name);

}  // namespace assay::explore
