// Scores of queries and keys that are rotated (rotation.hpp): s_ij = factor (R_i q_i) . (R_j k_j).
//
// Shapes: q [B, n, h u, d], k [B, m, h, d] -> s [B, h u, n, m]; positions of queries and of keys. Settings: `scale`,
// 1 / sqrt(d) (Vaswani et al. 2017, eq. 1) or 1; `logit_factor`, which multiplies it; `group`, u: so many heads of
// queries, one behind the other, have a head of keys together (Ainslie et al. 2023, arXiv 2305.13245).
//
// A rotation that is known up to its difference from another one says all: published code turns both, and an error of
// an angle grows with its position, not with the distance. NaN in a query or a key reaches all of its scores.
//
// Gradients: of q_i it is R_i^T sum_j g_ij R_j k_j, likewise of k_j, which adds up all heads of its group. They are
// derived query by query: the graph holds the keys of one head, and the scores of one query. Rotations hold no
// variable.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "reference/kinds/rotation.hpp"

namespace assay::reference {

/// What multiplies every score.
template <class R>
R score_factor(const arguments<R>& call, std::size_t width) {
  const bool one = core::chosen<bool>(call.settings, "scale", {{"inverse_sqrt", false}, {"one", true}});
  const auto factor = call.template setting<double>("logit_factor");
  return in_stage<R>(rotary_stage::angle, [&] {
    const R scale = one || width == 0 ? R(1.0) : power(R(static_cast<double>(width)), ratio(-1, 2));
    return factor == 1.0 ? scale : scale * from_setting<R>(factor);
  });
}

/// Queries, or keys, of a call as they are turned.
template <class Turns, class R>
class turned_side {
 public:
  turned_side(const arguments<R>& call, const typename Turns::recipe& how, const turned_vectors& of)
      : x_(call[of.x]), how_(how), formula_(call, how, of) {}

  [[nodiscard]] std::size_t tokens() const { return x_.shape(1); }
  /// Finds the rotations of a row.
  void begin(std::size_t row) {
    first_ = row * tokens();
    by_.clear();
    for (std::size_t i = 0; i < tokens(); ++i) by_.push_back(formula_.rotations(first_ + i));
  }
  /// Adds the turned vector of a token of that row.
  void add_to(std::vector<R>& all, std::size_t token, std::size_t head) const {
    const std::size_t heads = x_.shape(2), features = x_.shape(3), at = all.size();
    const R* x = x_.data() + ((first_ + token) * heads + head) * features;
    all.insert(all.end(), x, x + features);
    turn(formula_, how_, by_[token], all.data() + at);
  }

