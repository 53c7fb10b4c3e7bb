// A scan by chunks of time. A block has as many chunks as fit in the lanes. A summary of each chunk holds the state
// that its tokens make of the state -inf, and the amount by which they decay any other state. The state before the
// block and the summaries give, chunk after chunk, the state at the start of each chunk. Then all chunks are scanned
// side by side.
//
// Most states are forgotten. Therefore only the last tokens of each chunk are summarized first. There, log p sums to A
// and the state becomes H. Suppose that the state before the chunk is at most C and that no log p is positive. Then
// every state before the last tokens is at most B = max(C, largest h before them) + log(tokens + 1). If e^(A + B - H)
// is negligible, the state after the chunk is H. Otherwise it is at most max(A + B, H) + log 2, which is the C of the
// next chunk, and the chunk's other tokens are summarized, too. The choice depends only on the chunk's own feature and
// on earlier tokens, so neither threads nor other features change a bit.
//
// Bound: the state at the start of a chunk is a sum of two numbers, as any other state is. It carries three errors: the
// error of the state before the chunk, times the weight of the past; the error of H, times the rest; and the errors of
// joining maps. The last ones enter about log2(chunks) times in a block, with 2^-53 |s| of double, for f32. For f64
// they enter once for each chunk, with 2^-64 |s|, where long double has so many digits.
#include "optimized/encodings/heinsen/chunks.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "optimized/encodings/heinsen/carry.hpp"
#include "optimized/encodings/heinsen/maps.hpp"
#include "optimized/turns.hpp"
#include "optimized/workspace.hpp"

namespace assay::optimized::heinsen {
namespace {

// The number of tokens in a chunk of a long sequence. It is not a power of two, because the chunks would then compete
// for the same sets of the first cache.
constexpr std::size_t long_chunk = 400;
// The number of last tokens of a chunk that are summarized first.
constexpr std::size_t last_tokens = 64;
// The least number of registers that are walked together, if the sequence is long enough.
constexpr std::size_t registers_of_row = 8;
// Rough times in cycles (Intel Xeon, AVX-512). `latency` is the time from a state to the next, and `time_of_register`
// the time of a register of states. `latency_of_join` is the time from a map to the next, `time_of_maps` the time of a
// register of maps, and `time_of_map` the time of a map if maps are joined one by one.
constexpr std::size_t latency = 110, time_of_register = 25;
constexpr std::size_t latency_of_join = 220, time_of_maps = 35, time_of_map = 170;

struct plan {
  std::size_t groups, length;  ///< number of groups of chunks that share registers; number of tokens of a chunk
};

// The number of chunks that share a register. A tile has the same number of tokens.
std::size_t side_of(std::size_t features, std::size_t lanes) { return lanes / std::gcd(features, lanes); }

// The cost of a block whose groups have `side` chunks each and need `registers` registers.
template <class Real>
std::size_t cost(const plan& p, std::size_t side, std::size_t registers, std::size_t lanes) {
  const std::size_t time_of_all_maps = std::is_same_v<Real, float>
                                           ? static_cast<std::size_t>(std::bit_width(p.groups * side)) *
                                                 std::max(latency_of_join, 2 * p.groups * registers * time_of_maps)
                                           : p.groups * registers * lanes * time_of_map;
  return 2 * p.length * std::max(latency, p.groups * registers * time_of_register) + time_of_all_maps;
}

// How the next block is cut from a sequence that has `tokens` tokens left.
template <class Real>
plan plan_of(std::size_t tokens, std::size_t features, std::size_t lanes) {
  const std::size_t side = side_of(features, lanes), registers = features * side / lanes;
  const std::size_t most = (registers_of_row + registers - 1) / registers;
  if (tokens >= most * side * long_chunk) return {most, long_chunk};
  plan best{};
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (std::size_t groups = 1; groups <= most; ++groups) {
    const std::size_t tiles = (tokens + groups * side * side - 1) / (groups * side * side);
    const plan p{groups, tiles * side};
    const std::size_t c = cost<Real>(p, side, registers, lanes);
    if (p.length <= long_chunk && c < least) best = p, least = c;
  }
  return best;
}

// A row has one number for each feature of each chunk.
template <class Real>
class block_of_chunks {
 public:
  using carry = carry_of<Real>;

