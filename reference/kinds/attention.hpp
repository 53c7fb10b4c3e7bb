// The kind of encodings that are part of the logits of attention: o_i = sum_j P_ij v_j with the weights P of the logits
// S_ij = scale q_i . k_j + b_ij (algorithms/attention.hpp).
//
// Shapes: q [B, h, n, d], k [B, h, m, d], v [B, h, m, e]; b [n, m] of each row and head; o [B, h, n, e]. Setting
// `scale` of q . k: "inverse_sqrt", 1 / sqrt(d) (Vaswani et al. 2017, eq. 1), or "one" (T5; Raffel et al. 2020,
// section 2.1). b_ij = -inf hides key j from query i. A NaN reaches every query that may see it; an infinite logit is
// none of the domain.
//
// An operation of this kind is a class template over the reading R,
//   struct heads { using recipe = ...;                      attention_steps<R> and steps of its own
//     heads(const arguments<R>&, const recipe&);            what all heads share: parameters, settings
//     std::vector<R> bias(std::size_t row, std::size_t head) const; }    the formula, [n, m]
// Loops, declarations and the gradient are the kind's. The bias may read q and k: it lies on the tape, so that what a
// pair adds to its logit (q_i . a_ij, a product with a position, a sum of gates of q . k) has its gradients as well.
// Where weights are no softmax, a query is made as a whole (query_rows.hpp). The gradient is
// derived head by head: the tape holds one bias at a time, however many there are.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "reference/algorithms/attention_gradient.hpp"
#include "reference/algorithms/settings.hpp"
#include "reference/derived_vjp.hpp"
#include "reference/kinds/attention_declarations.hpp"
#include "reference/operation_record.hpp"
#include "reference/oracle.hpp"

namespace assay::reference {

template <class R, class Stage>
R factor_in(Stage stage, const std::string& setting, std::size_t width) {
  const rational exponent = factor_exponent(setting, width);
  if (exponent.p == 0) return R(1.0);
  return in_stage<R>(stage, [&] { return power(R(static_cast<double>(width)), exponent); });
}

/// The factor of q . k for a setting `scale`.
template <class R>
R logit_scale(const std::string& setting, std::size_t width) {
  return factor_in<R>(attention_stage::scores, setting, width);
}

/// The heads of all rows of a call, one after the other.
template <class R>
class attention_heads {
 public:
  explicit attention_heads(const arguments<R>& call) : q_(call["q"]), first_{} {
    const field<R>& k = call["k"];
    first_.queries = q_.shape(2), first_.keys = k.shape(2), first_.width = q_.shape(3);
    first_.value_width = call.inputs.contains("v") ? call["v"].shape(3) : 0;
    first_.scale = logit_scale<R>(call.template setting<std::string>("scale"), first_.width);
    first_.q = q_.data(), first_.k = k.data(), first_.v = call.inputs.contains("v") ? call["v"].data() : nullptr;
  }

  [[nodiscard]] std::size_t heads() const { return q_.shape(1); }  ///< of a row
  [[nodiscard]] std::size_t count() const { return q_.shape(0) * heads(); }
  [[nodiscard]] attention_head<R> at(std::size_t number) const {
    attention_head<R> head = first_;
    head.q += number * head.queries * head.width;
    head.k += number * head.keys * head.width;
    head.v += number * head.keys * head.value_width;
    return head;
  }
  /// Where its output begins.
  [[nodiscard]] std::size_t output(std::size_t number) const { return number * first_.queries * first_.value_width; }

