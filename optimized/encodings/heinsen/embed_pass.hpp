// The first half of embed_position; its adjoint repeats it. It computes the logits and the states, one block of tokens
// after the other. Threads take the blocks in their order. The scans of a sequence take turns, and each scan starts
// from both words of the state that the scan before it left. No bit therefore depends on the number of threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "optimized/encodings/heinsen.hpp"
#include "optimized/encodings/heinsen/embed_blocks.hpp"
#include "optimized/encodings/heinsen/embed_rows.hpp"
#include "optimized/turns.hpp"
#include "optimized/workspace.hpp"
#include "reference/core/result.hpp"

namespace assay::optimized::heinsen::embedding {

template <class Real>
embed_sizes sizes_of(const embed_inputs<Real>& in) {
  return {in.x.shape[0], in.x.shape[1], in.x.shape[2], in.W_R.shape[1]};
}

template <class Real>
void check(const execution& on, const embed_sizes& size, const embed_inputs<Real>& in) {
  const auto [batch, tokens, e, d] = size;
  ASSAY_EXPECTS(e <= matrix_limit && d <= matrix_limit / 2 && on.threads >= 1);
  ASSAY_EXPECTS(has_shape(in.x, {batch, tokens, e}));
  ASSAY_EXPECTS(has_shape(in.W_H, {2 * d, e}) && has_shape(in.b_H, {2 * d}));
  ASSAY_EXPECTS(has_shape(in.W_R, {e, d}) && has_shape(in.b_R, {e}));
  ASSAY_EXPECTS(in.s0.absent() || has_shape(in.s0, {batch, d}));
  ASSAY_EXPECTS(in.s0_low.absent() || has_shape(in.s0_low, {batch, d}));
}

inline int useful_threads(const execution& on, const embed_sizes& size) {
  // If a linear map has fewer products than this, waking another thread takes longer than the map.
  constexpr std::size_t least_shared_products = 1 << 20;
  const std::size_t products = size.rows() * size.features;
  return products < least_shared_products / std::max<std::size_t>(1, size.embedding) ? 1 : on.threads;
}

/// Adapts task(worker, i) to turns::share.
template <class Task>
auto each_block(Task task) {
  return [task](std::size_t worker) { return [&task, worker](std::size_t i) { task(worker, i); }; };
}

/// The numbers that each block of a sequence hands to the next, in two words. Step 0 finds the given numbers; each
/// later step finds the numbers that the step before it left.
template <class Real>
class carried {
 public:
  carried(const embed_sizes& size, const view<const Real, 2>& given, const view<const Real, 2>& given_low,
          scoped_arrays& memory)
      : size_(size), given_{given, given_low}, words_(memory.take<Real>(4 * size.batch * size.features)) {}

  [[nodiscard]] view<const Real, 2> before(const block& b, std::size_t step, std::size_t word) const {
    if (step > 0) return left(b.first_sequence, b.sequences, step - 1, word);
    const view<const Real, 2>& v = given_[word];
    return v.absent() ? v : section(v, b.first_sequence, b.sequences);
  }
  [[nodiscard]] view<Real, 2> after(const block& b, std::size_t step, std::size_t word) const {
    return left(b.first_sequence, b.sequences, step, word);
  }
  void copy_last(std::size_t steps, std::size_t word, const view<Real, 2>& to) const {
    const view<Real, 2> last = left(0, size_.batch, steps - 1, word);
    for (std::size_t i = 0; i < size_.batch; ++i)
      for (std::size_t j = 0; j < size_.features; ++j) *to.at(i, j) = *last.at(i, j);
  }

 private:
  [[nodiscard]] view<Real, 2> left(std::size_t first, std::size_t count, std::size_t step, std::size_t word) const {
    const std::size_t rows = (2 * (step % 2) + word) * size_.batch + first;
    return dense<Real, 2>(words_ + rows * size_.features, {count, size_.features});
  }
  embed_sizes size_;
  view<const Real, 2> given_[2];
  Real* words_;
};

/// The first half of embed_position.
template <class Real>
struct states_pass {
  const kernel_table* kernels;
  matrix<const Real> W_H;
  const Real* b_H;
  carried<Real> state;
  std::unique_ptr<turns> order;  ///< for each group: which block may scan next

  states_pass(const execution& on, const embed_sizes& size, const blocks& all, const embed_inputs<Real>& in,
              scoped_arrays& memory)
      : kernels(on.kernels),
        W_H(weights(in.W_H, memory)),
        b_H(bias(in.b_H, memory)),
        state(size, in.s0, in.s0_low, memory),
        order(std::make_unique<turns>(all.groups())) {}

  /// Writes the logits and the states of a block.
  void run(const block& b, const matrix<const Real>& x, const matrix<Real>& logits, const matrix<Real>& s,
           std::span<std::byte> workspace) const {
    fill_rows(logits, b_H);
    add_product(x, transpose_of(W_H), logits);
    order->take(b.group, b.place, [&] {
      const matrix<const Real> given = logits;
      gated_scan<Real>({kernels, 1, workspace},
                       {half(given, b, 0), half(given, b, 1), state.before(b, b.place, 0), state.before(b, b.place, 1)},
                       {states(s, b), state.after(b, b.place, 0), state.after(b, b.place, 1)});
    });
  }
};

/// The memory of a thread: arrays of [most_rows] rows each, and the workspace of a scan.
template <class Real>
struct scratch {
  Real *x, *y, *logits, *s;
  std::span<std::byte> scan_memory;
};
template <class Real>
std::vector<scratch<Real>> scratches(int threads, const embed_sizes& size, const blocks& all, std::size_t elements_of_x,
                                     std::size_t elements_of_y, scoped_arrays& memory) {
  std::vector<scratch<Real>> each(std::min(static_cast<std::size_t>(threads), all.count()));
  for (scratch<Real>& one : each) {
    one.x = memory.take<Real>(elements_of_x), one.y = memory.take<Real>(elements_of_y);
    one.logits = memory.take<Real>(all.most_rows() * 2 * size.features);
    one.s = memory.take<Real>(all.most_rows() * size.features);
    const std::size_t bytes = 3 * all.most_sequences() * size.features * sizeof(Real) + 64;
    one.scan_memory = {memory.take<std::byte>(bytes), bytes};
  }
  return each;
}

}  // namespace assay::optimized::heinsen::embedding
