// Attention made query by query (query_rows.hpp) from logits that a formula makes as a whole, and from values that may
// be those of a pair: o_i = sum_j P_ij y_ij with P the softmax of a row of logits. The logits may be made of vectors
// that are no input: queries times a parameter, sums with rows of a table. A logit of -inf hides its key.
//
// The softmax and its sums are one block of a tape, which has the adjoint of a head (algorithms/attention.hpp).
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "reference/kinds/attention.hpp"
#include "reference/kinds/query_rows.hpp"

namespace assay::reference {

/// A head of one query and no features, whose bias is the logits; `values` [m, e].
template <class R>
struct head_of_logits {
  attention_head<R> head{};
  attention_steps<R> steps;
  head_of_logits(std::size_t keys, const std::vector<R>& values, const attention_steps<R>& how) : steps(how) {
    head.queries = 1, head.keys = keys, head.value_width = keys == 0 ? 0 : values.size() / keys;
    head.scale = R(1.0), head.v = values.data();
    steps.logit = [](const R&, const R& bias, const R&) { return bias; };
  }
};

/// What a query reads by m logits from each of some matrices of values [m, e]: their sum, [e].
template <class R>
std::vector<R> attended(const std::vector<R>& logits, const std::vector<std::vector<R>>& all_values, std::size_t width,
                        const attention_steps<R>& how) {
  const auto sum = [](const R& x, const R& y) { return x + y; };
  const std::size_t keys = logits.size();
  std::vector<R> out(width, R(0.0)), more(width);
  for (std::size_t part = 0; keys > 0 && part < all_values.size(); ++part) {
    const head_of_logits<R> of(keys, all_values[part], how);
    attend(of.head, logits.data(), part == 0 ? out.data() : more.data(), of.steps);
    for (std::size_t c = 0; part > 0 && c < width; ++c)
      out[c] = in_stage<R>(attention_stage::output, sum, out[c], more[c]);
  }
  return out;
}

/// The same as a block of a tape, with the adjoints of heads.
template <class R>
std::vector<adjoint<R>> attended(const std::vector<adjoint<R>>& logits,
                                 const std::vector<std::vector<adjoint<R>>>& all_values, std::size_t width,
                                 const attention_steps<adjoint<R>>& how) {
  using node = typename tape<R>::node;
  struct matrix {
    std::vector<R> numbers{};
    std::vector<node> nodes{};
    explicit matrix(const std::vector<adjoint<R>>& all) {
      numbers.reserve(all.size()), nodes.reserve(all.size());
      for (const adjoint<R>& x : all) numbers.push_back(x.number), nodes.push_back(x.node);
    }
  };
  std::vector<adjoint<R>> out(width);
  if (logits.empty()) return out;
  auto pull = [&how, bias = matrix(logits), values = std::vector<matrix>(all_values.begin(), all_values.end())](
                  tape<R>& graph, std::span<const cotangent<R>> g) {
    std::vector<R> grad_out;
    for (const cotangent<R>& x : g) grad_out.push_back(x.number);
    for (const matrix& part : values) {
      const head_of_logits<R> of(bias.nodes.size(), part.numbers, how);
      attention_gradients<R> sums(of.head);
      attend_vjp<R>(of.head, bias.numbers.data(), grad_out.data(), sums, of.steps,
                    [&](std::size_t, std::size_t key, const R& x) {
                      graph.put_in(attention_stage::scores, bias.nodes[key], cotangent<R>(x));
                    });
      for (std::size_t k = 0; k < sums.v.size(); ++k)
        graph.put_in(attention_stage::output, part.nodes[k],
                     cotangent<R>(total_in(attention_stage::output, sums.v[k])));
    }
  };
  // What a query reads is not asked for: it is linear in the values, and the block makes its weights itself.
  const node first = tape<R>::current().add_block(width, std::move(pull));
  for (std::size_t c = 0; c < width; ++c) out[c].node = first + static_cast<node>(c);
  return out;
}

}  // namespace assay::reference
