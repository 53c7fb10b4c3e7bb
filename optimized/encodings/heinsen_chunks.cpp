// A scan by chunks of time. A block of chunks, as many as lie in lanes, is summarized: what its tokens make of the
// state -inf, and by how much they decay any other. From the state before the block and the summaries follows, chunk by
// chunk, the state that each begins with. Then all chunks are scanned side by side.
//
// Most states forget. So first only the last tokens of each chunk are summarized, log p summing to A there, the state
// becoming H. Every state before them is at most B = max(state before the chunk, largest h before them) + log(tokens +
// 1), if no log p is positive. Where e^(A + B - H) is negligible, the state after the chunk is H; this is certain
// before anything is handed on. Else the chunk is summarized whole. Which of the two a chunk takes depends on its own
// feature and on earlier tokens alone, so neither threads nor other features change a bit.
//
// Bound: the state that a chunk begins with is a sum of two numbers as any other state is. It carries the error of the
// state before the chunk, times the weight of the past, that of H, times the rest, and that of the sum in Carry, which
// enters once a chunk: 2^-53 |s| of double for f32, 2^-64 |s| for f64, where long double has so many digits.
#include "optimized/encodings/heinsen_chunks.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "optimized/dispatch.hpp"
#include "optimized/encodings/heinsen_carry.hpp"
#include "optimized/turns.hpp"
#include "optimized/workspace.hpp"

namespace assay::optimized::heinsen {
namespace {

// Tokens of a chunk of a long sequence. Not a power of two, or the chunks would compete for the same sets of the first
// cache.
constexpr std::size_t long_chunk = 272;
// Tokens of a chunk that are summarized first.
constexpr std::size_t last_tokens = 64;
// Rows of registers that are walked together at least, where the sequence is long enough.
constexpr std::size_t registers_of_row = 8;
// Rough times in cycles (Intel Xeon, AVX-512): from a state to the next, of a register of states, of joining two
// chunks.
constexpr std::size_t latency = 110, time_of_register = 25, time_of_join = 170;

struct plan {
  std::size_t groups, length;  ///< groups of lanes chunks, of length tokens
};

std::size_t rounded_up(std::size_t x, std::size_t multiple) { return (x + multiple - 1) / multiple * multiple; }

std::size_t cost(const plan& p, std::size_t features, std::size_t lanes) {
  return 2 * p.length * std::max(latency, p.groups * features * time_of_register) +
         p.groups * lanes * features * time_of_join;
}

// How the next block of a sequence is cut that has `tokens` left.
plan plan_of(std::size_t tokens, std::size_t features, std::size_t lanes) {
  const std::size_t most = (registers_of_row + features - 1) / features;
  if (tokens >= most * lanes * long_chunk) return {most, long_chunk};
  plan best{};
  for (std::size_t groups = 1; groups <= most; ++groups) {
    const plan p{groups, rounded_up((tokens + groups * lanes - 1) / (groups * lanes), lanes)};
    if (p.length <= long_chunk && (best.groups == 0 || cost(p, features, lanes) < cost(best, features, lanes)))
      best = p;
  }
  return best;
}

template <class Real>
class block_of_chunks {
 public:
  using carry = carry_of<Real>;

  block_of_chunks(const chunk_kernels<Real>& kernels, const plan& p, std::size_t features)
      : kernels_(kernels),
        plan_(p),
        features_(features),
        states_(p.groups * kernels.lanes * features),
        memory_({}, 16 * states_ + 3 * kernels.lanes * states_),
        growth_(std::log(static_cast<carry>(p.length + 1))) {
    Real* place = memory_.data();
    const auto next = [&] { return std::exchange(place, place + states_); };
    for (chunk_summary<Real>* y : {&tail_, &whole_}) *y = {0, next(), next(), next(), next(), next(), next(), next()};
    high_ = next(), low_ = next();
    scratch_ = place;
  }

  // `next`: the first token of the block that the caller takes after this one, or 0.
  void begin(const row_block<Real>& b, std::size_t first, std::size_t count, std::size_t next) {
    const std::size_t offset = first * features_;
    block_ = {features_,
              plan_.groups,
              plan_.length,
              count * features_,
              b.decay + offset,
              b.h + offset,
              b.s + offset,
              high_,
              low_,
              scratch_,
              b.past_caches && aligned(b.s + offset),
              next == 0 ? 0 : (next - first) * features_};
    count_ = count;
    has_whole_ = false;
    tail_.first = plan_.length > 2 * last_tokens ? plan_.length - last_tokens : 0;
    summarize(tail_);
    if (tail_.first == 0) return;
    for (std::size_t k = 0; k < states_ && !has_whole_; ++k)
      if (holds_tokens(k % chunks()) && !forgets(k, -std::numeric_limits<carry>::infinity())) summarize_whole();
  }

  // The states that the chunks begin with, from that before the block; `before` becomes that after it.
  void join(carry* before) {
    for (std::size_t f = 0; f < features_; ++f)
      for (std::size_t chunk = 0; chunk < chunks(); ++chunk) {
        const std::size_t k = f * chunks() + chunk;
        split_words(before[f], high_[k], low_[k]);
        if (!holds_tokens(chunk)) continue;
        if (tail_.first == 0 || !forgets(k, before[f])) {
          if (tail_.first != 0 && !has_whole_) summarize_whole();
          const chunk_summary<Real>& y = tail_.first == 0 ? tail_ : whole_;
          before[f] = joined(decay(y, k) + before[f], after(y, k));
        } else
          before[f] = after(tail_, k);
      }
  }

