// Gates of tokens, which are logarithms of the factors of a state or a sum: the ranges in which programs differ.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "properties/kinds/attention.hpp"
#include "reference/core/special_values.hpp"

namespace assay::properties::token_gates {

/// Draws a gate g <= 0 for a token at a place among `tokens`.
using gate_source = double (*)(core::counter_random& random, std::size_t place, std::size_t tokens);

inline double usual(core::counter_random& random, std::size_t, std::size_t) {
  return -std::log1p(std::exp(random.normal()));
}
inline double slow(core::counter_random& random, std::size_t, std::size_t) {
  return -std::exp2(-random.uniform(5, 14));
}
inline double none(core::counter_random&, std::size_t, std::size_t) { return 0.0; }
inline double fast(core::counter_random& random, std::size_t, std::size_t) { return -random.uniform(3, 30); }
/// Long memory behind gates whose sum is large: the decay between two tokens is a difference of large sums.
inline double slow_behind_fast(core::counter_random& random, std::size_t place, std::size_t tokens) {
  return place <= tokens / 4 ? -random.uniform(40, 80) : -std::exp2(-random.uniform(6, 12));
}
inline double now_and_then(core::counter_random& random, std::size_t place, std::size_t tokens) {
  return random.one_in(5) ? -1000.0 : slow(random, place, tokens);
}

/// Draws the gates g [B, n, ...] of a call, if it has gates.
inline void draw(drawn_inputs& in, gate_source gate, core::counter_random& random) {
  std::vector<double>* g = numbers_of(in, "g");
  if (g == nullptr) return;
  const std::size_t n = in.sizes.at("n"), row = g->size() / std::max<std::size_t>(1, in.sizes.at("B") * n);
  for (std::size_t k = 0; k < g->size(); ++k) (*g)[k] = gate(random, k / row % n, n);
}

/// Sets some keys and values of the first token to NaN: chunked programs carry it to all tokens of the chunk.
inline void nan_in_first_token(drawn_inputs& in, const core::operation&, core::dtype, core::counter_random& random) {
  for (const char* name : {"k", "v"}) {
    std::vector<double>& x = in.numbers.at(name);
    const std::size_t n = in.sizes.at("n"), row = x.size() / std::max<std::size_t>(1, in.sizes.at("B") * n);
    for (std::size_t k = 0; k < x.size(); ++k)
      if (k / row % n == 0 && random.one_in(5)) x[k] = std::nan("");
  }
}
/// Whether some token after the first writes a NaN: products of a chunk carry it to earlier tokens. A NaN in a query
/// stays in its row.
inline bool has_nan_behind_first_token(const request& call) {
  for (const auto& [name, t] : call.inputs) {
    const auto axis = core::axis_of(*call.operation->input(name), "n");
    if (!axis || name == "q" || name == "level_scales") continue;
    const std::size_t n = t.shape()[*axis], row = core::stride_of(t.shape(), *axis);
    for (std::size_t k = 0; k < t.size(); ++k)
      if (k / row % n != 0 && std::isnan(t.values.storage()[k])) return true;
  }
  return false;
}

/// Values, and a state if there is one, far above 1: products of three rows are finite in the format, and so are the
/// gradients of code that multiplies masked pairs by 0.
inline void large_numbers(drawn_inputs& in, const core::operation&, core::dtype type, core::counter_random& random) {
  const double most = std::min(std::log2(core::largest_finite(type)) / 4, 30.0);
  for (const char* name : {"v", "s0"})
    if (std::vector<double>* all = numbers_of(in, name))
      for (double& x : *all) x *= std::exp2(random.uniform(most - 4, most));
}

}  // namespace assay::properties::token_gates
