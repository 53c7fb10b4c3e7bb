// The hand-written adjoint, checked in three ways at 100 digits: by tangents, the dot-product identity and finite
// differences. The tests also replace H and R by a two-layer map, which must not matter to the adjoint.
#include "reference/algorithms/adjoint.hpp"

#include <catch2/catch.hpp>

#include "reference/core/counter_random.hpp"
#include "reference/encodings/heinsen.hpp"
#include "reference/oracle.hpp"
#include "reference/readings/tangent.hpp"
#include "reference/readings/value.hpp"

using namespace assay;
using namespace assay::reference;

namespace {

fields<value> random_fields(const core::operation& op, const core::axis_sizes& sizes, std::uint64_t seed) {
  core::counter_random random(seed);
  fields<value> out;
  for (const auto& d : op.inputs) {
    field<value> f = make_field<value>(core::shape_of(d, sizes));
    for (value& x : f.storage()) x = value(d.name == "log_p" ? -random.uniform(0.01, 3) : random.normal());
    out.emplace(d.name, std::move(f));
  }
  return out;
}

value dot(const field<value>& x, const field<value>& y) {
  value sum(0.0);
  for (std::size_t i = 0; i < x.size(); ++i) sum = sum + x.storage()[i] * y.storage()[i];
  return sum;
}

double distance(const value& x, const value& y) {
  const double d = (x - y).to_double();
  return d < 0 ? -d : d;
}

// <J v, g> by dual numbers; v is a direction in all inputs, g a cotangent of all outputs.
value along(const std::string& op, const fields<value>& in, const fields<value>& direction,
            const fields<value>& out_bar) {
  fields<tangent> dual;
  for (const auto& [name, f] : in) {
    field<tangent> t = field<tangent>::from_shape(f.shape());
    for (std::size_t i = 0; i < f.size(); ++i)
      t.storage()[i] = tangent(f.storage()[i], direction.at(name).storage()[i]);
    dual.emplace(name, std::move(t));
  }
  value sum(0.0);
  for (const auto& [name, f] : evaluate<encodings::heinsen, tangent>({op, dual}, {}))
    for (std::size_t i = 0; i < f.size(); ++i)
      sum = sum + f.storage()[i].derivative * out_bar.at("grad_" + name).storage()[i];
  return sum;
}

fields<value> moved(const fields<value>& in, const fields<value>& direction, const value& step) {
  fields<value> out = in;
  for (auto& [name, f] : out)
    for (std::size_t i = 0; i < f.size(); ++i) f.storage()[i] = f.storage()[i] + step * direction.at(name).storage()[i];
  return out;
}

value paired(const fields<value>& out, const fields<value>& out_bar) {
  value sum(0.0);
  for (const auto& [name, f] : out) sum = sum + dot(f, out_bar.at("grad_" + name));
  return sum;
}

}  // namespace

TEST_CASE("heinsen/adjoint/tangents_dot_product_and_finite_differences", "[property][heinsen]") {
  for (const std::string name : {"heinsen/scan", "heinsen/gated_scan", "heinsen/embed_position"})
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      const core::operation& op = *find_operation(name);
      const core::axis_sizes sizes{{"B", 2}, {"n", seed == 1 ? 0u : 5u}, {"d", 3}, {"e", 4}};
      const fields<value> in = random_fields(op, sizes, seed), direction = random_fields(op, sizes, seed + 100);
      core::operation cotangents;
      for (const auto& d : op.outputs) cotangents.inputs.push_back({.name = "grad_" + d.name, .axes = d.axes});
      const fields<value> out_bar = random_fields(cotangents, sizes, seed + 200);
      fields<value> all = in;
      all.insert(out_bar.begin(), out_bar.end());

      // <v, J^T g>
      value pulled(0.0);
      for (const auto& [grad, f] : evaluate<encodings::heinsen, value>({name + ":vjp", all}, {}))
        pulled = pulled + dot(f, direction.at(grad.substr(5)));

      const value pushed = along(name, in, direction, out_bar);
      CHECK(distance(pulled, pushed) < 1e-90);

      // Central differences of fourth order at 335 bits: step 1e-18, so 1e-72 and 1e-100 / 1e-18 remain.
      const value step(1e-18);
      const auto loss_at = [&](double k) {
        return paired(evaluate<encodings::heinsen, value>({name, moved(in, direction, value(k) * step)}, {}), out_bar);
      };
      const value slope = (value(8.0) * (loss_at(1) - loss_at(-1)) - (loss_at(2) - loss_at(-2))) / (value(12.0) * step);
      CHECK(distance(pulled, slope) < 1e-65);
    }
}

