// The linear maps around the gated scan, block of tokens after block: its logits, its states, its outputs. Threads take
// the blocks in their order, and the scans of a sequence go in turn, each from both words of the state that the one
// before it left; so no bit depends on the number of threads.
#include <algorithm>
#include <memory>
#include <vector>

#include "optimized/encodings/heinsen.hpp"
#include "optimized/encodings/heinsen_blocks.hpp"
#include "optimized/matrix_product.hpp"
#include "optimized/turns.hpp"
#include "optimized/workspace.hpp"
#include "reference/core/result.hpp"

namespace assay::optimized::heinsen {
namespace {

// Rows of a gradient of weights that one task computes, and the tokens that it sums over at once.
constexpr std::size_t rows_of_slice = 512;
constexpr std::size_t tokens_of_sum = 1 << 14;
// With fewer products than these in a linear map, waking another thread takes longer.
constexpr std::size_t least_shared_products = 1 << 20;

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

int useful_threads(const execution& on, const embed_sizes& size) {
  const std::size_t products = size.rows() * size.features;
  return products < least_shared_products / std::max<std::size_t>(1, size.embedding) ? 1 : on.threads;
}

// task(worker, i) for turns::share.
template <class Task>
auto each_block(Task task) {
  return [task](std::size_t worker) { return [&task, worker](std::size_t i) { task(worker, i); }; };
}

// What goes from block to block of each sequence, in two words: step 0 finds what was given, each later one what the
// step before it left.
template <class Real>
class carried {
 public:
  carried(const embed_sizes& size, const view<const Real, 2>& given, const view<const Real, 2>& given_low,
          scoped_arrays& memory)
      : size_(size), given_{given, given_low}, words_(memory.take<Real>(4 * size.batch * size.features)) {}

