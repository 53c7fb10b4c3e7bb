// The adjoint that a tape derives, stage by stage, beside those that are written by hand: rotations, and attention as a
// composition of dot products, one block for the softmax, and more dot products. The derived allowance is that of the
// hand-written one, from a little less to twice as much; where it is more, or much less, the hand-written adjoint is a
// law of its own.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "reference/core/counter_random.hpp"
#include "reference/kinds/attention.hpp"
#include "reference/oracle.hpp"
#include "reference/readings/value.hpp"

using namespace assay;
using namespace assay::reference;
using core::dtype;

namespace {

core::request drawn(const char* name, dtype type, const core::axis_sizes& sizes, std::uint64_t seed) {
  const core::operation& op = *find_operation(name);
  core::counter_random random(seed);
  core::request c{&op, type, {}, core::completed(op, {})};
  for (const auto& d : op.inputs) {
    core::tensor t = core::zeros(d.type_in(type), core::shape_of(d, sizes));
    std::size_t i = 0;
    for (double& x : t.values.storage()) {
      x = d.own_type || d.name == "position" ? static_cast<double>(3 * i++) : core::round_to(type, random.normal());
      if (d.name == "theta") x = core::round_to(type, random.uniform(0.01, 1.0));
    }
    c.inputs.emplace(d.name, std::move(t));
  }
  return c;
}

// A softmax as a block of a tape. grad S_j = P_j (g_j - sum_l P_l g_l): that of the only key is 0, whatever its logit
// is.
template <class R>
std::vector<adjoint<R>> taped_softmax(const std::vector<adjoint<R>>& logits) {
  std::vector<R> plain;
  std::vector<typename tape<R>::node> from;
  for (const adjoint<R>& x : logits) plain.push_back(x.number), from.push_back(x.node);
  const std::vector<R> weights = softmax(plain);
  const auto first = tape<R>::current().add_block(weights.size(), [=](tape<R>& graph, std::span<const cotangent<R>> g) {
    std::vector<R> along;
    for (const cotangent<R>& x : g) along.push_back(x.number);
    std::vector<bool> hidden;
    for (const R& x : plain) hidden.push_back(is_minus_infinity(x));
    if constexpr (!computes_in_formats<R>) subtract_heaviest(along, weights, hidden);
    accumulator<R> sum;
    std::size_t keys = 0;
    for (std::size_t j = 0; j < weights.size(); ++j)
      if (!is_minus_infinity(plain[j])) sum.add_product(weights[j], along[j]), ++keys;
    const R mean = sum.total();
    for (std::size_t j = 0; j < weights.size(); ++j) {
      if (is_minus_infinity(plain[j])) continue;
      const R grad = weights[j] * (along[j] - mean);
      graph.put(from[j], cotangent<R>(keys == 1 ? vanishing(grad) : grad));
    }
  });
  std::vector<adjoint<R>> out;
  for (std::size_t j = 0; j < weights.size(); ++j) out.emplace_back(weights[j], first + static_cast<unsigned>(j));
  return out;
}

// Attention of which only the softmax is a block.
template <class R>
fields<R> composed_attention_vjp(const arguments<R>& call) {
  using A = adjoint<R>;
  using stage = attention_stage;
  tape<R> graph;
  const lifted_inputs<R> lifted(call, *find_operation("attention/output"));
  const auto variables = graph.last();
  const field<A>&q = lifted.in["q"], &k = lifted.in["k"], &v = lifted.in["v"], &bias = lifted.in["bias"];
  const std::size_t n = q.shape(2), m = k.shape(2), d = q.shape(3), e = v.shape(3);
  const A scale = logit_scale<A>("inverse_sqrt", d);
  for (std::size_t b = 0; b < q.shape(0); ++b)
    for (std::size_t h = 0; h < q.shape(1); ++h)
      for (std::size_t i = 0; i < n; ++i) {
        std::vector<A> logits;
        for (std::size_t j = 0; j < m; ++j) {
          accumulator<A> product;
          for (std::size_t c = 0; c < d; ++c) product.add_product(q(b, h, i, c), k(b, h, j, c));
          logits.push_back(in_stage<A>(
              stage::scores, [](const accumulator<A>& dot, const A& s, const A& x) { return s * dot.total() + x; },
              product, scale, bias(h, i, j)));
        }
        const std::vector<A> weights =
            taken_by(stage::output, stage::softmax, in_stage<A>(stage::softmax, taped_softmax<R>, logits));
        for (std::size_t c = 0; c < e; ++c) {
          accumulator<A> sum;
          for (std::size_t j = 0; j < m; ++j) sum.add_product(weights[j], v(b, h, j, c));
          graph.put(total_in(stage::output, sum).node, cotangent<R>(call["grad_o"](b, h, i, c)));
        }
      }
  graph.sweep(variables);
  return lifted.gradients();
}

template <class R>
struct steps_of_heads : attention_steps<R>, differentiable_recipe<steps_of_heads, R> {};
template <class R>
struct given_bias {
  using recipe = steps_of_heads<R>;
  const field<R>& given;
  given_bias(const arguments<R>& call, const recipe&) : given(call["bias"]) {}
  [[nodiscard]] std::vector<R> bias(std::size_t, std::size_t head) const {
    const std::size_t pairs = given.shape(1) * given.shape(2);
    return {given.data() + head * pairs, given.data() + (head + 1) * pairs};
  }
};
// A bias that reads q and k: with b_ij = q_i . k_j and the scale 1 the logits are those of 2 q.
template <class R>
struct product_as_bias {
  using recipe = steps_of_heads<R>;
  const field<R>&q, &k;
  product_as_bias(const arguments<R>& call, const recipe&) : q(call["q"]), k(call["k"]) {}
  [[nodiscard]] std::vector<R> bias(std::size_t row, std::size_t head) const {
    std::vector<R> all;
    for (std::size_t i = 0; i < q.shape(2); ++i)
      for (std::size_t j = 0; j < k.shape(2); ++j) {
        accumulator<R> product;
        for (std::size_t c = 0; c < q.shape(3); ++c) product.add_product(q(row, head, i, c), k(row, head, j, c));
        all.push_back(product.total());
      }
    return all;
  }
};

// All assignments of two formats to the stages, but for sums in less than what is added up.
std::vector<core::precisions> assignments(const core::operation& op, dtype narrow) {
  std::vector<core::precisions> all{narrow, dtype::f32};
  for (std::size_t bits = 1; bits + 1 < (std::size_t{1} << op.stages.size()); ++bits) {
    std::vector<dtype> formats;
    for (std::size_t s = 0; s < op.stages.size(); ++s) formats.push_back((bits >> s) % 2 != 0 ? narrow : dtype::f32);
    core::precisions assigned(op.stages, formats);
    if (assigned.sums().value_or(dtype::f32) == dtype::f32) all.push_back(assigned);
  }
  return all;
}

struct comparison_of_adjoints {
  std::vector<double> ratios{};  ///< of the derived allowance to the other one
  double worst_value = 0;        ///< of the truth at 100 digits
  double worst_rounded = 0;      ///< difference of the two in plain arithmetic, in both their allowances
  void add(double derived, double by_hand) {
    if (by_hand > 0 && std::isfinite(by_hand)) ratios.push_back(derived / by_hand);
  }
  [[nodiscard]] double at(double share) {
    std::sort(ratios.begin(), ratios.end());
    return ratios[std::min(ratios.size() - 1, static_cast<std::size_t>(share * static_cast<double>(ratios.size())))];
  }
};

template <class Derived, class ByHand>
void compare(const core::request& call, const core::precisions& formats, Derived derived, ByHand by_hand,
             comparison_of_adjoints& out) {
  const computing_in scope(formats);
  const auto d = derived(lift<tracked>(call)), h = by_hand(lift<tracked>(call));
  const auto inputs = [&] {  // numbers of storage, whatever the stages are
    const computing_in storage(call.type);
    return lift<rounded>(call);
  }();
  const auto in_d = derived(inputs), in_h = by_hand(inputs);
  const double u = arithmetic().u;
  for (const auto& [name, all] : h)
    for (std::size_t i = 0; i < all.size(); ++i) {
      const double one = d.at(name).storage()[i].error, other = all.storage()[i].error;
      out.add(one, other);
      const double apart = std::fabs(in_d.at(name).storage()[i].number - in_h.at(name).storage()[i].number);
      if (apart > 0) out.worst_rounded = std::max(out.worst_rounded, apart / (u * (one + other)));
    }
}
template <class Derived, class ByHand>
double apart_at_100_digits(const core::request& call, Derived derived, ByHand by_hand) {
  double worst = 0;
  const auto d = derived(lift<value>(call)), h = by_hand(lift<value>(call));
  for (const auto& [name, all] : h)
    for (std::size_t i = 0; i < all.size(); ++i)
      worst = std::max(worst, std::fabs((d.at(name).storage()[i] - all.storage()[i]).to_double()));
  return worst;
}

}  // namespace

