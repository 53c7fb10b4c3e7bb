// Linear attention: families of gates, keys and values, and sizes.
#include <cmath>

#include "properties/kinds/attention.hpp"
#include "properties/kinds/token_gates.hpp"
#include "reference/core/special_values.hpp"

namespace assay::properties::encodings::linear_attention {

std::vector<variant> mutants();  // variants.cpp
std::vector<variant> controls();

namespace {

using core::dtype;

// Families.

/// Draws the share that is written.
using share_source = double (*)(core::counter_random& random);
using token_gates::gate_source;

double usual_share(core::counter_random& random) { return 1.0 / (1.0 + std::exp(-random.normal())); }
double all_or_nothing(core::counter_random& random) { return random.one_in(3) ? 0.0 : 1.0; }
double up_to_two(core::counter_random& random) { return random.one_in(4) ? 2.0 : random.uniform(1, 2); }

// For delta rules: keys have length 1, so that the map from state to state does not expand, and the part taken back is
// a share of the content at a.
void fit_keys(drawn_inputs& in, share_source share, core::counter_random& random) {
  const std::size_t d = in.sizes.at("d");
  if (std::vector<double>* betas = numbers_of(in, "beta")) {
    for (double& beta : *betas) beta = share(random);
    make_unit_rows(in.numbers.at("k"), d);
  }
  if (std::vector<double>* a = numbers_of(in, "a")) {
    make_unit_rows(*a, d);
    for (std::size_t k = 0; k < a->size(); k += d) {
      const double taken = share(random) / 2;
      for (std::size_t c = k; c < k + d; ++c) in.numbers.at("b")[c] = -taken * (*a)[c];
    }
  }
}

family of_gates(std::string name, std::string summary, gate_source gate, share_source share, input_filler then = {}) {
  return attention_family(
      std::move(name), std::move(summary),
      [gate, share, then](drawn_inputs& in, const core::operation& op, dtype type, core::counter_random& random) {
        token_gates::draw(in, gate, random);
        if (std::vector<double>* g = numbers_of(in, "log_decay"))
          for (double& one : *g) one = gate(random, 1, 2);
        if (then) then(in, op, type, random);
        fit_keys(in, share, random);
      });
}
void from_nothing(drawn_inputs& in, const core::operation&, dtype, core::counter_random&) {
  for (double& s : in.numbers.at("s0")) s = 0.0;
}
// About half of the keys equal the key of the token before, so that what is written is read again.
void alike_keys(drawn_inputs& in, const core::operation&, dtype, core::counter_random& random) {
  const std::size_t d = in.sizes.at("d"), row = in.sizes.at("h") * d, n = in.sizes.at("n");
  std::vector<double>& k = in.numbers.at("k");
  for (std::size_t first = 0; first < k.size(); first += d)
    if (first / row % n != 0 && random.one_in(2))
      std::copy_n(k.begin() + static_cast<std::ptrdiff_t>(first - row), d,
                  k.begin() + static_cast<std::ptrdiff_t>(first));
}
bool is_delta_rule(const core::operation& op) { return op.input("beta") != nullptr || op.input("a") != nullptr; }

std::vector<family> families() {
  // Distant tokens keep some weight if gates are slow.
  return {
      of_gates("mild", "gates as log sigmoid of numbers of order 1", token_gates::usual, usual_share),
      long_along("n", of_gates("slow_gates", "g from -2^-5 to -2^-14: a long memory", token_gates::slow, usual_share)),
      parting_classes(of_input(
          "g", of_gates("slow_behind_fast", "g from -40 to -80, then of a long memory: large sums, small differences",
                        token_gates::slow_behind_fast, usual_share))),
      long_along("n", of_gates("no_fading", "g = 0", token_gates::none, usual_share)),
      of_gates("fast_gates", "g from -3 to -30", token_gates::fast, usual_share),
      of_input("g", of_gates("resets", "one gate in five forgets: g = -1000", token_gates::now_and_then, usual_share)),
      of_gates("from_nothing", "s0 = 0", token_gates::usual, usual_share, from_nothing),
      of_gates("alike_keys", "a key in two is that of the token before; g of a long memory", token_gates::slow,
               all_or_nothing, alike_keys),
      only_for(is_delta_rule,
               of_gates("large_shares", "beta from 1 to 2: what is read turns its sign", token_gates::slow, up_to_two)),
      of_gates("small_values", "values far below 1", token_gates::usual, usual_share, small_values),
      of_gates("large_values", "values and a state far above 1", token_gates::usual, usual_share,
               token_gates::large_numbers),
      holding_nan(of_gates("nan_inside", "a NaN in some keys and values of the first token", token_gates::usual,
                           usual_share, token_gates::nan_in_first_token)),
  };
}

// A state has d e numbers, and each token changes all of them: long cases are narrow and wide cases are short. The
// exception is heads as wide as in kernels, over more than a block of 64 tokens.
std::vector<usual_size> sizes(const std::vector<std::string>& operations) {
  const std::string axes = "B n h d e";
  std::vector<usual_size> all;
  add_sizes(
      all, operations, axes,
      "5 3 9 3 2, 5 66 1 3 2, 5 3 2 66 2, 5 3 2 2 66, 1 66 9 2 3, 1 3 9 66 2, 1 3 9 2 66, 1 66 1 66 2, 1 66 2 2 66, "
      "2 130 2 3 2, 2 127 2 2 3, 66 2 1 2 2, 1 2 66 2 2, 1 17 5 2 3");
  add_sizes(all, operations, axes, "1 65 1 64 64, 1 65 1 128 128, 2 64 2 64 64", true, "mild");
  add_sizes(all, operations, axes, "5 3 9 2 2, 1 66 1 3 2, 1 2 1 66 66", true, every_family);
  add_sizes(all, operations, axes, "2 128 2 64 64, 1 66 1 128 256, 1 1025 1 3 2, 65537 1 1 1 1, 1 258 9 5 5", false);
  return all;
}

}  // namespace

encoding_tests make_tests() {
  encoding_tests tests;
  tests.name = "linear_attention";
  tests.families = families();
  tests.mutants = mutants();
  tests.controls = controls();
  std::vector<std::string> all;
  for (const char* operation : {"retention", "scalar_gates", "channel_gates", "delta_rule", "gated_delta_rule",
                                "channel_gated_delta_rule", "low_rank_rule"})
    all.push_back(std::string("linear_attention/") + operation);
  tests.sizes = sizes(all);
  tests.long_ones = {{all, {{"n", 2}}, {{"n", 1100}}}};
  tests.rests_on_convention = token_gates::has_nan_behind_first_token;
  tests.not_modelled = {{"fla-org/flash-linear-attention#1171",
                         "gates behind the width of a head are read from other memory: a fault of "
                         "addresses, which shows where that memory holds NaN"},
                        {"fla-org/flash-linear-attention#1077",
                         "more than 65535 / h sequences in one call: a launch that fails, and a full run has one"}};
  return tests;
}

}  // namespace assay::properties::encodings::linear_attention
