// Biases that tokens set: families of gates and of log gates along a path, laws and sizes.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "properties/kinds/attention.hpp"
#include "reference/core/special_values.hpp"

namespace assay::properties::encodings::grape {

std::vector<variant> mutants();  // variants.cpp
std::vector<variant> controls();

namespace {

using core::counter_random;
using core::dtype;

// What gates or log gates are made of: v . q and u . k, or p . y / d.
using score_of_token = double (*)(counter_random& random, std::size_t token, std::size_t tokens);
double far_below_zero(counter_random& random, std::size_t, std::size_t) { return random.uniform(-14, -4); }
double far_above_zero(counter_random& random, std::size_t, std::size_t) { return random.uniform(30, 100); }
double about_twenty(counter_random& random, std::size_t, std::size_t) { return random.uniform(17, 23); }
double remembering(counter_random& random, std::size_t, std::size_t) { return random.uniform(3, 9); }
double forgetting(counter_random& random, std::size_t, std::size_t) { return random.uniform(-40, -4); }
double slow_after_fast(counter_random& random, std::size_t token, std::size_t tokens) {
  return 2 * token < tokens ? random.uniform(-60, -30) : random.uniform(4, 8);
}

// Vectors of length 1 and slopes of order 1 and below, as published code makes them.
void usual_parameters(drawn_inputs& in, counter_random& random) {
  for (const char* name : {"v", "u"})
    if (std::vector<double>* x = numbers_of(in, name)) make_unit_rows(*x, in.sizes.at("d"));
  for (const char* name : {"omega", "slopes"})
    if (std::vector<double>* x = numbers_of(in, name))
      for (double& slope : *x) slope = std::exp2(-random.uniform(0, 6));
}
// Tokens along their head's vector, which has length 1. Half of the scores are meant for the factor 1 / sqrt(d), the
// others for 1.
void draw_gates(drawn_inputs& in, const char* tokens, const char* vectors, score_of_token score,
                counter_random& random) {
  const std::size_t d = in.sizes.at("d"), heads = in.sizes.at("h"), n = in.sizes.at("n");
  std::vector<double>& x = in.numbers.at(tokens);
  const std::vector<double>& along = in.numbers.at(vectors);
  for (std::size_t row = 0; d > 0 && row * d < x.size(); ++row) {
    const double by = score(random, row / heads % n, n) * (random.one_in(2) ? std::sqrt(static_cast<double>(d)) : 1.0);
    for (std::size_t c = 0; c < d; ++c) x[row * d + c] = by * along[row % heads * d + c];
  }
}
// Features that are nearly alike: the score is that of the key, whatever the query is.
void draw_path(drawn_inputs& in, score_of_token score, counter_random& random) {
  const std::size_t d = in.sizes.at("d"), heads = in.sizes.at("h"), n = in.sizes.at("n");
  for (double& x : in.numbers.at("p")) x = random.uniform(0.75, 1.25);
  std::vector<double>& y = in.numbers.at("y");
  for (std::size_t row = 0; d > 0 && row * d < y.size(); ++row) {
    const double key_score = score(random, row / heads % n, n);
    for (std::size_t c = 0; c < d; ++c) y[row * d + c] = key_score * random.uniform(0.75, 1.25);
  }
}

family of_grape(std::string name, std::string summary, input_filler then) {
  return attention_family(std::move(name), std::move(summary),
                          [then](drawn_inputs& in, const core::operation& op, dtype type, counter_random& random) {
                            usual_parameters(in, random);
                            then(in, op, type, random);
                          });
}
family of_gate_scores(std::string name, std::string summary, score_of_token score) {
  return of_input("omega", of_grape(std::move(name), std::move(summary),
                                    [score](drawn_inputs& in, const core::operation&, dtype, counter_random& random) {
                                      draw_gates(in, "q", "v", score, random);
                                      draw_gates(in, "k", "u", score, random);
                                    }));
}
family of_path_scores(std::string name, std::string summary, score_of_token score) {
  return of_input("slopes", of_grape(std::move(name), std::move(summary),
                                     [score](drawn_inputs& in, const core::operation&, dtype, counter_random& random) {
                                       draw_path(in, score, random);
                                     }));
}
void no_slope(drawn_inputs& in, const core::operation&, dtype, counter_random& random) {
  for (const char* name : {"omega", "slopes"})
    if (std::vector<double>* x = numbers_of(in, name))
      for (double& slope : *x)
        if (!random.one_in(4)) slope = 0.0;
}
// Gates of log 2, and log gates of -log 2: ALiBi.
void no_features(drawn_inputs& in, const core::operation&, dtype, counter_random&) {
  for (const char* name : {"q", "k", "p"})
    if (std::vector<double>* x = numbers_of(in, name)) std::fill(x->begin(), x->end(), 0.0);
}
void nan_in_a_token(drawn_inputs& in, const core::operation&, dtype, counter_random& random) {
  for (const char* name : {"q", "k", "p", "y"})
    if (std::vector<double>* x = numbers_of(in, name); x != nullptr && !x->empty() && random.one_in(2))
      (*x)[random.below(x->size())] = std::nan("");
}

std::vector<family> families() {
  return {
      parting_classes(of_grape("mild", "tokens of order 1, vectors of length 1, slopes from 1/64 to 1", as_drawn)),
      parting_classes(of_gate_scores(
          "tiny_gates", "softplus from 10^-6 to 1/50, further apart for wide heads: what lies far behind counts",
          far_below_zero)),
      of_gate_scores("large_gates",
                     "softplus of 30 to 100 or further apart: exp overflows in f16, and for the larger ones in f32",
                     far_above_zero),
      of_gate_scores("about_20", "gates about 20: where published softplus becomes linear", about_twenty),
      parting_classes(
          long_along("n", of_path_scores("slow", "log gates near 0: what lies far behind counts", remembering))),
      of_path_scores("fast", "log gates from -40 to -4", forgetting),
      of_path_scores("slow_behind_fast", "log gates near 0 of the last tokens, behind large ones", slow_after_fast),
      of_grape("no_features", "tokens of zeros: gates are alike, as ALiBi's are", no_features),
      of_grape("no_slope", "slopes of 0 in most heads", no_slope),
      holding_nan(of_grape("nan_inside", "a NaN in a token", nan_in_a_token)),
  };
}

// At its own key a query has no bias, and along its row towards it the bias never falls.
void check_rows_of_bias(experiment& e) {
  const numbers b(e.call(), "bias");
  const std::size_t n = b.shape[3];
  for (std::size_t p = 0; p < b.size(); ++p) {
    const std::size_t i = p / n % n, j = p % n;
    if (j == i) e.equal(exactly(0.0), b[p], "the bias of query {} and its own key", i);
    if (j < i) e.at_most(b[p], b[p + 1], "the bias of query {} and key {}, and the next key", i, j);
  }
}
// The biases of the first tokens alone, and of the same tokens in the whole call.
void check_later_tokens(experiment& e) {
  const std::size_t n = sizes_of(e.c).at("n");
  e.needs(has_elements(e.c) && n > 1);
  const std::size_t kept = 1 + counter_random(e.c.seed).below(n - 1);
  const core::tensors first = core::restrict_axis(*e.c.call.operation, e.c.call.inputs, "n", span_of(0, kept));
  const numbers alone(e.call(with_inputs(e.c, first)), "bias"), all(e.call(), "bias");
  for (std::size_t p = 0; p < alone.size(); ++p) {
    const std::size_t j = p % kept, i = p / kept % kept, head = p / kept / kept;
    if (j <= i)
      e.equal(alone[p], all[(head * n + i) * n + j], "the bias of query {} and key {}, and that among later tokens", i,
              j);
  }
}
// Tokens that are all alike have the bias of ALiBi: of any distance so many times that of 1.
std::optional<test_case> with_equal_tokens(const test_case& c) {
  test_case equal = c;
  for (const char* name : {"q", "k", "p", "y"}) {
    if (!equal.call.inputs.contains(name)) continue;
    core::tensor& x = equal.call.inputs.at(name);
    const std::size_t token = x.shape()[2] * x.shape()[3], row = x.shape()[1] * token;
    auto& values = x.values.storage();
    for (std::size_t k = 0; k < values.size(); ++k) values[k] = values[k / row * row + k % token];
  }
  return equal;
}
void check_equal_tokens(experiment& e) {
  e.needs(has_elements(e.c) && sizes_of(e.c).at("n") > 1);
  const numbers b(e.call(*with_equal_tokens(e.c)), "bias");
  const std::size_t n = b.shape[3];
  for (std::size_t p = 0; p < b.size(); ++p) {
    const std::size_t i = p / n % n, j = p % n;
    if (j < i)
      e.equal(b[p - i * n - j + n] * exactly(static_cast<double>(i - j)), b[p],
              "the bias of query {} and key {}, and that of neighbours", i, j);
  }
}

// A square of tokens: few features beside many, and many beside few.
std::vector<usual_size> sizes() {
  const std::vector<std::string> both{"grape/gated_bias", "grape/path_bias"};
  const std::string axes = "B n h d";
  std::vector<usual_size> all;
  add_sizes(all, both, axes,
            "5 17 9 3, 66 5 2 2, 2 130 2 3, 1 258 1 1, 5 66 1 2, 1 66 9 2, 1 9 66 2, 2 5 2 66, 1 66 2 66, 2 128 2 2, "
            "2 64 2 64, 1 66 1 64, 1 66 1 128, 5 2 1 66, 2 127 2 2, 1 9 66 66, 3 9 9 5");
  add_sizes(all, both, axes, "5 9 9 2, 1 66 2 2, 1 5 2 66", true, every_family);
  add_sizes(all, {"grape/path_bias"}, axes, "1 383 1 2", true, "slow");
  add_sizes(all, both, axes, "1 1025 1 3, 2 129 33 2, 65537 2 1 1, 1 257 2 65, 2 5 258 66", false);
  add_sizes(all, both, axes, "5 130 9 2", false, every_family);
  return all;
}

}  // namespace

encoding_tests make_tests() {
  const std::vector<std::string> gates{"grape/gated_bias"}, paths{"grape/path_bias"},
      both{"grape/gated_bias", "grape/path_bias"}, finite{"mild", "tiny_gates", "slow", "fast", "no_features"};
  encoding_tests tests;
  tests.name = "grape";
  tests.families = families();
  tests.mutants = mutants();
  tests.controls = controls();
  tests.sizes = sizes();
  tests.long_ones = {{both, {{"n", 2}, {"d", 2}}, {{"n", 1100}}}};
  tests.laws = {
      law("grape_rows", "a query has no bias at its own key, and none that falls towards it", {paths, finite},
          {1, check_rows_of_bias}),
      law("grape_equal_tokens", "tokens that are alike have the bias of ALiBi", {both, finite},
          {1, check_equal_tokens}),
      law("grape_later_tokens", "tokens that come later change no output", {both, finite}, {2, check_later_tokens})};
  tests.not_modelled = {{"chijames/KERPLE: distances in the dtype of the scores",
                         "bf16 holds all distances up to 256: a quick run has longer calls, a run of mutants none"},
                        {"fla-org/flash-linear-attention#769", "an index beyond 2^31: more than a gate run holds"}};
  tests.facts = {{"slow_behind_fast", "log gates near 0 behind large ones give"},
                 {"large_gates", "large gates give"},
                 {"tiny_gates", "tiny gates give"}};
  return tests;
}

}  // namespace assay::properties::encodings::grape