 private:
  const field<R>& q_;
  attention_head<R> first_;
};

/// scale q_i . k_j of query i and the first keys.
template <class R>
std::vector<R> scaled_products(const attention_head<R>& head, std::size_t i, std::size_t keys) {
  std::vector<R> logits;
  for (std::size_t j = 0; j < keys; ++j) {
    accumulator<R> product;
    for (std::size_t c = 0; c < head.width; ++c)
      product.add_product(head.q[i * head.width + c], head.k[j * head.width + c]);
    const auto scaled = [](const accumulator<R>& dot, const R& scale) { return scale * dot.total(); };
    logits.push_back(in_stage<R>(attention_stage::scores, scaled, product, head.scale));
  }
  return logits;
}

template <template <class> class Formula, class R>
fields<R> attention_output(const arguments<R>& call, const typename Formula<R>::recipe& how) {
  if constexpr (is_adjoint<R>) {
    throw core::contract_violation("the gradient of " + call.operation + " goes head by head");
  } else {
    const Formula<R> formula(call, how);
    const attention_heads<R> all(call);
    field<R> out = make_field<R>({call["q"].shape(0), call["q"].shape(1), call["q"].shape(2), call["v"].shape(3)});
    for (std::size_t i = 0; i < all.count(); ++i)
      attend(all.at(i), formula.bias(i / all.heads(), i % all.heads()).data(), out.data() + all.output(i), how);
    return {{"o", std::move(out)}};
  }
}

/// Puts the gradients of head i. `first`: the nodes of inputs.
template <class R>
void put_gradients(tape<R>& graph, const std::map<std::string, typename tape<R>::node>& first, std::size_t i,
                   const attention_gradients<R>& of) {
  const auto put = [&](const char* input, attention_stage stage, const std::vector<accumulator<R>>& sums) {
    for (std::size_t k = 0; k < sums.size(); ++k)
      graph.put_in(stage, first.at(input) + static_cast<unsigned>(i * sums.size() + k),
                   cotangent<R>(total_in(stage, sums[k])));
  };
  put("q", attention_stage::scores, of.q);
  put("k", attention_stage::scores, of.k);
  put("v", attention_stage::output, of.v);
}

/// See derived_vjp.hpp; the adjoint of a head is attend_vjp.
template <template <class> class Formula, class R>
fields<R> attention_output_vjp(const arguments<R>& call, const typename Formula<R>::recipe& how) {
  if constexpr (carries_derivatives<R>) {
    throw core::contract_violation("no second derivative of " + call.operation);
  } else {
    tape<R> graph;
    const lifted_inputs<R> lifted(call, *find_operation(core::operation_name(call.operation).forward));
    const auto variables = graph.last();
    using number = adjoint<R>;
    using recipe = typename Formula<number>::recipe;
    const recipe steps = how.of_gradient ? recipe(*how.of_gradient) : recipe{};
    const Formula<number> formula(lifted.in, steps);
    const auto shared = graph.last();
    const attention_heads<R> all(call);
    for (std::size_t i = all.count(); i-- > 0;) {
      const attention_head<R> head = all.at(i);
      const std::vector<number> bias = formula.bias(i / all.heads(), i % all.heads());
      std::vector<R> plain;
      for (const number& b : bias) plain.push_back(b.number);
      attention_gradients<R> of(head);
      attend_vjp<R>(head, plain.data(), call["grad_o"].data() + all.output(i), of, steps,
                    [&](std::size_t query, std::size_t key, const R& x) {
                      graph.put_in(attention_stage::scores, bias[query * head.keys + key].node, cotangent<R>(x));
                    });
      put_gradients<R>(graph, lifted.first, i, of);
      graph.sweep(shared);
    }
    graph.sweep(variables);
    return lifted.gradients();
  }
}

/// The record of an operation of this kind.
template <template <class> class Formula, class R>
operation_record<R, typename Formula<R>::recipe> attention_record(core::operation declaration,
                                                                  algorithm_list algorithms = one_algorithm) {
  return {.declaration = std::move(declaration),
          .algorithms = std::move(algorithms),
          .forward = attention_output<Formula, R>,
          .vjp = attention_output_vjp<Formula, R>,
          .jvp = not_offered};
}

}  // namespace assay::reference
