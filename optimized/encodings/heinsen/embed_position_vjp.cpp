// The adjoint of the linear maps around the gated scan. It computes the states again and their adjoint from the last
// block backwards. The gradients of the weights are sums over all tokens.
#include "optimized/encodings/heinsen/embed_pass.hpp"

namespace assay::optimized::heinsen {

using namespace embedding;
namespace {

// The number of rows of a weight gradient that one task computes, and the number of tokens that one task sums.
constexpr std::size_t rows_of_slice = 512;
constexpr std::size_t tokens_of_sum = 1 << 14;

// Computes left^T right, summed over all tokens, as the gradient of a matrix of weights.
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

  // One task for each slice and each sum. The tasks are independent of one another.
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
  // One addition for each slice. They run after all tasks.
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
    if (sum == 0) return rows_.block_rows(whole(out_), place_);
    return {partial_ + (sum - 1) * left_.rows * columns, left_.rows, columns, columns};
  }
  [[nodiscard]] matrix<Real> slice(const matrix<Real>& matrix_of_rows, std::size_t row) const {
    return matrix_of_rows.rows_from(row, std::min(rows_of_slice, matrix_of_rows.rows - row));
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

template <class Real>
void check(const embed_sizes& size, const embed_inputs<Real>& in, const embed_cotangents<Real>& cotangents,
           const embed_gradients<Real>& out) {
  const std::size_t batch = size.batch, d = size.features;
  ASSAY_EXPECTS(has_shape(cotangents.grad_y, in.x.shape));
  ASSAY_EXPECTS(cotangents.grad_s_n.absent() || has_shape(cotangents.grad_s_n, {batch, d}));
  ASSAY_EXPECTS(has_shape(out.grad_x, in.x.shape) && has_shape(out.grad_s0, {batch, d}));
  ASSAY_EXPECTS(has_shape(out.grad_W_H, in.W_H.shape) && has_shape(out.grad_b_H, in.b_H.shape));
  ASSAY_EXPECTS(has_shape(out.grad_W_R, in.W_R.shape) && has_shape(out.grad_b_R, in.b_R.shape));
}

// The tasks of both gradients are shared among the threads together.
template <class Real>
void add_up(int threads, const weight_gradient<Real> (&gradients)[2]) {
  const auto for_both = [&](auto count, auto task) {
    const std::size_t tasks_of_first = (gradients[0].*count)();
    for_each_task(threads, tasks_of_first + (gradients[1].*count)(), [&](std::size_t i) {
      i < tasks_of_first ? (gradients[0].*task)(i) : (gradients[1].*task)(i - tasks_of_first);
    });
  };
  using gradient = weight_gradient<Real>;
  for_both(&gradient::tasks, &gradient::run);
  for_both(&gradient::additions, &gradient::add);
  for (const gradient& g : gradients) g.finish();
}

}  // namespace

template <class Real>
void embed_position_vjp(const execution& on, const embed_inputs<Real>& in, const embed_cotangents<Real>& cotangents,
                        const embed_gradients<Real>& out) {
  const embed_sizes size = sizes_of(in);
  const std::size_t batch = size.batch, e = size.embedding, d = size.features;
  check(on, size, in);
  check(size, in, cotangents, out);

  const blocks all = blocks_of(size);
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
  // Holds the logits, and later their gradients.
  const matrix<Real> logits{memory.take<Real>(n * 2 * d), n, 2 * d, 2 * d};
  const matrix<Real> s{memory.take<Real>(n * d), n, d, d};
  Real* const bias_sums = memory.take<Real>(all.count() * sums);  // one sum for each block
  std::fill_n(bias_sums, all.count() * sums, Real(0));

  pass.order->share(threads, all.count(), each_block([&](std::size_t worker, std::size_t i) {
                      const block b = all.at(i / all.blocks_of_group(), i % all.blocks_of_group());
                      const matrix<const Real> x = x_rows.block_rows(b, x_place + x_rows.copied(b.first_row));
                      pass.run(b, x, logits.rows_from(b.first_row, b.rows()), s.rows_from(b.first_row, b.rows()),
                               own[worker].scan_memory);
                    }));

  // Computes the adjoints of y = W_R s + b_R + x, of the scan, and of (g, h) = W_H x + b_H, from the last block of each
  // sequence backwards.
  const carried<Real> adjoint(size, cotangents.grad_s_n, {}, memory);
  turns order(all.groups());
  order.share(
      threads, all.count(), each_block([&](std::size_t worker, std::size_t i) {
        const std::size_t step = i % all.blocks_of_group();
        const block b = all.at(i / all.blocks_of_group(), all.blocks_of_group() - 1 - step);
        const scratch<Real>& mine = own[worker];
        const matrix<const Real> grad_y = grad_y_rows.block_rows(b, grad_y_place + grad_y_rows.copied(b.first_row));
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
              {on.kernels, 1, mine.scan_memory}, {half<const Real>(given, b, 0), half<const Real>(given, b, 1), first},
              {states<const Real>(s.rows_from(b.first_row, b.rows()), b), states<const Real>(grad_s, b),
               adjoint.before(b, step, 0), adjoint.before(b, step, 1)},
              {half(grad_logits, b, 0), half(grad_logits, b, 1), adjoint.after(b, step, 0), adjoint.after(b, step, 1)});
        });

        const matrix<Real> grad_x = grad_x_rows.block_rows(b, mine.y);
        copy_plus<Real>(grad_y, nullptr, grad_x);
        add_product(grad_logits, pass.W_H, grad_x);
        grad_x_rows.finish(b, mine.y);
        Real* const sums_of_block = bias_sums + (b.group * all.blocks_of_group() + b.place) * sums;
        add_columns<Real>(grad_logits, sums_of_block), add_columns(grad_y, sums_of_block + 2 * d);
      }));
  adjoint.copy_last(all.blocks_of_group(), 0, out.grad_s0);
  add_up(bias_sums, all.count(), sums, out.grad_b_H);
  add_up(bias_sums + 2 * d, all.count(), sums, out.grad_b_R);

  const weight_gradient<Real> gradients[] = {{grad_y_rows.all(grad_y_place), s, out.grad_W_R, memory},
                                             {logits, x_rows.all(x_place), out.grad_W_H, memory}};
  add_up(threads, gradients);
}

template void embed_position_vjp(const execution&, const embed_inputs<float>&, const embed_cotangents<float>&,
                                 const embed_gradients<float>&);
template void embed_position_vjp(const execution&, const embed_inputs<double>&, const embed_cotangents<double>&,
                                 const embed_gradients<double>&);

}  // namespace assay::optimized::heinsen
