// DAPE: families, laws, faults of public reports, and the other slope at a kink.
#include <cmath>
#include <limits>

#include "properties/faults/declared_faults.hpp"
#include "properties/kinds/pair_bias.hpp"
#include "properties/laws/relations/relations.hpp"
#include "reference/core/special_values.hpp"
#include "reference/encodings/dape.hpp"

namespace assay::properties::encodings::dape {
namespace {

using core::counter_random;
using core::dtype;
using core::infinity;
using encoding = reference::encodings::dape;
inline constexpr auto& changed = make_variant<encoding>;

double usual(std::string_view input, dtype, counter_random& random) {
  return input == "bias" ? -random.uniform(0.0, 8.0) : random.normal();
}
// Biases as at long range; scores are small beside them.
double steep(std::string_view input, dtype type, counter_random& random) {
  return input == "bias" ? -std::exp2(random.uniform(0, type == dtype::f16 ? 9 : 17)) : usual(input, type, random);
}
// Elements are masked one by one, in some heads only.
double with_masks(std::string_view input, dtype type, counter_random& random) {
  return input == "bias" && random.one_in(3) ? -infinity : usual(input, type, random);
}
// Small integers, without biases of hidden units: many hidden units are exactly 0.
double on_kinks(std::string_view input, dtype, counter_random& random) {
  if (input == "c1") return 0.0;
  return input == "s" || input == "bias" ? static_cast<double>(random.below(3)) - 1.0 : random.sign();
}
double with_nan(std::string_view input, dtype type, counter_random& random) {
  return input == "s" && random.one_in(5) ? std::numeric_limits<double>::quiet_NaN() : usual(input, type, random);
}

/// Masks keys after the query; the queries are the last tokens.
family causal(family f) {
  f.generate = [generate = f.generate](const core::operation& op, dtype type, const core::attributes& settings,
                                       counter_random& random, extent size) {
    core::tensors inputs = generate(op, type, settings, random, size);
    core::tensor& bias = inputs.at("bias");
    const std::size_t n = bias.shape()[1], m = bias.shape()[2];
    for (std::size_t k = 0; k < bias.size(); ++k)
      if (k % m + n > m + k / m % n) bias.values.storage()[k] = -infinity;
    return inputs;
  };
  return f;
}

change to_zero(std::vector<std::string> inputs) {
  return each_of(std::move(inputs), [](const test_case&, double) { return 0.0; });
}
double twice(const test_case&, double x) { return 2 * x; }

// If the network gives 0, the output is the scores, plus the biases in the form `residual`.
void check_without_network(experiment& e) {
  const numbers a(e.call(*to_zero({"w2", "c2"})(e.c)), "a");
  const given_numbers s(e.c, "s"), bias(e.c, "bias");
  const bool residual = setting<std::string>(e.c, "form") == "residual";
  for (std::size_t k = 0; k < a.size(); ++k) {
    const approximate b = bias[k % bias.size()];
    if (b.value == -infinity)
      e.equal(b, a[k], "a masked logit, element {}", k);
    else
      e.equal(residual ? s[k] + b : s[k], a[k], "the logit without a network, element {}", k);
  }
}
void check_forms(experiment& e) {
  const numbers residual(e.call(*with({{"form", std::string("residual")}})(e.c)), "a"),
      plain(e.call(*with({{"form", std::string("plain")}})(e.c)), "a");
  const given_numbers bias(e.c, "bias");
  for (std::size_t k = 0; k < plain.size(); ++k)
    if (const approximate b = bias[k % bias.size()]; b.value != -infinity)
      e.equal(plain[k] + b, residual[k], std::fabs(b.value), "the logits with and without the bias, element {}", k);
}
// Changes the scores of masked elements, which may have any value.
std::optional<test_case> other_masked_scores(const test_case& c) {
  test_case other = c;
  auto& s = other.call.inputs.at("s").values.storage();
  const auto& bias = c.call.inputs.at("bias").values.storage();
  for (std::size_t k = 0; k < s.size(); ++k)
    if (bias[k % bias.size()] == -infinity) s[k] = core::round_to(c.call.type, 1.0 - s[k]);
  return other;
}

void mask(core::tensors& outputs, const request& call) {
  const auto& bias = call.inputs.at("bias").values.storage();
  for (const char* name : {"a", "grad_s", "grad_bias"})
    if (const auto found = outputs.find(name); found != outputs.end()) {
      auto& x = found->second.values.storage();
      for (std::size_t k = 0; k < x.size(); ++k)
        if (bias[k % bias.size()] == -infinity) x[k] = *name == 'a' ? -infinity : 0.0;
    }
}

std::vector<variant> mutants() {
  std::vector<variant> all = reported_faults({
      {"mutant/dape_other_form", "chuanyang-Zheng/DAPE against its paper: x + a + f(x, a), or x + f(x, a)",
       "dape/logits/form/residual_and_plain_exchanged"},
  });
  all.front().representative = true;
  for (variant& v : std::vector<variant>{
           changed("mutant/dape_masked_elements_seen", "code that adds -inf before the network",
                   "0.01 times -inf, and infinities of both signs, enter the sums",
                   {.formula =
                        [](auto& scheme) {
                          scheme.hides = [](const auto&, const auto&, const auto& masked) { return masked && !masked; };
                        },
                   .representative = true}),
           changed("mutant/dape_masked_logits_undefined", "the same: s + bias + f is inf - inf",
                   "the logit of a masked element is NaN",
                   {.outputs =
                        [](core::tensors& outputs) {
                          change_each(outputs, "a", [](double a) { return a == -infinity ? std::nan("") : a; });
                        }}),
           changed("mutant/dape_masked_scores_seen",
                   "chuanyang-Zheng/DAPE: the bias of a masked element is 0, and its score stays",
                   "scores of masked elements enter the network",
                   {.inputs =
                        [](request& call) {
                          change_each(call.inputs, "bias", [](double b) { return b == -infinity ? 0.0 : b; });
                        },
                   .outputs = mask,
                   .representative = true}),
           changed("mutant/dape_other_activation", "a port with y sigmoid(y)", "the activation is another one",
                   {.formula =
                        [](auto& scheme) {
                          scheme.activation = [](const auto& y, const auto&, bool) { return y * sigmoid(y); };
                        },
                   .representative = true}),
           changed("mutant/dape_triangle_of_a_cached_query",
                   "chuanyang-Zheng/DAPE, Alibi_DAPEV2: torch.tril of one query and all keys",
                   "of cached keys the network sees those up to the index of the query's row",
                   {.formula =
                        [](auto& scheme) {
                          scheme.hides = [](const auto& i, const auto& j, const auto& masked) {
                            return masked || less(i, j);
                          };
                        },
                   .representative = true}),
           changed("mutant/dape_rectifier", "chuanyang-Zheng/DAPE: ReLU in FIRE, LeakyReLU in FIRE_DAPE",
                   "hidden units below 0 are 0", {.inputs = [](request& call) { set_setting(call, "slope", 0.0); }}),
           changed("mutant/dape_hidden_layer_detached", "pytorch/pytorch#196705: a path dropped",
                   "no gradient goes through the hidden layer",
                   {.gradient =
                        [](auto& scheme) {
                          scheme.activation = [](const auto& y, const auto& slope, bool vanishes) {
                            return detach(reference::leaky_relu(y, slope, vanishes));
                          };
                        }}),
       })
    all.push_back(std::move(v));
  return all;
}

std::vector<variant> controls() {
  std::vector<variant> all = controls_of_precision<encoding>("dape");
  all.push_back(changed("control/dape_larger_of_two", "max(y, slope y): its slope at 0 is 1",
                        "the other slope at a kink", {.formula = [](auto& scheme) {
                          scheme.activation = [](const auto& y, const auto& slope, bool) {
                            return larger(y, slope * y);
                          };
                        }}));
  return all;
}

}  // namespace

encoding_tests make_tests() {
  const law_scope all{{"dape/logits"}, {"mild", "masked_anywhere"}};
  encoding_tests tests;
  tests.name = "dape";
  tests.families = {
      causal(pair_bias_family("mild", "a network of order 1, the last queries of a sequence", usual, in_order)),
      pair_bias_family("masked_anywhere", "elements masked one by one", with_masks, in_order),
      pair_bias_family("steep", "biases as they are at long range, nothing masked", steep, in_order),
      pair_bias_family("on_kinks", "hidden units that are exactly 0", on_kinks, in_order),
      holding_nan(causal(pair_bias_family("nan_inside", "a NaN among the scores", with_nan, in_order))),
  };
  tests.long_ones = {{{"dape/logits"}, {}, {{"B", 33000}, {"n", 33000}}}};  // a gradient builds a graph for every pair
  tests.mutants = mutants();
  tests.controls = controls();
  tests.laws = {law("dape_without_network", "of a network that gives 0 scores and biases are left", all,
                    {1, check_without_network}),
                law("dape_forms", "one form is the other one and the bias", all, {2, check_forms}),
                law("dape_homogeneous", "without biases of units: twice the scores and biases, twice the logits", all,
                    agree_between(to_zero({"c1", "c2"}), then(to_zero({"c1", "c2"}), each_of({"s", "bias"}, twice)),
                                  "twice the scores and biases", times(0.5))),
                law("dape_masked_scores", "scores of masked elements change nothing", all,
                    identical_after(other_masked_scores, "a", "other scores of masked elements"))};
  return tests;
}

}  // namespace assay::properties::encodings::dape