  block_of_chunks(const chunk_kernels<Real>& kernels, const plan& p, std::size_t features)
      : kernels_(kernels),
        plan_(p),
        features_(features),
        chunks_(p.groups * side_of(features, kernels.lanes)),
        row_(chunks_ * features),
        memory_({}, (15 + 3 * side_of(features, kernels.lanes)) * row_),
        carries_({}, 4 * row_ + 2 * features),
        growth_(std::log(static_cast<carry>(p.length + 1))) {
    // The rows that kernels walk in registers come first.
    scratch_ = memory_.data();
    Real* place = scratch_ + (4 + 3 * side_of(features, kernels.lanes)) * row_;
    const auto next = [&] { return std::exchange(place, place + row_); };
    const std::size_t first = p.length > 2 * last_tokens ? p.length - last_tokens : 0;
    tail_ = {first, p.length, next(), next(), next(), next(), first == 0 ? nullptr : next()};
    if (first != 0) rest_ = {0, first, next(), next(), next(), next(), nullptr};
    high_ = next(), low_ = next();
    maps_ = {carries_.data(), carries_.data() + features_ + row_};
    maps_of_rest_ = {maps_.state + features_ + row_, maps_.state + features_ + 2 * row_};
  }

  // `next` is the first token of the block that the caller takes after this one, or 0.
  void begin(const row_block<Real>& b, std::size_t first, std::size_t count, std::size_t next) {
    const std::size_t offset = first * features_;
    block_ = {features_,
              plan_.groups,
              plan_.length,
              count * features_,
              count == chunks_ * plan_.length,
              b.decay.first + offset,
              b.h.first + offset,
              b.s.first + offset,
              high_,
              low_,
              scratch_,
              b.past_caches && aligned(b.s.first + offset),
              next == 0 ? 0 : (next - first) * features_};
    count_ = count;
    has_rest_ = false;
    kernels_.summarize(block_, tail_);
    if (tail_.first == 0) return;
    const std::vector<carry> none(features_, -std::numeric_limits<carry>::infinity());
    if (!forgets_all(none.data())) summarize_rest();
  }

  // Finds the state at the start of each chunk from the state before the block. `before` becomes the state after the
  // block.
  void join(carry* before) {
    set_maps(before);
    // The first map sends any state to the state before the block.
    std::fill_n(maps_.sum, features_, -std::numeric_limits<carry>::infinity());
    std::copy_n(before, features_, maps_.state);
    if (!all_forget_) join_all<Real>(kernels_.join_maps, chunks_with_tokens() + 1, features_, maps_);
    for (std::size_t k = 0; k < row_; ++k) split_words(maps_.state[k], high_[k], low_[k]);
    std::copy_n(maps_.state + chunks_with_tokens() * features_, features_, before);
  }

  void scan() { kernels_.scan(block_); }

  // The state after the last token. Its high word is the last output. Tokens behind the end of the sequence may have
  // moved a part of the state from one word to the other, so the words are split again.
  void last(Real* high, Real* low) const {
    const std::size_t chunk = (count_ - 1) / plan_.length;
    for (std::size_t f = 0; f < features_; ++f) {
      const std::size_t k = chunk * features_ + f;
      high[f] = block_.s[(count_ - 1) * features_ + f];
      low[f] = (high_[k] - high[f]) + low_[k];
    }
  }

 private:
  // Chunks then begin at multiples of a register, because their lengths are such multiples.
  static bool aligned(const Real* s) { return reinterpret_cast<std::uintptr_t>(s) % 64 == 0; }
  [[nodiscard]] std::size_t chunks_with_tokens() const { return (count_ + plan_.length - 1) / plan_.length; }

  // A state is negligible if it is below 2^-8 units in the last place of 1 of the state to which it is added.
  static constexpr int negligible_bits = std::numeric_limits<Real>::digits + 8;
  static constexpr auto log_2 = carry(0.6931471805599453);

  static carry after(const chunk_summary<Real>& y, std::size_t k) { return joined_words(y.high[k], y.low[k]); }
  static carry decay(const chunk_summary<Real>& y, std::size_t k) { return joined_words(y.sum[k], y.sum_low[k]); }

  // Whether state number k of a row depends only on its last tokens, if the state before its chunk is at most `bound`.
  // `bound` becomes a bound of the state after the chunk. The result is false if any number is NaN.
  bool forgets(std::size_t k, carry& bound) const {
    constexpr carry infinity = std::numeric_limits<carry>::infinity();
    const carry h = after(tail_, k);
    if (!(tail_.largest_h[k] < infinity) || !(bound < infinity)) {
      bound = infinity;
      return false;
    }
    const carry past = decay(tail_, k) + std::max<carry>(bound, tail_.largest_h[k]) + growth_;
    const bool negligible = past <= h - negligible_bits * log_2;
    bound = negligible ? h : std::max(past, h) + log_2;
    return negligible;
  }

