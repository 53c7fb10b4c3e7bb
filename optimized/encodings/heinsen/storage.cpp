// Scans and adjoints of 16-bit arrays. Scans of many features read and write the arrays row by row. All others take one
// block of tokens after the other: each block is widened, computed like an array of floats that the caches hold, and
// rounded. The numbers that go from block to block are floats of two words, so the states are those of one call on
// floats, rounded. Blocks depend only on the sizes, so no bit depends on the number of threads.
#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "optimized/encodings/heinsen.hpp"
#include "optimized/encodings/heinsen/blocks.hpp"
#include "optimized/encodings/heinsen/chunks.hpp"
#include "optimized/encodings/heinsen/sequences.hpp"
#include "optimized/turns.hpp"
#include "optimized/workspace.hpp"
#include "reference/core/result.hpp"

namespace assay::optimized::heinsen {
namespace {

using forward_scan = void (*)(const execution&, const scan_inputs<float>&, const scan_outputs<float>&);
using adjoint_scan = void (*)(const execution&, const scan_inputs<float>&, const scan_cotangents<float>&,
                              const scan_gradients<float>&);

// A block has 2^15 elements, so the six arrays of an adjoint are 768 KiB. Few features are walked in chunks, which need
// more tokens.
blocks blocks_of(const scan_sizes& size) {
  constexpr std::size_t elements = 1 << 15, few = 32, least = 32;
  const std::size_t most = (size.features < few ? 2 * elements : elements) / std::max<std::size_t>(1, size.features);
  return {size.batch, size.tokens, std::max(least, most)};
}

// The rows of a [B, d] array that belong to a block.
template <class T>
view<T, 2> states_of(const view<T, 2>& v, const block& b) {
  return v.absent() ? v : section(v, b.first_sequence, b.sequences);
}

// Works on blocks of a call on one thread, and holds the memory for this. Several threads in a block would have to be
// woken several times for each block. On two cores, that made scans of 8 features 2 to 20 times slower.
class block_worker {
 public:
  block_worker(const kernel_table& kernels, std::span<std::byte> workspace, const blocks& all, std::size_t features)
      : kernels_(kernels), all_(all), features_(features), memory_(workspace) {
    const std::size_t bytes = 3 * states() * sizeof(float) + 64;
    inner_ = {&kernels, 1, {memory_.template take<std::byte>(bytes), bytes}};
  }

  // Takes an array of floats for a block.
  float* array() { return memory_.take<float>(all_.most_rows() * features_); }
  // Takes `count` states of a block, each of two words.
  float* words(std::size_t count) { return memory_.take<float>(2 * count * states()); }
  [[nodiscard]] float* state(float* words, std::size_t index) const { return words + 2 * index * states(); }
  [[nodiscard]] view<float, 2> word(float* state, std::size_t index, const block& b) const {
    return dense<float, 2>(state + index * states(), {b.sequences, features_});
  }
  [[nodiscard]] view<float, 3> rows(float* x, const block& b) const {
    return dense<float, 3>(x, {b.sequences, b.tokens, features_});
  }
  [[nodiscard]] const execution& on() const { return inner_; }

  template <class Storage>
  view<const float, 3> widen(const view<const Storage, 3>& from, const block& b, float* to) const {
    for_each_run(from, b, to, storage_for<Storage>(kernels_).widen);
    return rows(to, b);
  }
  template <class Storage>
  void round(const view<float, 3>& from, const block& b, const view<Storage, 3>& to) const {
    const auto round_run = storage_for<Storage>(kernels_).round;
    for_each_run(to, b, from.data, [=](Storage* y, const float* x, std::size_t count) { round_run(x, y, count); });
  }

 private:
  [[nodiscard]] std::size_t states() const { return all_.most_sequences() * features_; }

  // Calls move(stored, x, count) for runs of elements without gaps. All elements of x lie without gaps.
  template <class Stored, class Move>
  void for_each_run(const view<Stored, 3>& stored, const block& b, float* x, Move move) const {
    const bool unit = stored.has_unit_rows();
    const bool whole = unit && (stored.stride[1] == static_cast<std::ptrdiff_t>(features_) || b.tokens <= 1);
    for (std::size_t sequence = 0; sequence < b.sequences; ++sequence) {
      float* row = x + sequence * b.tokens * features_;
      const auto place_of_element = [&](std::size_t i, std::size_t j) {
        return stored.at(b.first_sequence + sequence, b.first_token + i, j);
      };
      if (whole) {
        move(place_of_element(0, 0), row, b.tokens * features_);
        continue;
      }
      for (std::size_t i = 0; i < b.tokens; ++i, row += features_)
        if (unit)
          move(place_of_element(i, 0), row, features_);
        else
          for (std::size_t j = 0; j < features_; ++j) move(place_of_element(i, j), row + j, std::size_t{1});
    }
  }

