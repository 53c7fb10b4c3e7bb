// The hand-written directional derivative at 100 digits: compared with dual numbers and with the vjp, in every form;
// and its special values.
#include <catch2/catch.hpp>

#include "reference/encodings/heinsen.hpp"
#include "reference/oracle.hpp"
#include "reference/readings/tangent.hpp"
#include "reference/tests/jvp_inputs.hpp"

using namespace assay;
using namespace assay::reference;
using namespace assay::reference::testing;
using core::dtype;

namespace {

field<value> as_field(const std::vector<value>& x, bool tokens) {
  field<value> f = make_field<value>(tokens ? core::shape{1, x.size(), 1} : core::shape{1, 1});
  std::copy(x.begin(), x.end(), f.storage().begin());
  return f;
}

fields<value> inputs_of(const value_lane& x, const std::string& decay) {
  return {{decay, as_field(x.a, true)}, {"h", as_field(x.h, true)}, {"s0", as_field({x.s0}, false)}};
}

// The derivative of the forward operation, by dual numbers.
fields<tangent> by_dual_numbers(const std::string& op, const fields<value>& in, const fields<value>& direction) {
  fields<tangent> dual;
  for (const auto& [name, f] : in) {
    field<tangent> t = field<tangent>::from_shape(f.shape());
    for (std::size_t i = 0; i < f.size(); ++i)
      t.storage()[i] = tangent(f.storage()[i], direction.at("tangent_" + name).storage()[i]);
    dual.emplace(name, std::move(t));
  }
  return evaluate<encodings::heinsen, tangent>({op, dual}, {});
}

value paired(const fields<value>& x, const std::string& x_prefix, const fields<value>& y, const std::string& y_prefix) {
  value sum(0.0);
  for (const auto& [name, f] : x) {
    const field<value>& g = y.at(y_prefix + name.substr(x_prefix.size()));
    for (std::size_t i = 0; i < f.size(); ++i) sum = sum + f.storage()[i] * g.storage()[i];
  }
  return sum;
}

struct named_scheme {
  std::string name;
  encodings::heinsen::scheme<value> steps;
  bool infinities = true;
};

std::vector<named_scheme> all_schemes() {
  std::vector<named_scheme> all;
  for (const accuracy_class c : accuracy_classes)
    if (c != accuracy_class::uniform)
      all.push_back({std::string(name_of(c)), encodings::heinsen::algorithm<value>(c), c != accuracy_class::cumsum});
  encodings::heinsen::scheme<value> steps;
  steps.tangent = balanced_tree_tangent<exp_form, value>;
  all.push_back({"tree, exp form", steps});
  steps.tangent = balanced_linear_tangent<sigmoid_form, value>;
  all.push_back({"tree over the recurrence of ds", steps});
  return all;
}

}  // namespace

TEST_CASE("heinsen/jvp/dual_numbers_and_dot_product", "[property][heinsen]") {
  const auto schemes = all_schemes();
  for (const bool gated : {false, true})
    for (const filling f : fillings)
      for (const std::size_t n : {0u, 1u, 2u, 7u, 19u}) {
        const std::string op = gated ? "heinsen/gated_scan" : "heinsen/scan", decay = gated ? "g" : "log_p";
        const value_lane x = make_lane(f, n, 3);
        if (gated && f == filling::infinite_inside) continue;  // a logit of -inf is outside the domain
        INFO(op << " " << x.name);
        core::counter_random random(n + 100);
        const fields<value> in = inputs_of(x, decay);
        const fields<value> direction{{"tangent_" + decay, as_field(random_values(n, random), true)},
                                      {"tangent_h", as_field(random_values(n, random), true)},
                                      {"tangent_s0", as_field(random_values(1, random), false)}};
        fields<value> cotangents{{"grad_s", as_field(random_values(n, random), true)},
                                 {"grad_s_n", as_field(random_values(1, random), false)}};
        fields<value> forward = in;
        forward.insert(direction.begin(), direction.end());
        cotangents.insert(in.begin(), in.end());
        const auto pulled = evaluate<encodings::heinsen, value>({op + ":vjp", cotangents}, {});
        const auto dual = by_dual_numbers(op, in, direction);
        for (const named_scheme& r : schemes) {
          if (!r.infinities && !is_finite(f)) continue;
          INFO(r.name);
          const auto pushed = evaluate<encodings::heinsen, value>({op + ":jvp", forward}, r.steps);
          for (const auto& [name, t] : pushed)
            for (std::size_t i = 0; i < t.size(); ++i) {
              const tangent& other = dual.at(name.substr(8)).storage()[i];
              // At a state of -inf the derivative is 0 by definition; dual numbers give that of h.
              const bool dead = n > 0 && is_minus_infinity(other.number);
              CHECK(deviation(t.storage()[i], dead ? value(0.0) : other.derivative) < 1e-90);
            }
          CHECK(deviation(paired(pushed, "tangent_", cotangents, "grad_"),
                          paired(pulled, "grad_", direction, "tangent_")) < 1e-90);
        }
      }
}

