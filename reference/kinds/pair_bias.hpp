// The kind of encodings that add a bias to the logit of query i and key j: B_hij = f_h(i, j; parameters).
//
// Shapes: query_position [n] and key_position [m], i64, exact, without gradient;
// parameters as declared; bias [h, n, m], or [B, h, n, m] where it depends on the scores. A pair that is hidden has the
// bias -inf, a constant: its cotangent belongs to nothing. NaN reaches the elements that it enters.
//
// An operation of this kind is a class template over the reading R,
//   struct pairs { using recipe = ...;                      the steps that variants replace
//     pairs(const arguments<R>&, const recipe&);            what all pairs share: parameters, settings
//     std::vector<std::size_t> lanes() const;               the axes of the bias before n and m
//     std::optional<double> distance(double query, double key) const;   nothing where the pair is hidden
//     void operator()(const key_of_query& at, R* bias) const; }        the formula, for every lane: it may mix heads
// Loops, declarations and the gradient are the kind's. The gradient is derived pair by pair: it holds the graph of one
// pair at a time, however many there are.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reference/derived_vjp.hpp"
#include "reference/kinds/pair_declarations.hpp"
#include "reference/oracle.hpp"

namespace assay::reference {

/// Key j of query i, which stand at these positions.
struct key_of_query {
  std::size_t i, j;
  double query, key;
  double distance;  ///< exact, as the operation counts it
};

/// Where queries and keys stand.
struct places_of_tokens {
  std::vector<double> queries, keys;

  template <class R>
  explicit places_of_tokens(const arguments<R>& call) {
    for (auto [places, name] : {std::pair(&queries, "query_position"), std::pair(&keys, "key_position")})
      places->assign(call.integers.at(name).values.begin(), call.integers.at(name).values.end());
  }
  [[nodiscard]] std::size_t pairs() const { return queries.size() * keys.size(); }
};

/// Calls visit(pair, index of its first lane in the output, from lane to lane) for every pair that is not hidden.
template <class Pairs, class Visit>
void each_pair(const places_of_tokens& at, const Pairs& formula, Visit visit) {
  for (std::size_t i = 0; i < at.queries.size(); ++i)
    for (std::size_t j = 0; j < at.keys.size(); ++j)
      if (const auto distance = formula.distance(at.queries[i], at.keys[j]))
        visit(key_of_query{i, j, at.queries[i], at.keys[j], *distance}, i * at.keys.size() + j);
}

template <template <class> class Pairs, class R>
fields<R> pair_bias(const arguments<R>& call, const typename Pairs<R>::recipe& how) {
  const Pairs<R> formula(call, how);
  core::shape shape = formula.lanes();
  std::size_t lanes = 1;
  for (const std::size_t size : shape) lanes *= size;
  const places_of_tokens places(call);
  shape.insert(shape.end(), {places.queries.size(), places.keys.size()});
  field<R> bias = make_field<R>(shape);
  for (R& x : bias.storage()) x = R(-std::numeric_limits<double>::infinity());
  std::vector<R> of_pair(lanes);
  each_pair(places, formula, [&](const key_of_query& at, std::size_t first) {
    formula(at, of_pair.data());
    for (std::size_t lane = 0; lane < lanes; ++lane)
      bias.storage()[lane * places.pairs() + first] = std::move(of_pair[lane]);
  });
  const core::operation& op = *find_operation(core::operation_name(call.operation).forward);
  return {{op.outputs.front().name, std::move(bias)}};
}

/// See derived_vjp.hpp.
template <template <class> class Pairs, class R>
fields<R> pair_bias_vjp(const arguments<R>& call, const typename Pairs<R>::recipe& how) {
  if constexpr (carries_derivatives<R>) {
    throw core::contract_violation("no second derivative of " + call.operation);
  } else {
    const core::operation& op = *find_operation(core::operation_name(call.operation).forward);
    const field<R>& cotangents = call.inputs.at("grad_" + op.outputs.front().name);
    tape<R> graph;
    const lifted_inputs<R> lifted(call, op);
    const auto variables = graph.last();
    using number = adjoint<R>;
    using steps = typename Pairs<number>::recipe;
    const steps standard = how.of_gradient ? steps(*how.of_gradient) : steps{};
    const Pairs<number> formula(lifted.in, standard);
    const auto shared = graph.last();
    const places_of_tokens places(call);
    std::vector<number> of_pair(places.pairs() == 0 ? 0 : cotangents.size() / places.pairs());
    each_pair(places, formula, [&](const key_of_query& at, std::size_t first) {
      formula(at, of_pair.data());
      for (std::size_t lane = 0; lane < of_pair.size(); ++lane)
        graph.put(of_pair[lane].node, cotangent<R>(cotangents.storage()[lane * places.pairs() + first]));
      graph.sweep(shared);
    });
    graph.sweep(variables);
    return lifted.gradients();
  }
}

/// A pair as the formula of one head sees it.
template <class R>
struct head_of_pair {
  const arguments<R>& call;
  const key_of_query& at;
  std::size_t batch, head;

  /// The number of an input: of this head, or of this row, head, query and key.
  const R& operator[](const char* input) const {
    const field<R>& x = call[input];
    return x.dimension() == 1 ? x(head) : x(batch, head, at.i, at.j);
  }
};

/// Heads one by one: Formula::of(head_of_pair<R>, recipe<R>) is the bias of one. The first input has the axes of the
/// bias, [B, h, n, m], or [h] where it is [h, n, m]. Distances(settings).distance(query, key) counts the distance, if
/// not by the setting `future`.
template <class Encoding, class Formula, class R, class Distances = future_keys>
struct pairs_by_head : Distances {
  using recipe = typename Encoding::template recipe<R>;
  const arguments<R>& call;
  const recipe& how;
  std::vector<std::size_t> rows_and_heads;  ///< or heads alone

  pairs_by_head(const arguments<R>& c, const recipe& steps) : Distances(c.settings), call(c), how(steps) {
    const core::operation& op = *find_operation(core::operation_name(c.operation).forward);
    const core::tensor_declaration& first = op.inputs.front();
    const std::size_t before = first.axes.size() == 1 ? 1 : 2;  // [h], or [B, h, n, m]
    for (std::size_t k = 0; k < before; ++k) rows_and_heads.push_back(c[first.name.c_str()].shape(k));
  }
  [[nodiscard]] std::vector<std::size_t> lanes() const { return rows_and_heads; }
  void operator()(const key_of_query& at, R* bias) const {
    const std::size_t rows = rows_and_heads.size() == 1 ? 1 : rows_and_heads.front();
    for (std::size_t b = 0; b < rows; ++b)
      for (std::size_t h = 0; h < rows_and_heads.back(); ++h)
        *bias++ = Formula::template of<R>(head_of_pair<R>{call, at, b, h}, how);
  }
};

/// The record of an operation of this kind. Heads, queries and keys are independent of one another.
template <template <class> class Pairs, class R>
operation_record<R, typename Pairs<R>::recipe> pair_bias_record(core::operation declaration,
                                                                algorithm_list algorithms = one_algorithm) {
  using vjp = optional_evaluator<R, typename Pairs<R>::recipe, not_differentiable_t>;
  const vjp derived = declaration.has_gradient() ? vjp(pair_bias_vjp<Pairs, R>) : vjp(not_differentiable);
  return {.declaration = of_pairs(std::move(declaration)),
          .algorithms = std::move(algorithms),
          .forward = pair_bias<Pairs, R>,
          .vjp = derived,
          .jvp = not_offered};
}

}  // namespace assay::reference
