// The adjoint of few features goes from block to block of tokens, starting at the last block. Threads take the blocks
// in that order. The weights and the gradients of several blocks are found at the same time. The carry goes from one
// block to the next in turn. The bits therefore do not depend on which thread takes a block.
#include "optimized/encodings/heinsen/narrow.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <vector>

#include "optimized/dispatch.hpp"
#include "optimized/encodings/heinsen/carry.hpp"
#include "optimized/turns.hpp"
#include "optimized/workspace.hpp"

namespace assay::optimized::heinsen {
namespace {

// The number of elements of a block. On one thread, the arrays and the scratch of a block lie in the first cache. They
// are small, so that memory is read and written at the same time: 512 is 1.2 times as fast as 2048 (Intel Xeon). With
// several threads, a block has as many elements as fit the second cache: a walk asks for memory 1536 elements ahead,
// and this memory then mostly belongs to its own block. On two cores, blocks of 16384 take 0.6 to 0.8 of the time of
// one thread, and blocks of 2048 take 0.9 to 1.05 of it (AMD EPYC). If there are few elements, threads have at least
// four blocks each.
constexpr std::size_t elements_of_block = 512, least_elements_of_shared = 2048, most_elements_of_shared = 16384;
// Sequences with fewer tokens go from row to row instead.
constexpr std::size_t least_tokens = 64;

// Blocks begin at multiples of a cache line. Their places change no bit.
std::size_t tokens_of_block(std::size_t tokens, std::size_t features, int threads) {
  const std::size_t shared = std::clamp(tokens * features / (4 * static_cast<std::size_t>(threads)),
                                        least_elements_of_shared, most_elements_of_shared);
  return (threads == 1 ? elements_of_block : shared) / features / 16 * 16;
}

// A block and the memory that a thread needs for it. Rows that have gaps between them are copied together, and the
// gradients are spread again.
class block_of_tokens {
 public:
  block_of_tokens(const adjoint_block<float>& all, std::size_t most_tokens, std::vector<double>& carry)
      : all_(all),
        most_(most_tokens * all.features),
        memory_({}, 4 * (most_ + 32) + (has_gaps() ? 6 * most_ : 0)),
        carry_(carry) {
    block_.features = all.features;
    block_.carry = carry.data();
    block_.scratch = memory_.data();
  }

  [[nodiscard]] const narrow_block& block() const { return block_; }

  void begin(std::size_t first, std::size_t count) {
    first_ = first;
    block_.tokens = count;
    block_.careful = false;
    place_ = memory_.data() + 4 * (most_ + 32);
    block_.before = first == 0 ? all_.before : row(all_.s, 0) - all_.s.step;
    block_.decay = gathered(all_.decay), block_.h = gathered(all_.h);
    block_.s = gathered(all_.s), block_.grad_s = gathered(all_.grad_s);
    block_.grad_decay = in_place(all_.grad_decay), block_.grad_h = in_place(all_.grad_h);
    block_.past_caches = all_.past_caches && !has_gaps() && at_line(block_.grad_decay) && at_line(block_.grad_h);
  }

  // Runs in the turn of the block, after its weights are known. A number that is not finite stays in its feature, also
  // in the carry.
  void go_back(const narrow_adjoint& kernels) {
    before_.assign(carry_.begin(), carry_.end());
    kernels.go_back(block_);
    if (std::all_of(carry_.begin(), carry_.end(), [](double x) { return std::isfinite(x); })) return;
    carry_ = before_;
    block_.careful = true;
    kernels.weigh(block_);
    kernels.go_back(block_);
  }

  void end() {
    spread(block_.grad_decay, all_.grad_decay);
    spread(block_.grad_h, all_.grad_h);
  }

 private:
  template <class T>
  [[nodiscard]] bool dense(const row_array<T>& r) const {
    return r.step == static_cast<std::ptrdiff_t>(all_.features);
  }
  [[nodiscard]] bool has_gaps() const {
    return !dense(all_.decay) || !dense(all_.h) || !dense(all_.s) || !dense(all_.grad_s) || !dense(all_.grad_decay) ||
           !dense(all_.grad_h);
  }
  static bool at_line(const float* place) { return reinterpret_cast<std::uintptr_t>(place) % 64 == 0; }
  template <class T>
  T* row(const row_array<T>& r, std::size_t token) const {
    return r.first + static_cast<std::ptrdiff_t>(first_ + token) * r.step;
  }

  // Returns the rows of the block in place, or room for a copy.
  template <class T>
  T* in_place(const row_array<T>& r) {
    if (dense(r)) return row(r, 0);
    place_ += most_;
    return place_ - most_;
  }
  const float* gathered(const row_array<const float>& r) {
    if (dense(r)) return row(r, 0);
    float* to = place_;
    place_ += most_;
    for (std::size_t i = 0; i < block_.tokens; ++i) std::copy_n(row(r, i), all_.features, to + i * all_.features);
    return to;
  }
  void spread(const float* from, const row_array<float>& r) const {
    if (dense(r)) return;
    for (std::size_t i = 0; i < block_.tokens; ++i) std::copy_n(from + i * all_.features, all_.features, row(r, i));
  }

  adjoint_block<float> all_;
  std::size_t most_, first_ = 0;
  scoped_array<float> memory_;
  std::vector<double>& carry_;
  std::vector<double> before_;
  float* place_ = nullptr;
  narrow_block block_{};
};

}  // namespace

bool prefers_narrow(std::size_t tokens, std::size_t features) {
  return features >= 1 && features <= narrow_block::most_features && tokens >= least_tokens;
}

void narrow_vjp(const narrow_adjoint& kernels, int threads, const adjoint_block<float>& b) {
  const std::size_t tokens = tokens_of_block(b.tokens, b.features, threads), blocks = (b.tokens + tokens - 1) / tokens;
  std::vector<double> carry(b.features);
  for (std::size_t j = 0; j < b.features; ++j) carry[j] = joined_words(b.high[j], b.low[j]);
  turns order;
  order.share(threads, blocks, [&](std::size_t) {
    return [&, own = block_of_tokens(b, tokens, carry)](std::size_t taken) mutable {
      const std::size_t first = (blocks - 1 - taken) * tokens;
      own.begin(first, std::min(tokens, b.tokens - first));
      kernels.weigh(own.block());
      order.take(0, taken, [&] { own.go_back(kernels); });
      kernels.finish(own.block());
      own.end();
    };
  });
  // Stores around the caches are not ordered by the synchronization of threads. A fence orders them.
  if (b.past_caches) std::atomic_thread_fence(std::memory_order_seq_cst);
  for (std::size_t j = 0; j < b.features; ++j) split_words(carry[j], b.high[j], b.low[j]);
}

}  // namespace assay::optimized::heinsen