TEST_CASE("reference/derived_adjoint/attention_composed_of_steps", "[property]") {
  const auto derived = [](const auto& in) { return composed_attention_vjp(in); };
  const auto by_hand = [](const auto& in) {
    using R = std::decay_t<decltype(in["q"](0))>;
    return attention_output_vjp<given_bias, R>(in, {});
  };
  for (const dtype narrow : {dtype::f32, dtype::f16, dtype::bf16})
    for (const core::precisions& formats : assignments(*find_operation("attention/output"), narrow)) {
      comparison_of_adjoints s;
      for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        const core::request call =
            drawn("attention/output:vjp", narrow, {{"B", 1}, {"h", 1}, {"n", 6}, {"m", 9}, {"d", 5}, {"e", 4}}, seed);
        compare(call, formats, derived, by_hand, s);
        CHECK(apart_at_100_digits(call, derived, by_hand) < 1e-90);
      }
      WARN(core::name_of(narrow) << " " << core::to_string(formats, find_operation("attention/output")->stages) << ": "
                                 << s.at(0) << " " << s.at(0.05) << " " << s.at(0.5) << " " << s.at(0.95) << " "
                                 << s.at(1) << ", rounded " << s.worst_rounded);
      // The one written by hand grants the mean of the gradient by the stored output as well (mean_along).
      CHECK(s.at(0.5) >= 0.4);
      CHECK(s.at(0.95) <= 2.0);
      CHECK(s.worst_rounded <= 1.0);
    }
}

TEST_CASE("reference/derived_adjoint/a_bias_may_read_queries_and_keys", "[unit]") {
  core::request call =
      drawn("attention/output:vjp", dtype::f64, {{"B", 2}, {"h", 2}, {"n", 3}, {"m", 4}, {"d", 2}, {"e", 3}}, 1);
  call.attributes["scale"] = std::string("one");
  call.inputs.at("bias").values.fill(0.0);
  const fields<value> by_bias = attention_output_vjp<product_as_bias, value>(lift<value>(call), {});
  call.inputs.at("q").values *= 2.0;
  const fields<value> doubled = attention_output_vjp<given_bias, value>(lift<value>(call), {});
  for (const char* gradient : {"grad_q", "grad_k", "grad_v"})
    for (std::size_t i = 0; i < by_bias.at(gradient).size(); ++i) {
      const value y = doubled.at(gradient).storage()[i], expected = gradient == std::string("grad_q") ? y + y : y;
      CHECK(std::fabs((by_bias.at(gradient).storage()[i] - expected).to_double()) < 1e-90);
    }
}
