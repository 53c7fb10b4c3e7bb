// Complex-valued word embeddings: words of all frequencies, and laws for them.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "properties/faults/call_changes.hpp"
#include "properties/harness/usual_sizes.hpp"
#include "properties/kinds/attention.hpp"
#include "properties/kinds/relative_scores.hpp"
#include "reference/oracle.hpp"

namespace assay::properties::encodings::complex_order {

std::vector<variant> mutants();  // variants.cpp
std::vector<variant> controls();

namespace {

using core::dtype;

// Families.

// Consecutive tokens from some place on; frequencies from 1 to 1 / 10000, as in tables, with both signs; any phase.
void words(drawn_inputs& in, core::counter_random& random, double farthest) {
  if (!in.numbers.contains("frequency")) return;
  const std::size_t n = in.sizes.at("n");
  const double first = std::floor(random.uniform(0, std::max(farthest - static_cast<double>(n), 1.0)));
  std::vector<double>& position = in.numbers.at("position");
  for (std::size_t k = 0; k < position.size(); ++k) position[k] = first + static_cast<double>(k % n);
  for (double& w : in.numbers.at("frequency")) w = std::copysign(std::pow(10.0, -random.uniform(0, 4)), w);
  for (double& phi : in.numbers.at("phase")) phi = random.uniform(-std::numbers::pi, std::numbers::pi);
}
void mild(drawn_inputs& in, const core::operation&, dtype, core::counter_random& random) { words(in, random, 512); }
void far_away(drawn_inputs& in, const core::operation&, dtype type, core::counter_random& random) {
  words(in, random, type == dtype::f16 ? 0x1p11 : 0x1p17);  // gradients times the position stay finite
  for (double& m : in.numbers.at("position")) m *= random.one_in(3) ? -1 : 1;
}
// The Position_Embedding of the public CNN: the number of the word times 10000^(-2c/d).
void numbers_of_words(drawn_inputs& in, const core::operation&, dtype type, core::counter_random& random) {
  words(in, random, 64);
  const std::size_t d = in.sizes.at("d");
  std::vector<double>& frequency = in.numbers.at("frequency");
  for (std::size_t k = 0; k < frequency.size(); ++k) {
    if (k % d == 0)
      frequency[k] = std::floor(random.uniform(0, type == dtype::f16 ? 500 : 20000));
    else
      frequency[k] = frequency[k - k % d] * std::pow(1e4, -2 * static_cast<double>(k % d) / static_cast<double>(d));
  }
}
// Rows of zeros, as from nn.Embedding(padding_idx = 0): the modulus of their scores is 0.
void padding(drawn_inputs& in, const core::operation& op, dtype, core::counter_random& random) {
  words(in, random, 512);
  for (const core::tensor_declaration& d : op.inputs) {
    std::vector<double>& x = in.numbers.at(d.name);
    const std::size_t width = in.sizes.at("d") * (d.axes.back() == "2" ? 2 : 1);
    for (std::size_t k = 0; !d.own_type && k < x.size(); k += width)
      if (random.one_in(2)) std::fill_n(x.begin() + static_cast<std::ptrdiff_t>(k), width, 0.0);
  }
}
// Every second component of a query equals the one before it; in a key it is its negative, or nearly so.
void cancelling(drawn_inputs& in, const core::operation&, dtype, core::counter_random& random) {
  const std::size_t d = in.sizes.at("d");
  for (const char* input : {"q", "k"}) {
    std::vector<double>& x = in.numbers.at(input);
    for (std::size_t index = 2; index < x.size(); ++index)
      if (index / 2 % d % 2 == 1) x[index] = x[index - 2] * (*input == 'q' ? 1 : random.one_in(2) ? -1 : -1 - 0x1p-8);
  }
}
void of_any_size(drawn_inputs& in, const core::operation&, dtype type, core::counter_random& random) {
  words(in, random, 512);
  const double most = type == dtype::f16 ? 3 : 12;
  for (const char* input : {"amplitude", "q", "k"})
    if (const auto x = in.numbers.find(input); x != in.numbers.end())
      for (double& y : x->second) y *= random.one_in(4) ? 0.0 : std::exp2(random.uniform(-most, most));
}
void with_nan(drawn_inputs& in, const core::operation& op, dtype type, core::counter_random& random) {
  words(in, random, 512);
  nan_in({"amplitude", "frequency", "phase", "q", "k"})(in, op, type, random);
}

// Laws.

// |f| = |a|.
void check_modulus(experiment& e) {
  const numbers f(e.call(), "f");
  const given_numbers a(e.c, "amplitude");
  for (std::size_t k = 0; k < a.size(); ++k)
    e.equal(exactly(std::fabs(a[k].value)), length_of(f[2 * k], f[2 * k + 1]), "modulus {} and its amplitude", k);
}
// f(m + 1) = e^(iw) f(m).
void check_turn(experiment& e) {
  test_case further = e.c;
  for (double& m : further.call.inputs.at("position").values) ++m;
  const numbers f(e.call(), "f"), g(e.call(further), "f");
  const given_numbers w(e.c, "frequency"), a(e.c, "amplitude");
  for (std::size_t k = 0; k < w.size(); ++k) {
    const approximate cosine = computed(std::cos(w[k].value)), sine = computed(std::sin(w[k].value));
    const double scale = std::fabs(a[k].value);
    e.equal(f[2 * k] * cosine + -(f[2 * k + 1] * sine), g[2 * k], scale, "real part {}, a position further", k);
    e.equal(f[2 * k] * sine + f[2 * k + 1] * cosine, g[2 * k + 1], scale, "imaginary part {}, a position further", k);
  }
}
// d/dw = m d/dphi.
void check_gradients(experiment& e) {
  const numbers grad_frequency(e.call(), "grad_frequency"), grad_phase(e.call(), "grad_phase");
  const given_numbers position(e.c, "position");
  const std::size_t n = grad_phase.shape[1], d = grad_phase.shape[2];
  const bool reversed = setting_of<bool>(e.c.call, "reversed");
  for (std::size_t k = 0; k < grad_phase.size(); ++k) {
    const std::size_t token = k / d % n, row = k / d - token;
    e.equal(position[row + (reversed ? n - 1 - token : token)] * grad_phase[k], grad_frequency[k],
            "gradient {} of the frequency, and the position times that of the phase", k);
  }
}
// Words with frequency 0, at positions `times` the given ones.
change at_rest(double times) {
  return [times](const test_case& c) {
    test_case still = c;
    for (double& w : still.call.inputs.at("frequency").values) w = 0.0;
    for (double& m : still.call.inputs.at("position").values) m *= times;
    return std::optional(still);
  };
}
// Component c turns by c + 1 quarters of a circle, as with frequency (c + 1) pi / 2 at the next position. Keys of
// bilinear scores turn back.
std::optional<test_case> a_position_further(const test_case& c) {
  test_case other = c;
  const bool bilinear = setting_of<std::string>(c.call, "product") == "bilinear";
  for (const char* name : {"q", "k"}) {
    core::tensor& x = other.call.inputs.at(name);
    for (std::size_t k = 0; k < x.size(); k += 2)
      for (std::size_t quarter = 0; quarter <= k / 2 % x.shape()[3] % 4; ++quarter) {
        double &re = x.values.data()[k], &im = x.values.data()[k + 1];
        std::swap(re, im);
        (bilinear && *name == 'k' ? im : re) *= -1;
      }
  }
  return other;
}
std::vector<property> laws() {
  const std::vector<std::string> embed{"complex_order/embed"};
  return {
      law("complex_modulus", "an embedding is as long as its amplitude", {embed, {"mild", "numbers_of_words"}},
          {1, check_modulus}),
      law("complex_turn", "at the next position a component is turned by its frequency", {embed, {"mild"}},
          {2, check_turn}),
      law("complex_gradients", "the gradient of a frequency is the position times that of the phase",
          {{"complex_order/embed:vjp"}, {"mild", "numbers_of_words"}}, {1, check_gradients}),
      law("complex_at_rest", "words of frequency 0 are the same at all positions", {embed, {"mild"}},
          agree_between(at_rest(1), at_rest(-3), "words of frequency 0, elsewhere")),
      law("complex_shift",
          "hermitian scores stay where queries and keys turn alike, bilinear ones where they turn "
          "against each other",
          {{"complex_order/scores"}, {"mild"}}, agree_after(a_position_further, "queries and keys that are turned"))};
}

}  // namespace

encoding_tests make_tests() {
  encoding_tests tests;
  tests.name = "complex_order";
  tests.families = {
      attention_family("mild", "frequencies up to 1, numbers of order 1", mild),
      of_input("frequency",
               attention_family("large_positions", "positions up to 2^17 (f16: 2^11), of both signs", far_away)),
      of_input("frequency",
               attention_family("numbers_of_words", "frequencies up to the number of words", numbers_of_words)),
      attention_family("padding", "rows of zeros", padding),
      of_input("q", attention_family("cancelling", "products that cancel, or nearly so", cancelling)),
      attention_family("any_size", "numbers from 2^-12 to 2^12 (f16: 2^-3 to 2^3), and zeros", of_any_size),
      holding_nan(attention_family("nan_inside", "one NaN", with_nan))};
  tests.sizes = sizes_by_roles(*reference::find_operation("complex_order/embed"));
  for (usual_size& u : sizes_of_scores("complex_order/scores")) tests.sizes.push_back(std::move(u));
  tests.mutants = mutants();
  tests.controls = controls();
  tests.laws = laws();
  return tests;
}

}  // namespace assay::properties::encodings::complex_order