  // Calls f(k, forgets) for each number of a row whose chunk has tokens, until f returns false.
  template <class Function>
  bool for_each_tail(const carry* before, Function f) const {
    for (std::size_t j = 0; j < features_; ++j) {
      carry bound = before[j];
      for (std::size_t chunk = 0; chunk < chunks_with_tokens(); ++chunk) {
        const std::size_t k = chunk * features_ + j;
        if (!f(k, forgets(k, bound))) return false;
      }
    }
    return true;
  }
  [[nodiscard]] bool forgets_all(const carry* before) const {
    return for_each_tail(before, [](std::size_t, bool forgets) { return forgets; });
  }

  static void set(const chunk_summary<Real>& y, std::size_t row, const state_maps<Real>& maps) {
    for (std::size_t k = 0; k < row; ++k) maps.sum[k] = decay(y, k), maps.state[k] = after(y, k);
  }

  // Sets the maps of the chunks. The map of the state before the block comes first.
  void set_maps(const carry* before) {
    const state_maps<Real> maps = maps_.from(features_);
    set(tail_, row_, maps);
    all_forget_ = tail_.first != 0 && forgets_all(before);
    if (tail_.first == 0 || all_forget_) return;
    if (!has_rest_) summarize_rest();
    set(rest_, row_, maps_of_rest_);
    heinsen::join<Real>(kernels_.join_maps, row_, maps_of_rest_, maps);
    for_each_tail(before, [&](std::size_t k, bool forgets) {
      if (forgets) maps.sum[k] = -std::numeric_limits<carry>::infinity(), maps.state[k] = after(tail_, k);
      return true;
    });
  }

  void summarize_rest() {
    kernels_.summarize(block_, rest_);
    has_rest_ = true;
  }

  chunk_kernels<Real> kernels_;
  plan plan_;
  std::size_t features_, chunks_, row_, count_ = 0;
  scoped_array<Real> memory_;
  scoped_array<carry> carries_;
  chunk_summary<Real> tail_{}, rest_{};  ///< summaries of the last tokens and of the tokens before them
  state_maps<Real> maps_{}, maps_of_rest_{};
  Real *high_ = nullptr, *low_ = nullptr, *scratch_ = nullptr;
  chunk_block<Real> block_{};
  bool has_rest_ = false, all_forget_ = false;
  carry growth_;  ///< log(1 + number of tokens of a chunk)
};

}  // namespace

template <class Real>
bool prefers_chunks(std::size_t tokens, std::size_t features, std::size_t lanes) {
  if (features == 0 || features > 2 * lanes || tokens < 8 * lanes) return false;
  const plan p = plan_of<Real>(tokens, features, lanes);
  const std::size_t side = side_of(features, lanes), registers = features * side / lanes;
  return cost<Real>(p, side, registers, lanes) < std::min(tokens, p.groups * side * p.length) * latency;
}
template bool prefers_chunks<float>(std::size_t, std::size_t, std::size_t);
template bool prefers_chunks<double>(std::size_t, std::size_t, std::size_t);

template <class Real>
void scan_in_chunks(const chunk_kernels<Real>& kernels, int threads, const row_block<Real>& b) {
  using carry = carry_of<Real>;
  const plan first_plan = plan_of<Real>(b.tokens, b.features, kernels.lanes);
  const std::size_t block_tokens = first_plan.groups * side_of(b.features, kernels.lanes) * first_plan.length;
  const std::size_t blocks = (b.tokens + block_tokens - 1) / block_tokens;
  const std::size_t workers = std::min(static_cast<std::size_t>(threads), blocks);
  std::vector<carry> state(b.features);
  for (std::size_t f = 0; f < b.features; ++f) state[f] = joined_words(b.high[f], b.low[f]);
  turns order;
  order.share(threads, blocks, [&](std::size_t) {
    return [&, chunks = block_of_chunks<Real>(kernels, first_plan, b.features)](std::size_t block) mutable {
      const std::size_t first = block * block_tokens, count = std::min(block_tokens, b.tokens - first);
      if (count < block_tokens)
        chunks = block_of_chunks<Real>(kernels, plan_of<Real>(count, b.features, kernels.lanes), b.features);
      const std::size_t later = first + workers * block_tokens;
      chunks.begin(b, first, count, later + block_tokens <= b.tokens ? later : 0);
      order.take(0, block, [&] { chunks.join(state.data()); });
      chunks.scan();
      if (block + 1 == blocks) chunks.last(b.high, b.low);
    };
  });
}

template void scan_in_chunks(const chunk_kernels<float>&, int, const row_block<float>&);
template void scan_in_chunks(const chunk_kernels<double>&, int, const row_block<double>&);

}  // namespace assay::optimized::heinsen
