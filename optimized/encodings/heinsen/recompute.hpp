// Adjoints of scans without saved states.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include "optimized/encodings/heinsen.hpp"
#include "optimized/workspace.hpp"

namespace assay::optimized::heinsen {

/// The number of tokens between two kept states. At about sqrt(2n), the array of kept states and the array of states
/// between two of them are smallest together. The number is never so small that the scan itself becomes slow.
inline std::size_t tokens_between_checkpoints(std::size_t tokens) {
  const auto balanced = static_cast<std::size_t>(std::sqrt(2.0 * static_cast<double>(tokens)));
  return std::max<std::size_t>(4096, (balanced + 63) / 64 * 64);
}

/// A first pass keeps both words of the state before every chunk of tokens. Then it takes the chunks from the last to
/// the first: it computes the states of a chunk again from the kept state, and adjoint(on, in, cotangents, out) goes
/// back through them. The adjoint starts from both words that the chunk after it left.
template <class Real, class Forward, class Adjoint>
void recompute(const execution& on, const scan_inputs<Real>& in, const scan_cotangents<Real>& cotangents,
               const scan_gradients<Real>& out, Forward forward, Adjoint adjoint) {
  const auto [batch, tokens, features] = out.grad_h.shape;
  const std::size_t length = tokens_between_checkpoints(tokens), states = batch * features;
  const std::size_t chunks = std::max<std::size_t>(1, (tokens + length - 1) / length);
  const std::size_t most = std::min(length, tokens), bytes = 3 * states * sizeof(Real) + 64;
  scoped_arrays memory(on.workspace);
  Real* const kept = memory.take<Real>(2 * chunks * states);
  Real* const carried = memory.take<Real>(4 * states);
  Real* const s = memory.take<Real>(batch * most * features);
  const execution inner{on.kernels, on.threads, {memory.take<std::byte>(bytes), bytes}};

  const auto word = [&, batch = batch, features = features](Real* words, std::size_t k) {
    return dense<Real, 2>(words + k * states, {batch, features});
  };
  const auto part_of_chunk = [&, tokens = tokens]<class T>(view<T, 3> v, std::size_t chunk) {
    v.data += static_cast<std::ptrdiff_t>(chunk * length) * v.stride[1];
    v.shape[1] = std::min(length, tokens - chunk * length);
    return v;
  };
  const auto states_of = [&, features = features, batch = batch](std::size_t count) {
    return dense<Real, 3>(s, {batch, count, features});
  };
  // Runs the chunk from the state that was kept before it.
  const auto run = [&](std::size_t chunk, Real* after) {
    scan_inputs<Real> part{part_of_chunk(in.decay, chunk), part_of_chunk(in.h, chunk), in.s0, in.s0_low};
    if (chunk > 0) part.s0 = word(kept, 2 * chunk), part.s0_low = word(kept, 2 * chunk + 1);
    forward(inner, part, scan_outputs<Real>{states_of(part.h.shape[1]), word(after, 0), word(after, 1)});
    return part;
  };
  for (std::size_t chunk = 0; chunk + 1 < chunks; ++chunk) run(chunk, kept + 2 * (chunk + 1) * states);

  view<const Real, 2> grad_after = cotangents.grad_s_n, grad_after_low = cotangents.grad_s_n_low;
  for (std::size_t chunk = chunks; chunk-- > 0;) {
    Real* const given_back = carried + 2 * (chunk % 2) * states;
    const scan_inputs<Real> part = run(chunk, given_back);
    const bool first = chunk == 0;
    adjoint(
        inner, part,
        scan_cotangents<Real>{states_of(part.h.shape[1]), part_of_chunk(cotangents.grad_s, chunk), grad_after,
                              grad_after_low},
        scan_gradients<Real>{part_of_chunk(out.grad_decay, chunk), part_of_chunk(out.grad_h, chunk),
                             first ? out.grad_s0 : word(given_back, 0), first ? out.grad_s0_low : word(given_back, 1)});
    grad_after = word(given_back, 0), grad_after_low = word(given_back, 1);
  }
}

}  // namespace assay::optimized::heinsen