  [[nodiscard]] view<const Real, 2> before(const block& b, std::size_t step, std::size_t word) const {
    if (step > 0) return left(b.first_sequence, b.sequences, step - 1, word);
    view<const Real, 2> v = given_[word];
    if (!v.absent()) v.data = v.at(b.first_sequence, std::size_t{0}), v.shape[0] = b.sequences;
    return v;
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

// Rows of x, of y or of their like: as they lie where BLAS can read them, else in an array without gaps, of the
// rows of a block or of all.
template <class T>
class rows {
 public:
  using Real = std::remove_const_t<T>;
  rows(const view<T, 3>& v, std::size_t sequences) : v_(v), step_(step_of_rows(v, sequences)) {}

  [[nodiscard]] std::size_t copied(std::size_t count) const { return step_ == 0 ? count * v_.shape[2] : 0; }
  /// Those of a block. `place` has room for copied(b.rows()) elements.
  [[nodiscard]] matrix<T> of(const block& b, Real* place) const {
    const view<T, 3> part = sequences_of(v_, b);
    if (step_ != 0) return {part.data, b.rows(), v_.shape[2], step_};
    if constexpr (std::is_const_v<T>) gather(part, place);
    return {place, b.rows(), v_.shape[2], v_.shape[2]};
  }
  /// All of them, where `place` has what `of` copied there for each block at its row.
  [[nodiscard]] matrix<T> all(Real* place) const {
    const std::size_t count = v_.shape[0] * v_.shape[1], width = v_.shape[2];
    return step_ != 0 ? matrix<T>{v_.data, count, width, step_} : matrix<T>{place, count, width, width};
  }
  /// Brings what was written to place to where it belongs.
  void finish(const block& b, const Real* place) const {
    if (step_ == 0) scatter(place, sequences_of(v_, b));
  }

 private:
  view<T, 3> v_;
  std::size_t step_;
};

// A matrix of weights or of their gradients.
template <class T>
block whole(const view<T, 2>& v) {
  return {0, 0, 0, 1, 0, v.shape[0], 0};
}
template <class Real>
matrix<const Real> weights(const view<const Real, 2>& v, scoped_arrays& memory) {
  const rows<const Real> r(one_sequence(v), 1);
  return r.of(whole(v), memory.take<Real>(r.copied(v.shape[0])));
}
template <class Real>
const Real* bias(const view<const Real, 1>& v, scoped_arrays& memory) {
  Real* to = memory.take<Real>(v.shape[0]);
  for (std::size_t i = 0; i < v.shape[0]; ++i) to[i] = *v.at(i);
  return to;
}

template <class Real>
void fill_rows(const matrix<Real>& m, const Real* row) {
  for (std::size_t i = 0; i < m.rows; ++i) std::copy_n(row, m.columns, m.data + i * m.step);
}
template <class Real>
void fill_zeros(const matrix<Real>& m) {
  for (std::size_t i = 0; i < m.rows; ++i) std::fill_n(m.data + i * m.step, m.columns, Real(0));
}
// to = m + row, or m where there is no row.
template <class Real>
void copy_plus(const matrix<const Real>& m, const Real* row, const matrix<Real>& to) {
  for (std::size_t i = 0; i < m.rows; ++i)
    for (std::size_t k = 0; k < m.columns; ++k)
      to.data[i * to.step + k] = row == nullptr ? m.data[i * m.step + k] : m.data[i * m.step + k] + row[k];
}
template <class Real>
void add_columns(const matrix<const Real>& m, Real* sums) {
  for (std::size_t i = 0; i < m.rows; ++i)
    for (std::size_t k = 0; k < m.columns; ++k) sums[k] += m.data[i * m.step + k];
}

// The gate logits and the h of a block lie side by side, as W_H gives them.
template <class T>
view<T, 3> half(const matrix<T>& both, const block& b, std::size_t which) {
  const std::size_t d = both.columns / 2;
  view<T, 3> v = dense<T, 3>(both.data, {b.sequences, b.tokens, 2 * d});
  v.shape[2] = d;
  if (which == 1 && v.size() > 0) v.data += d;
  return v;
}
template <class T>
view<T, 3> states(const matrix<T>& s, const block& b) {
  return dense<T, 3>(s.data, {b.sequences, b.tokens, s.columns});
}

// The first half of the operation.
template <class Real>
struct states_pass {
  const kernel_table* kernels;
  matrix<const Real> W_H;
  const Real* b_H;
  carried<Real> state;
  std::unique_ptr<turns> order;  ///< of each group: who may scan next

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

// Memory of a thread: arrays of [most_rows] rows each, and what a scan needs.
template <class Real>
struct scratch {
  Real *x, *y, *logits, *s;
  std::span<std::byte> of_scan;
};
template <class Real>
std::vector<scratch<Real>> scratches(int threads, const embed_sizes& size, const blocks& all, std::size_t of_x,
                                     std::size_t of_y, scoped_arrays& memory) {
  std::vector<scratch<Real>> each(std::min(static_cast<std::size_t>(threads), all.count()));
  for (scratch<Real>& one : each) {
    one.x = memory.take<Real>(of_x), one.y = memory.take<Real>(of_y);
    one.logits = memory.take<Real>(all.most_rows() * 2 * size.features);
    one.s = memory.take<Real>(all.most_rows() * size.features);
    const std::size_t bytes = 3 * all.most_sequences() * size.features * sizeof(Real) + 64;
    one.of_scan = {memory.take<std::byte>(bytes), bytes};
  }
  return each;
}

}  // namespace

template <class Real>
void embed_position(const execution& on, const embed_inputs<Real>& in, const embed_outputs<Real>& out) {
  const embed_sizes size = sizes_of(in);
  const std::size_t batch = size.batch, d = size.features;
  check(on, size, in);
  ASSAY_EXPECTS(has_shape(out.y, in.x.shape) && has_shape(out.s_n, {batch, d}));
  ASSAY_EXPECTS(out.s_n_low.absent() || has_shape(out.s_n_low, {batch, d}));

  const blocks all(size);
  const int threads = useful_threads(on, size);
  scoped_arrays memory(on.workspace);
  const states_pass<Real> pass(on, size, all, in, memory);
  const matrix<const Real> W_R = weights(in.W_R, memory);
  const Real* b_R = bias(in.b_R, memory);
  const rows<const Real> x_rows(in.x, all.most_sequences());
  const rows<Real> y_rows(out.y, all.most_sequences());
  const auto own =
      scratches<Real>(threads, size, all, x_rows.copied(all.most_rows()), y_rows.copied(all.most_rows()), memory);
  pass.order->share(threads, all.count(), each_block([&](std::size_t worker, std::size_t i) {
                      const block b = all.at(i / all.of_group(), i % all.of_group());
                      const scratch<Real>& mine = own[worker];
                      const matrix<const Real> x = x_rows.of(b, mine.x);
                      const matrix<Real> logits{mine.logits, b.rows(), 2 * d, 2 * d}, s{mine.s, b.rows(), d, d};
                      pass.run(b, x, logits, s, mine.of_scan);
                      const matrix<Real> y = y_rows.of(b, mine.y);
                      copy_plus(x, b_R, y);
                      add_product(s, transpose_of(W_R), y);
                      y_rows.finish(b, mine.y);
                    }));
  pass.state.copy_last(all.of_group(), 0, out.s_n);
  if (!out.s_n_low.absent()) pass.state.copy_last(all.of_group(), 1, out.s_n_low);
}

namespace {

// left^T right, summed over all tokens, for a matrix of weights.
template <class Real>
class weight_gradient {
 public:
  weight_gradient(const matrix<const Real>& left, const matrix<const Real>& right, const view<Real, 2>& out,
                  scoped_arrays& memory)
      : left_(transpose_of(left)), right_(right), out_(out), rows_(one_sequence(out), 1) {
    sums_ = std::max<std::size_t>(1, blocks::parts(left.rows, tokens_of_sum));
    slices_ = blocks::parts(left.columns, rows_of_slice);
    place_ = memory.take<Real>(rows_.copied(left.columns));
    partial_ = memory.take<Real>((sums_ - 1) * left.columns * right.columns);
  }

  // One for each slice and sum: independent of one another.
  [[nodiscard]] std::size_t tasks() const { return slices_ * sums_; }
  void run(std::size_t task) const {
    const std::size_t sum = task % sums_, first = sum * tokens_of_sum;
    const std::size_t count = std::min(tokens_of_sum, left_.columns - first);
    const std::size_t row = task / sums_ * rows_of_slice;
    const matrix<const Real> tokens{left_.data + first * left_.step, left_.rows, count, left_.step, true};
    const matrix<Real> to = slice(target(sum), row);
    fill_zeros(to);
    add_product(tokens.rows_from(row, to.rows), right_.rows_from(first, count), to);
  }
  // One for each slice, after these.
  [[nodiscard]] std::size_t additions() const { return slices_; }
  void add(std::size_t i) const {
    const matrix<Real> to = slice(target(0), i * rows_of_slice);
    for (std::size_t sum = 1; sum < sums_; ++sum) {
      const matrix<Real> from = slice(target(sum), i * rows_of_slice);
      for (std::size_t k = 0; k < to.rows; ++k)
        for (std::size_t j = 0; j < to.columns; ++j) to.data[k * to.step + j] += from.data[k * from.step + j];
    }
  }
  void finish() const { rows_.finish(whole(out_), place_); }

 private:
  [[nodiscard]] matrix<Real> target(std::size_t sum) const {
    const std::size_t columns = right_.columns;
    if (sum == 0) return rows_.of(whole(out_), place_);
    return {partial_ + (sum - 1) * left_.rows * columns, left_.rows, columns, columns};
  }
  [[nodiscard]] matrix<Real> slice(const matrix<Real>& of, std::size_t row) const {
    return of.rows_from(row, std::min(rows_of_slice, of.rows - row));
  }
  matrix<const Real> left_, right_;
  view<Real, 2> out_;
  rows<Real> rows_;
  std::size_t sums_, slices_;
  Real *place_, *partial_;
};

template <class Real>
void add_up(const Real* parts, std::size_t count, std::size_t step, const view<Real, 1>& to) {
  for (std::size_t k = 0; k < to.shape[0]; ++k) {
    Real sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += parts[i * step + k];
    *to.at(k) = sum;
  }
}

}  // namespace

template <class Real>
void embed_position_vjp(const execution& on, const embed_inputs<Real>& in, const embed_cotangents<Real>& cotangents,
                        const embed_gradients<Real>& out) {
  const embed_sizes size = sizes_of(in);
  const std::size_t batch = size.batch, e = size.embedding, d = size.features;
  check(on, size, in);
  ASSAY_EXPECTS(has_shape(cotangents.grad_y, in.x.shape));
  ASSAY_EXPECTS(cotangents.grad_s_n.absent() || has_shape(cotangents.grad_s_n, {batch, d}));
  ASSAY_EXPECTS(has_shape(out.grad_x, in.x.shape) && has_shape(out.grad_s0, {batch, d}));
  ASSAY_EXPECTS(has_shape(out.grad_W_H, in.W_H.shape) && has_shape(out.grad_b_H, in.b_H.shape));
  ASSAY_EXPECTS(has_shape(out.grad_W_R, in.W_R.shape) && has_shape(out.grad_b_R, in.b_R.shape));

  const blocks all(size);
  const int threads = useful_threads(on, size);
  scoped_arrays memory(on.workspace);
  const states_pass<Real> pass(on, size, all, in, memory);
  const matrix<const Real> W_R = weights(in.W_R, memory);
  const rows<const Real> x_rows(in.x, batch), grad_y_rows(cotangents.grad_y, batch);
  const rows<Real> grad_x_rows(out.grad_x, all.most_sequences());
  const auto own = scratches<Real>(threads, size, all, 0, grad_x_rows.copied(all.most_rows()), memory);
  const std::size_t n = size.rows(), sums = 2 * d + e;
  Real* const x_place = memory.take<Real>(x_rows.copied(n));
  Real* const grad_y_place = memory.take<Real>(grad_y_rows.copied(n));
  const matrix<Real> logits{memory.take<Real>(n * 2 * d), n, 2 * d, 2 * d};  // and then their gradients
  const matrix<Real> s{memory.take<Real>(n * d), n, d, d};
  Real* const bias_sums = memory.take<Real>(all.count() * sums);  // those of each block
  std::fill_n(bias_sums, all.count() * sums, Real(0));

  pass.order->share(threads, all.count(), each_block([&](std::size_t worker, std::size_t i) {
                      const block b = all.at(i / all.of_group(), i % all.of_group());
                      const matrix<const Real> x = x_rows.of(b, x_place + x_rows.copied(b.first_row));
                      pass.run(b, x, logits.rows_from(b.first_row, b.rows()), s.rows_from(b.first_row, b.rows()),
                               own[worker].of_scan);
                    }));

  // y = W_R s + b_R + x, the scan, and (g, h) = W_H x + b_H, from the last block of each sequence
  const carried<Real> adjoint(size, cotangents.grad_s_n, {}, memory);
  turns order(all.groups());
  order.share(
      threads, all.count(), each_block([&](std::size_t worker, std::size_t i) {
        const std::size_t step = i % all.of_group();
        const block b = all.at(i / all.of_group(), all.of_group() - 1 - step);
        const scratch<Real>& mine = own[worker];
        const matrix<const Real> grad_y = grad_y_rows.of(b, grad_y_place + grad_y_rows.copied(b.first_row));
        const matrix<Real> grad_s{mine.s, b.rows(), d, d}, given{mine.logits, b.rows(), 2 * d, 2 * d};
        fill_zeros(grad_s);
        add_product(grad_y, W_R, grad_s);

        const matrix<Real> grad_logits = logits.rows_from(b.first_row, b.rows());
        copy_plus<Real>(grad_logits, nullptr, given);
        const matrix<const Real> past = s.rows_from(b.first_row - (b.place > 0 ? 1 : 0), 1);
        const view<const Real, 2> first =
            b.place > 0 ? dense<const Real, 2>(past.data, {1, d}) : pass.state.before(b, 0, 0);
        order.take(b.group, step, [&] {
          gated_scan_vjp<Real>(
              {on.kernels, 1, mine.of_scan}, {half<const Real>(given, b, 0), half<const Real>(given, b, 1), first},
              {states<const Real>(s.rows_from(b.first_row, b.rows()), b), states<const Real>(grad_s, b),
               adjoint.before(b, step, 0), adjoint.before(b, step, 1)},
              {half(grad_logits, b, 0), half(grad_logits, b, 1), adjoint.after(b, step, 0), adjoint.after(b, step, 1)});
        });

        const matrix<Real> grad_x = grad_x_rows.of(b, mine.y);
        copy_plus<Real>(grad_y, nullptr, grad_x);
        add_product(grad_logits, pass.W_H, grad_x);
        grad_x_rows.finish(b, mine.y);
        Real* const of_block = bias_sums + (b.group * all.of_group() + b.place) * sums;
        add_columns<Real>(grad_logits, of_block), add_columns(grad_y, of_block + 2 * d);
      }));
  adjoint.copy_last(all.of_group(), 0, out.grad_s0);
  add_up(bias_sums, all.count(), sums, out.grad_b_H);
  add_up(bias_sums + 2 * d, all.count(), sums, out.grad_b_R);

  const weight_gradient<Real> gradients[] = {{grad_y_rows.all(grad_y_place), s, out.grad_W_R, memory},
                                             {logits, x_rows.all(x_place), out.grad_W_H, memory}};
  const auto for_both = [&](auto count, auto task) {
    const std::size_t of_first = (gradients[0].*count)();
    for_each_task(threads, of_first + (gradients[1].*count)(),
                  [&](std::size_t i) { i < of_first ? (gradients[0].*task)(i) : (gradients[1].*task)(i - of_first); });
  };
  using gradient = weight_gradient<Real>;
  for_both(&gradient::tasks, &gradient::run);
  for_both(&gradient::additions, &gradient::add);
  for (const gradient& g : gradients) g.finish();
}

#define ASSAY_INSTANTIATE(Real)                                                                                \
  template void embed_position(const execution&, const embed_inputs<Real>&, const embed_outputs<Real>&);       \
  template void embed_position_vjp(const execution&, const embed_inputs<Real>&, const embed_cotangents<Real>&, \
                                   const embed_gradients<Real>&);
ASSAY_INSTANTIATE(float)
ASSAY_INSTANTIATE(double)
#undef ASSAY_INSTANTIATE

}  // namespace assay::optimized::heinsen