 private:
  const field<R>& x_;
  const typename Turns::recipe& how_;
  Turns formula_;
  std::size_t first_ = 0;
  std::vector<std::vector<rotation<R>>> by_{};
};

/// Calls begin_head() when a head of keys of a row is turned, and score(index in s, number) for its scores with the
/// heads of its group, query by query, with end_query() after each and end_head() after all.
template <template <class> class Turns, class R, class Visit>
void each_score(const arguments<R>& call, const typename Turns<R>::recipe& how, Visit& visit) {
  const field<R>& q = call["q"];
  const std::size_t heads = q.shape(2), features = q.shape(3);
  const R factor = score_factor(call, features);
  turned_side<Turns<R>, R> queries(call, how, {"q", "query_position"}), keys(call, how, {"k", "key_position", true});
  const std::size_t n = queries.tokens(), m = keys.tokens(), key_heads = call["k"].shape(2);
  visit.begin();
  for (std::size_t row = 0; n * m * heads > 0 && row < q.shape(0); ++row) {
    queries.begin(row);
    keys.begin(row);
    for (std::size_t key_head = 0; key_head < key_heads; ++key_head) {
      const std::size_t group = heads / key_heads;
      std::vector<R> turned;
      for (std::size_t j = 0; j < m; ++j) keys.add_to(turned, j, key_head);
      visit.begin_head();
      for (std::size_t of_group = 0; of_group < group * n; ++of_group) {
        const std::size_t head = key_head * group + of_group / n, i = of_group % n;
        std::vector<R> query;
        queries.add_to(query, i, head);
        for (std::size_t j = 0; j < m; ++j) {
          accumulator<R> dot;
          for (std::size_t c = 0; c < features; ++c) dot.add_product(query[c], turned[j * features + c]);
          visit.score(((row * heads + head) * n + i) * m + j,
                      in_stage<R>(
                          rotary_stage::scores, [](const accumulator<R>& sum, const R& by) { return by * sum.total(); },
                          dot, factor));
        }
        visit.end_query();
      }
      visit.end_head();
    }
  }
}

template <template <class> class Turns, class R>
fields<R> rotary_scores(const arguments<R>& call, const typename Turns<R>::recipe& how) {
  struct {
    field<R> s;
    void begin() {}
    void begin_head() {}
    void score(std::size_t k, R x) { s.storage()[k] = std::move(x); }
    void end_query() {}
    void end_head() {}
  } all{make_field<R>({call["q"].shape(0), call["q"].shape(2), call["q"].shape(1), call["k"].shape(1)})};
  each_score<Turns>(call, how, all);
  return {{"s", std::move(all.s)}};
}

/// See derived_vjp.hpp.
template <template <class> class Turns, class R>
fields<R> rotary_scores_vjp(const arguments<R>& call, const typename Turns<R>::recipe& how) {
  if constexpr (carries_derivatives<R>) {
    throw core::contract_violation("no second derivative of " + call.operation);
  } else {
    using number = adjoint<R>;
    using steps = typename Turns<number>::recipe;
    struct {
      const field<R>& cotangents;
      tape<R> graph{};
      typename tape<R>::node shared = 0, keys = 0;
      void begin() { shared = graph.last(); }
      void begin_head() { keys = graph.last(); }
      void score(std::size_t k, const number& x) { graph.put(x.node, cotangent<R>(cotangents.storage()[k])); }
      void end_query() { graph.sweep(keys); }
      void end_head() { graph.sweep(shared); }
    } all{call["grad_s"]};
    const lifted_inputs<R> lifted(call, *find_operation(core::operation_name(call.operation).forward));
    const auto variables = all.graph.last();
    const steps of_gradient = how.of_gradient ? steps(*how.of_gradient) : steps{};
    each_score<Turns>(lifted.in, of_gradient, all);
    all.graph.sweep(variables);
    return lifted.gradients();
  }
}

/// The declaration of such an operation, which puts q and k before the inputs and rotary_stages() before the stages,
/// and has the output and the settings of scores f16 and bf16: as eager attention of huggingface/transformers has it,
/// products of the dtype of the tensors that are added up in f32, cast, and scaled.
inline core::operation scores_declaration(core::operation declaration) {
  core::tensor_declaration k = vectors_by_head("k", "keys");
  k.axes[1] = "m";
  core::tensor_declaration q = vectors_by_head("q", "queries");
  q.axes[2] = "h*u";
  declaration.inputs.insert(declaration.inputs.begin(), {std::move(q), std::move(k)});
  declaration.outputs = {{.name = "s",
                          .axes = {"B", "h*u", "n", "m"},
                          .meaning = "scores, queries by keys",
                          .scale = core::error_scale::by_row}};
  declaration.attributes.insert(
      declaration.attributes.end(),
      {choice("scale", {"inverse_sqrt", "one"}, "of a score: 1 / sqrt(d), or 1"),
       real("logit_factor", {1.0, 1.8132604341559297}, {0x1p-20, 0x1p20}, "multiplies all scores"),
       integer("group", {1, 2, 3}, {1.0, 0x1p20}, "heads of q to a head of k", "u")});
  declaration.axis_roles = {{"u", core::axis_role::parameter}};
  declaration.stages = rotary_stages();
  declaration.stages.push_back({.name = "scores", .meaning = "products of q and k, and their scale", .narrow = true});
  declaration.stages.push_back({.name = std::string(core::accumulation), .meaning = "the sums of those products"});
  declaration.grows_with = core::with_position;
  declaration.independent = {"B"};
  return declaration;
}
/// Of such a declaration.
template <template <class> class Turns, class R>
operation_record<R, typename Turns<R>::recipe> scores_record(core::operation declaration) {
  return {.declaration = std::move(declaration),
          .algorithms = one_algorithm,
          .forward = rotary_scores<Turns, R>,
          .vjp = rotary_scores_vjp<Turns, R>,
          .jvp = not_offered};
}

}  // namespace assay::reference