TEST_CASE("heinsen/adjoint/forms_agree", "[property][heinsen]") {
  // The sigmoid, exp and cumsum-autograd forms are one function.
  const core::operation op = *find_operation("heinsen/scan:vjp");
  const fields<value> in = random_fields(op, {{"B", 1}, {"n", 9}, {"d", 2}}, 11);
  encodings::heinsen::scheme<value> by_exp;
  by_exp.adjoint = scan_adjoint<exp_form, value>;
  encodings::heinsen::scheme<value> by_cumsum;
  by_cumsum.scan = cumsum_scan<value>;
  by_cumsum.adjoint = cumsum_adjoint<value>;
  const auto expected = evaluate<encodings::heinsen, value>({op.name, in}, {});
  for (const auto& steps : {by_exp, by_cumsum}) {
    const auto other = evaluate<encodings::heinsen, value>({op.name, in}, steps);
    for (const auto& [name, f] : expected)
      for (std::size_t i = 0; i < f.size(); ++i) CHECK(distance(f.storage()[i], other.at(name).storage()[i]) < 1e-90);
  }
}

TEST_CASE("heinsen/adjoint/conservation", "[property][heinsen]") {
  // If h and s0 move together, every s moves with them: sum grad_h + grad_s0 = sum grad_s + grad_s_n. And for the
  // module: grad_b_h + sum over the batch of grad_s0 = W_R^T grad_b_R + sum of grad_s_n.
  const core::operation op = *find_operation("heinsen/embed_position:vjp");
  const std::size_t d = 3, e = 4;
  const fields<value> in = random_fields(op, {{"B", 2}, {"n", 6}, {"d", d}, {"e", e}}, 21);
  const auto grad = evaluate<encodings::heinsen, value>({op.name, in}, {});
  for (std::size_t j = 0; j < d; ++j) {
    value left = grad.at("grad_b_H").storage()[d + j], right(0.0);
    for (std::size_t b = 0; b < 2; ++b) {
      left = left + grad.at("grad_s0").storage()[b * d + j];
      right = right + in.at("grad_s_n").storage()[b * d + j];
    }
    for (std::size_t k = 0; k < e; ++k)
      right = right + in.at("W_R").storage()[k * d + j] * grad.at("grad_b_R").storage()[k];
    CHECK(distance(left, right) < 1e-90);
  }
}

namespace {

// softplus(W1 x + b1), multiplied by W2: a feed-forward map with one hidden layer.
template <class R>
class two_layer_map {
 public:
  two_layer_map(affine_map<R> inner, affine_map<R> outer) : inner_(inner), outer_(outer) {}
  [[nodiscard]] std::size_t inputs() const { return inner_.inputs(); }
  [[nodiscard]] std::size_t outputs() const { return outer_.outputs(); }

  void accumulate(std::span<const R> x, accumulators<R>& y) const {
    const std::vector<R> z = hidden(x);
    std::vector<R> active(z.size());
    for (std::size_t k = 0; k < z.size(); ++k) active[k] = softplus(z[k]);
    outer_.accumulate(active, y);
  }

  struct gradients {
    explicit gradients(const two_layer_map& map) : inner(map.inner_), outer(map.outer_) {}
    typename affine_map<R>::gradients inner, outer;
  };

  void pull_back(std::span<const R> x, std::span<const R> grad_y, accumulators<R>& grad_x, gradients& grad) const {
    const std::vector<R> z = hidden(x);
    std::vector<R> active(z.size()), grad_z(z.size());
    for (std::size_t k = 0; k < z.size(); ++k) active[k] = softplus(z[k]);
    accumulators<R> sums_of_active(z.size());
    outer_.pull_back(active, grad_y, sums_of_active, grad.outer);
    for (std::size_t k = 0; k < z.size(); ++k) grad_z[k] = sums_of_active[k].total() * sigmoid(z[k]);
    inner_.pull_back(x, grad_z, grad_x, grad.inner);
  }