  void scan() { kernels_.scan(block_); }

  // The state after the last token. Its high word is the last output; tokens that do not exist may have moved what
  // rounds to it from one word to the other.
  void last(Real* high, Real* low) const {
    const std::size_t chunk = (count_ - 1) / plan_.length;
    for (std::size_t f = 0; f < features_; ++f) {
      const std::size_t k = f * chunks() + chunk;
      high[f] = block_.s[(count_ - 1) * features_ + f];
      low[f] = (high_[k] - high[f]) + low_[k];
    }
  }

 private:
  // Chunks then begin at multiples of a register, since their lengths are.
  static bool aligned(const Real* s) { return reinterpret_cast<std::uintptr_t>(s) % 64 == 0; }
  [[nodiscard]] std::size_t chunks() const { return plan_.groups * kernels_.lanes; }
  [[nodiscard]] bool holds_tokens(std::size_t chunk) const { return chunk * plan_.length < count_; }

  // A state below 2^-8 units in the last place of 1 of what it is added to.
  static constexpr int negligible_bits = std::numeric_limits<Real>::digits + 8;

  static carry after(const chunk_summary<Real>& y, std::size_t k) { return joined_words(y.high[k], y.low[k]); }
  static carry decay(const chunk_summary<Real>& y, std::size_t k) { return joined_words(y.sum[k], y.sum_low[k]); }

  // Whether the state after chunk k is that of its last tokens alone, if `before` stands before the chunk. False where
  // anything is NaN.
  [[nodiscard]] bool forgets(std::size_t k, carry before) const {
    if (std::isnan(before) || !(tail_.not_finite[k] == 0) || !(kernels_.bounded || tail_.largest_log_p[k] <= 0))
      return false;
    const carry bound = std::max<carry>(before, tail_.largest_h[k]) + growth_;
    return decay(tail_, k) + bound <= after(tail_, k) - negligible_bits * carry(0.6931471805599453);
  }

  void summarize(const chunk_summary<Real>& y) { kernels_.summarize(block_, y); }
  void summarize_whole() {
    summarize(whole_);
    has_whole_ = true;
  }

  chunk_kernels<Real> kernels_;
  plan plan_;
  std::size_t features_, states_, count_ = 0;
  scoped_array<Real> memory_;  // where registers begin: no row of states lies across two lines of the cache
  chunk_summary<Real> tail_{}, whole_{};
  Real *high_ = nullptr, *low_ = nullptr, *scratch_ = nullptr;
  chunk_block<Real> block_{};
  bool has_whole_ = false;
  carry growth_;  ///< log of one more than the tokens of a chunk
};

}  // namespace

bool prefers_chunks(std::size_t tokens, std::size_t features, std::size_t lanes) {
  if (features == 0 || features > 2 * lanes || tokens < 8 * lanes) return false;
  const plan p = plan_of(tokens, features, lanes);
  return cost(p, features, lanes) < std::min(tokens, p.groups * lanes * p.length) * latency;
}

template <class Real>
void scan_in_chunks(const chunk_kernels<Real>& kernels, int threads, const row_block<Real>& b) {
  using carry = carry_of<Real>;
  const plan first_plan = plan_of(b.tokens, b.features, kernels.lanes);
  const std::size_t block_tokens = first_plan.groups * kernels.lanes * first_plan.length;
  const std::size_t blocks = (b.tokens + block_tokens - 1) / block_tokens;
  const std::size_t workers = std::min(static_cast<std::size_t>(threads), blocks);
  std::vector<carry> state(b.features);
  for (std::size_t f = 0; f < b.features; ++f) state[f] = joined_words(b.high[f], b.low[f]);
  std::atomic<std::size_t> next = 0;
  turns order;
  // Blocks are taken in order, and who has taken one is running: so the one whose turn it is never waits.
  const auto work = [&](std::size_t) {
    block_of_chunks<Real> chunks(kernels, first_plan, b.features);
    for (std::size_t block = next++; block < blocks; block = next++) {
      const std::size_t first = block * block_tokens, count = std::min(block_tokens, b.tokens - first);
      if (count < block_tokens)
        chunks = block_of_chunks<Real>(kernels, plan_of(count, b.features, kernels.lanes), b.features);
      const std::size_t later = first + workers * block_tokens;
      chunks.begin(b, first, count, later + block_tokens <= b.tokens ? later : 0);
      order.take(block, [&] { chunks.join(state.data()); });
      chunks.scan();
      if (block + 1 == blocks) chunks.last(b.high, b.low);
    }
  };
  if (workers == 1)
    work(0);
  else
    for_each_task(threads, workers, work);
}

template void scan_in_chunks(const chunk_kernels<float>&, int, const row_block<float>&);
template void scan_in_chunks(const chunk_kernels<double>&, int, const row_block<double>&);

}  // namespace assay::optimized::heinsen