  const kernel_table& kernels_;
  blocks all_;
  std::size_t features_;
  scoped_arrays memory_;
  execution inner_{};
};

// Threads take groups of sequences side by side. make(worker) gives the object that goes through one group.
template <class Make>
void share_groups(const execution& on, const scan_sizes& size, Make make) {
  const blocks all = blocks_of(size);
  const bool side_by_side = is_shared(on, size) && all.groups() > 1;
  turns().share(side_by_side ? on.threads : 1, all.groups(), [&](std::size_t) {
    return make(block_worker(*on.kernels, side_by_side ? std::span<std::byte>{} : on.workspace, all, size.features));
  });
}

// Calls run(execution, first, features) for pieces of the features, one for each thread, if there are fewer groups of
// sequences than threads. Otherwise, and for few features, calls it once for all features. Pieces need not wait for
// each other. Each piece has more features than are walked in chunks, and therefore has the bits of the whole.
template <class Run>
void share_features(const execution& on, const scan_sizes& size, Run run) {
  constexpr std::size_t least = 64, line = 32;
  const auto threads = static_cast<std::size_t>(on.threads);
  const std::size_t most = is_shared(on, size) && blocks_of(size).groups() < threads ? threads : 1;
  const std::size_t pieces = std::clamp(size.features / least, std::size_t{1}, most);
  if (pieces == 1) return run(on, 0, size.features);
  const auto begin = [&](std::size_t k) {
    return k == pieces ? size.features : k * size.features / pieces / line * line;
  };
  for_each_task(on.threads, pieces, [&](std::size_t k) {
    run(execution{on.kernels, 1, {}}, begin(k), begin(k + 1) - begin(k));
  });
}
// The features [first, first + count) of an array [B, n, d] or [B, d]. The array may be absent.
template <class T, std::size_t Rank>
view<T, Rank> features_of(view<T, Rank> v, std::size_t first, std::size_t count) {
  if (v.absent()) return v;
  v.data += static_cast<std::ptrdiff_t>(first) * v.stride[Rank - 1];
  v.shape[Rank - 1] = count;
  return v;
}
template <class Storage>
scan_inputs<Storage> features_of(const scan_inputs<Storage>& in, std::size_t first, std::size_t count) {
  return {features_of(in.decay, first, count), features_of(in.h, first, count), features_of(in.s0, first, count),
          features_of(in.s0_low, first, count)};
}

template <class Storage>
void check(const execution& on, const scan_inputs<Storage>& in, const std::array<std::size_t, 3>& shape) {
  const std::array<std::size_t, 2> states{shape[0], shape[2]};
  ASSAY_EXPECTS(has_shape(in.decay, shape) && has_shape(in.h, shape) && on.threads >= 1);
  ASSAY_EXPECTS(in.s0.absent() || has_shape(in.s0, states));
  ASSAY_EXPECTS(in.s0_low.absent() || has_shape(in.s0_low, states));
}

// Scans the blocks of a group, each from the state before the block to the state after it.
template <class Storage>
class scans_of_blocks {
 public:
  scans_of_blocks(forward_scan scan, const scan_inputs<Storage>& in, block_worker worker)
      : scan_(scan),
        in_(in),
        worker_(std::move(worker)),
        decay_(worker_.array()),
        h_(worker_.array()),
        s_(worker_.array()) {}

  // `before` holds both words of the state before the block, unless the block is the first; `after` and `after_low`
  // receive the words of the state after it. Returns the inputs of the scan; the states of the block are s(b).
  scan_inputs<float> run(const block& b, float* before, const view<float, 2>& after, const view<float, 2>& after_low) {
    scan_inputs<float> part{worker_.widen(in_.decay, b, decay_), worker_.widen(in_.h, b, h_), states_of(in_.s0, b),
                            states_of(in_.s0_low, b)};
    if (b.place > 0) part.s0 = worker_.word(before, 0, b), part.s0_low = worker_.word(before, 1, b);
    scan_(worker_.on(), part, {s(b), after, after_low});
    return part;
  }
  [[nodiscard]] view<float, 3> s(const block& b) const { return worker_.rows(s_, b); }
  block_worker& worker() { return worker_; }