 private:
  std::vector<R> hidden(std::span<const R> x) const {
    accumulators<R> sums(inner_.outputs());
    inner_.accumulate(x, sums);
    std::vector<R> z;
    for (const auto& sum : sums) z.push_back(sum.total());
    return z;
  }
  affine_map<R> inner_, outer_;
};

struct mlp_parameters {
  std::vector<field<value>> fields;  // W1 b1 W2 b2 of H, then those of R
};

template <class R, class Lift>
auto mlp_fields(const mlp_parameters& p, Lift lift_number) {
  std::vector<field<R>> out;
  for (const auto& f : p.fields) {
    field<R> g = field<R>::from_shape(f.shape());
    for (std::size_t i = 0; i < f.size(); ++i) g.storage()[i] = lift_number(f.storage()[i]);
    out.push_back(std::move(g));
  }
  return out;
}

field<value> random_field(const core::shape& s, core::counter_random& random) {
  field<value> f = make_field<value>(s);
  for (value& x : f.storage()) x = value(random.normal());
  return f;
}

}  // namespace

TEST_CASE("heinsen/embed_position/maps_can_be_replaced", "[property][heinsen]") {
  const std::size_t batch = 2, n = 4, e = 3, d = 2, wide = 5;
  core::counter_random random(31);
  mlp_parameters p;
  for (const core::shape& s : {core::shape{wide, e}, {wide}, {2 * d, wide}, {2 * d}, {wide, d}, {wide}, {e, wide}, {e}})
    p.fields.push_back(random_field(s, random));
  const field<value> x = random_field({batch, n, e}, random), s0 = random_field({batch, d}, random);
  const field<value> x_dot = random_field({batch, n, e}, random), w_dot = random_field({wide, e}, random);
  const field<value> y_bar = random_field({batch, n, e}, random), s_bar = random_field({batch, d}, random);

  const auto maps = [](auto& f) {
    using R = typename std::decay_t<decltype(f[0])>::value_type;
    return std::pair{two_layer_map<R>({f[0], f[1]}, {f[2], f[3]}), two_layer_map<R>({f[4], f[5]}, {f[6], f[7]})};
  };
  auto parameters = mlp_fields<value>(p, [](const value& v) { return v; });
  const auto [to_logits, to_tokens] = maps(parameters);
  const auto grad = encodings::heinsen::embed_position_vjp<value>(to_logits, to_tokens, x, s0, y_bar, s_bar, {});

  // The derivative along (x_dot, and w_dot in the first layer of H), by dual numbers.
  auto dual = mlp_fields<tangent>(p, [](const value& v) { return tangent(v); });
  for (std::size_t i = 0; i < w_dot.size(); ++i) dual[0].storage()[i].derivative = w_dot.storage()[i];
  field<tangent> x_dual = field<tangent>::from_shape(x.shape()), s0_dual = field<tangent>::from_shape(s0.shape());
  for (std::size_t i = 0; i < x.size(); ++i) x_dual.storage()[i] = tangent(x.storage()[i], x_dot.storage()[i]);
  for (std::size_t i = 0; i < s0.size(); ++i) s0_dual.storage()[i] = tangent(s0.storage()[i]);
  const auto [logits_dual, tokens_dual] = maps(dual);
  const auto out = encodings::heinsen::embed_position<tangent>(logits_dual, tokens_dual, x_dual, s0_dual, {});
  value pushed(0.0);
  for (std::size_t i = 0; i < y_bar.size(); ++i)
    pushed = pushed + out.at("y").storage()[i].derivative * y_bar.storage()[i];
  for (std::size_t i = 0; i < s_bar.size(); ++i)
    pushed = pushed + out.at("s_n").storage()[i].derivative * s_bar.storage()[i];

  const auto totals_of_weights =
      totals(encodings::heinsen::module_stage::logits, grad.logits_gradients.inner.weight, {wide, e});
  const value pulled = dot(grad.x, x_dot) + dot(totals_of_weights, w_dot);
  CHECK(distance(pushed, pulled) < 1e-90);
}