namespace {

// The certified truth. The algorithms that have an answer at infinities must be near it; a 0 must be 0.
std::vector<double> derivatives(const core::tensors& in) {
  const core::operation& op = *find_operation("heinsen/scan:jvp");
  const auto truth = certify({&op, dtype::f64, in});
  REQUIRE(count_undecided(truth) == 0);
  const auto& s = truth.at("tangent_s").rounded.values;
  std::vector<double> ds(s.begin(), s.end());
  ds.push_back(truth.at("tangent_s_n").rounded.values.storage()[0]);
  for (const auto c : {accuracy_class::sequential, accuracy_class::tree, accuracy_class::linear}) {
    INFO(name_of(c));
    const core::tensors out = evaluate({&op, dtype::f64, in}, c);
    for (std::size_t i = 0; i + 1 < ds.size(); ++i)
      CHECK(std::fabs(out.at("tangent_s").values.storage()[i] - ds[i]) <= 1e-15 * std::fabs(ds[i]));
    CHECK(std::fabs(out.at("tangent_s_n").values.storage()[0] - ds.back()) <= 1e-15 * std::fabs(ds.back()));
  }
  return ds;
}

using numbers = std::vector<double>;

}  // namespace

TEST_CASE("heinsen/jvp/special_values", "[unit][heinsen]") {
  constexpr auto f64 = dtype::f64;
  const double inf = infinity;
  CHECK(derivatives(jvp_inputs(f64, {}, {}, 2, {}, {}, 3)) == numbers{3});     // no tokens
  CHECK(derivatives(jvp_inputs(f64, {}, {}, -inf, {}, {}, 3)) == numbers{3});  // whatever the state is
  CHECK(derivatives(jvp_inputs(f64, {-1, -1}, {-inf, -inf}, 0, {1, 2}, {8, 8}, 4)) == numbers{5, 7, 7});  // w = 1
  CHECK(derivatives(jvp_inputs(f64, {-inf}, {1}, 0, {8}, {3}, 8)) == numbers{3, 3});                      // v = 1
  CHECK(derivatives(jvp_inputs(f64, {-1}, {1}, -inf, {8}, {3}, 8)) == numbers{3, 3});
  // A state of -inf has the derivative 0, and nothing passes through it.
  CHECK(derivatives(jvp_inputs(f64, {-1, -1}, {-inf, -inf}, -inf, {8, 8}, {8, 8}, 8)) == numbers{0, 0, 0});
  CHECK(derivatives(jvp_inputs(f64, {-1, -1, -2}, {-inf, 3, -inf}, -inf, {8, 8, 1}, {8, 5, 8}, 8)) ==
        numbers{0, 5, 6, 6});
  CHECK(derivatives(jvp_inputs(f64, {-inf, -1}, {-inf, 4}, 3, {8, 8}, {8, 5}, 8)) == numbers{0, 5, 5});
  // Equal terms: half of each.
  CHECK(derivatives(jvp_inputs(f64, {0}, {1}, 1, {2}, {4}, 6)) == numbers{6, 6});
}