 private:
  forward_scan scan_;
  scan_inputs<Storage> in_;
  block_worker worker_;
  float *decay_, *h_, *s_;
};

template <class Storage>
void run_piece(forward_scan scan, const execution& on, const scan_inputs<Storage>& in,
               const scan_outputs<Storage>& out) {
  const scan_sizes size = sizes_of(out.s);
  share_groups(on, size, [&](block_worker one) {
    scans_of_blocks<Storage> scans(scan, in, std::move(one));
    float* const words = scans.worker().words(2);
    return [&out, all = blocks_of(size), scans = std::move(scans), words](std::size_t group) mutable {
      block_worker& worker = scans.worker();
      for (std::size_t place = 0; place < all.blocks_of_group(); ++place) {
        const block b = all.at(group, place);
        const bool last = place + 1 == all.blocks_of_group();
        float *const before = worker.state(words, (place + 1) % 2), *const after = worker.state(words, place % 2);
        scans.run(b, before, last ? states_of(out.s_n, b) : worker.word(after, 0, b),
                  last ? states_of(out.s_n_low, b) : worker.word(after, 1, b));
        worker.round(scans.s(b), b, out.s);
      }
    };
  });
}

template <class Storage>
using stored_row_kernel = void (*)(const row_block<float, Storage>&) noexcept;

// Rows of many features are read and written in their stored type.
template <class Storage>
void run_rows(stored_row_kernel<Storage> kernel, const execution& on, const scan_inputs<Storage>& in,
              const scan_outputs<Storage>& out) {
  const scan_sizes size = sizes_of(out.s);
  scoped_array<float> states(on.workspace, 2 * size.batch * size.features);
  for_each_sequence(on, size, [&](std::size_t sequence, int threads) {
    const row_block<float, Storage> b = block_of(in.decay, in.h, out.s, sequence, states.data(), false);
    copy_row(in.s0, sequence, size.features, b.high);
    copy_row(in.s0_low, sequence, size.features, b.low);
    for_each_piece<Storage>(threads, size.features, [&](const piece_of_rows& p) { kernel(piece_of(b, p)); });
    copy_words(b.high, b.low, out.s_n, out.s_n_low, sequence, size.features);
  });
}

template <class Storage>
void run(forward_scan scan, stored_row_kernel<Storage> row_kernel, const execution& on, const scan_inputs<Storage>& in,
         const scan_outputs<Storage>& out) {
  const scan_sizes size = sizes_of(out.s);
  const std::array<std::size_t, 2> states{size.batch, size.features};
  check(on, in, out.s.shape);
  ASSAY_EXPECTS(has_shape(out.s_n, states) && (out.s_n_low.absent() || has_shape(out.s_n_low, states)));
  if (in.decay.has_unit_rows() && in.h.has_unit_rows() && out.s.has_unit_rows() &&
      !prefers_chunks<float>(size.tokens, size.features, kernels_for<float>(*on.kernels).lanes))
    return run_rows(row_kernel, on, in, out);
  share_features(on, size, [&](const execution& one, auto... piece) {
    run_piece(scan, one, features_of(in, piece...),
              scan_outputs<Storage>{features_of(out.s, piece...), features_of(out.s_n, piece...),
                                    features_of(out.s_n_low, piece...)});
  });
}

// A first pass keeps the states between blocks. Then the blocks are taken from the last to the first, and their states
// are computed again.
template <class Storage>
void run_piece_back(forward_scan scan, adjoint_scan adjoint, const execution& on, const scan_inputs<Storage>& in,
                    const scan_cotangents<Storage>& cotangents, const scan_gradients<Storage>& out) {
  const scan_sizes size = sizes_of(out.grad_h);
  share_groups(on, size, [&](block_worker one) {
    scans_of_blocks<Storage> scans(scan, in, std::move(one));
    block_worker& given = scans.worker();
    float *const grad_s = given.array(), *const grad_decay = given.array(), *const grad_h = given.array();
    const blocks all = blocks_of(size);
    float *const kept = given.words(all.blocks_of_group() + 1), *const words = given.words(2);
    return [&, all, scans = std::move(scans), grad_s, grad_decay, grad_h, kept, words](std::size_t group) mutable {
      block_worker& worker = scans.worker();
      const auto scan_block = [&](const block& b) {
        float* const after = worker.state(kept, b.place + 1);
        return scans.run(b, worker.state(kept, b.place), worker.word(after, 0, b), worker.word(after, 1, b));
      };
      for (std::size_t place = 0; place + 1 < all.blocks_of_group(); ++place) scan_block(all.at(group, place));
      for (std::size_t place = all.blocks_of_group(); place-- > 0;) {
        const block b = all.at(group, place);
        float *const from = worker.state(words, (place + 1) % 2), *const to = worker.state(words, place % 2);
        const bool first = place == 0, last = place + 1 == all.blocks_of_group();
        const scan_inputs<float> part = scan_block(b);
        scan_cotangents<float> after{scans.s(b), worker.widen(cotangents.grad_s, b, grad_s),
                                     states_of(cotangents.grad_s_n, b), states_of(cotangents.grad_s_n_low, b)};
        if (!last) after.grad_s_n = worker.word(from, 0, b), after.grad_s_n_low = worker.word(from, 1, b);
        adjoint(worker.on(), part, after,
                {worker.rows(grad_decay, b), worker.rows(grad_h, b),
                 first ? states_of(out.grad_s0, b) : worker.word(to, 0, b),
                 first ? states_of(out.grad_s0_low, b) : worker.word(to, 1, b)});
        worker.round(worker.rows(grad_decay, b), b, out.grad_decay);
        worker.round(worker.rows(grad_h, b), b, out.grad_h);
      }
    };
  });
}

template <class Storage>
void run_back(forward_scan scan, adjoint_scan adjoint, const execution& on, const scan_inputs<Storage>& in,
              const scan_cotangents<Storage>& cotangents, const scan_gradients<Storage>& out) {
  const scan_sizes size = sizes_of(out.grad_h);
  const std::array<std::size_t, 2> states{size.batch, size.features};
  check(on, in, out.grad_h.shape);
  ASSAY_EXPECTS(cotangents.s.absent() && has_shape(cotangents.grad_s, out.grad_h.shape));
  ASSAY_EXPECTS(has_shape(out.grad_decay, out.grad_h.shape) && has_shape(out.grad_h, out.grad_h.shape));
  ASSAY_EXPECTS(has_shape(out.grad_s0, states) && (out.grad_s0_low.absent() || has_shape(out.grad_s0_low, states)));
  ASSAY_EXPECTS(cotangents.grad_s_n.absent() || has_shape(cotangents.grad_s_n, states));
  ASSAY_EXPECTS(cotangents.grad_s_n_low.absent() || has_shape(cotangents.grad_s_n_low, states));
  share_features(on, size, [&](const execution& one, auto... piece) {
    run_piece_back(scan, adjoint, one, features_of(in, piece...),
                   scan_cotangents<Storage>{{},
                                            features_of(cotangents.grad_s, piece...),
                                            features_of(cotangents.grad_s_n, piece...),
                                            features_of(cotangents.grad_s_n_low, piece...)},
                   scan_gradients<Storage>{features_of(out.grad_decay, piece...), features_of(out.grad_h, piece...),
                                           features_of(out.grad_s0, piece...), features_of(out.grad_s0_low, piece...)});
  });
}

}  // namespace

#define ASSAY_STORED(Storage)                                                                                          \
  template <>                                                                                                          \
  void scan(const execution& on, const scan_inputs<Storage>& in, const scan_outputs<Storage>& out) {                   \
    run<Storage>(scan<float>, storage_for<Storage>(*on.kernels).scan_rows, on, in, out);                               \
  }                                                                                                                    \
  template <>                                                                                                          \
  void gated_scan(const execution& on, const scan_inputs<Storage>& in, const scan_outputs<Storage>& out) {             \
    run<Storage>(gated_scan<float>, storage_for<Storage>(*on.kernels).gated_scan_rows, on, in, out);                   \
  }                                                                                                                    \
  template <>                                                                                                          \
  void scan_vjp(const execution& on, const scan_inputs<Storage>& in, const scan_cotangents<Storage>& cotangents,       \
                const scan_gradients<Storage>& out) {                                                                  \
    run_back<Storage>(scan<float>, scan_vjp<float>, on, in, cotangents, out);                                          \
  }                                                                                                                    \
  template <>                                                                                                          \
  void gated_scan_vjp(const execution& on, const scan_inputs<Storage>& in, const scan_cotangents<Storage>& cotangents, \
                      const scan_gradients<Storage>& out) {                                                            \
    run_back<Storage>(gated_scan<float>, gated_scan_vjp<float>, on, in, cotangents, out);                              \
  }
ASSAY_STORED(bfloat16)
ASSAY_STORED(float16)
#undef ASSAY_STORED

}  // namespace assay::optimized::heinsen
