// The linear maps around the gated scan. They give its logits and turn its states into the outputs.
#include "optimized/encodings/heinsen/embed_pass.hpp"

namespace assay::optimized::heinsen {

using namespace embedding;

template <class Real>
void embed_position(const execution& on, const embed_inputs<Real>& in, const embed_outputs<Real>& out) {
  const embed_sizes size = sizes_of(in);
  const std::size_t batch = size.batch, d = size.features;
  check(on, size, in);
  ASSAY_EXPECTS(has_shape(out.y, in.x.shape) && has_shape(out.s_n, {batch, d}));
  ASSAY_EXPECTS(out.s_n_low.absent() || has_shape(out.s_n_low, {batch, d}));

  const blocks all = blocks_of(size);
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
                      const block b = all.at(i / all.blocks_of_group(), i % all.blocks_of_group());
                      const scratch<Real>& mine = own[worker];
                      const matrix<const Real> x = x_rows.block_rows(b, mine.x);
                      const matrix<Real> logits{mine.logits, b.rows(), 2 * d, 2 * d}, s{mine.s, b.rows(), d, d};
                      pass.run(b, x, logits, s, mine.scan_memory);
                      const matrix<Real> y = y_rows.block_rows(b, mine.y);
                      copy_plus(x, b_R, y);
                      add_product(s, transpose_of(W_R), y);
                      y_rows.finish(b, mine.y);
                    }));
  pass.state.copy_last(all.blocks_of_group(), 0, out.s_n);
  if (!out.s_n_low.absent()) pass.state.copy_last(all.blocks_of_group(), 1, out.s_n_low);
}

template void embed_position(const execution&, const embed_inputs<float>&, const embed_outputs<float>&);
template void embed_position(const execution&, const embed_inputs<double>&, const embed_outputs<double>&);

}  // namespace assay::optimized::heinsen
