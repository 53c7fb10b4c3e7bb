// Log-linear attention: families of gates and of weights of levels, and sizes.
#include "properties/kinds/token_gates.hpp"
#include "reference/core/special_values.hpp"
#include "reference/encodings/log_linear_attention.hpp"

namespace assay::properties::encodings::log_linear_attention {

std::vector<variant> mutants();  // variants.cpp
std::vector<variant> controls();

namespace {

using core::counter_random;
using core::dtype;

// Weights of levels as softplus of numbers of order 1, then what a family changes.
family of_levels(std::string name, std::string summary, token_gates::gate_source gate, input_filler then = as_drawn) {
  return attention_family(
      std::move(name), std::move(summary),
      [gate, then](drawn_inputs& in, const core::operation& op, dtype type, counter_random& random) {
        for (double& lambda : in.numbers.at("level_scales")) lambda = std::log1p(std::exp(lambda));
        token_gates::draw(in, gate, random);
        then(in, op, type, random);
      });
}
// Each query reads one level alone, or two.
void one_level(drawn_inputs& in, const core::operation&, dtype, counter_random& random) {
  const std::size_t levels = in.sizes.at("l");
  std::vector<double>& lambda = in.numbers.at("level_scales");
  for (std::size_t first = 0; first < lambda.size(); first += levels) {
    const std::size_t one = random.below(levels), other = random.below(levels);
    for (std::size_t l = 0; l < levels; ++l)
      if (l != one && l != other) lambda[first + l] = 0.0;
  }
}
// The further a level is, the more it weighs: far tokens, which are many, are not lost beside the near ones.
void far_levels(drawn_inputs& in, const core::operation&, dtype, counter_random&) {
  const std::size_t levels = in.sizes.at("l");
  std::vector<double>& lambda = in.numbers.at("level_scales");
  for (std::size_t k = 0; k < lambda.size(); ++k) lambda[k] *= static_cast<double>(k % levels + 1);
}
void either_sign(drawn_inputs& in, const core::operation&, dtype, counter_random& random) {
  for (double& lambda : in.numbers.at("level_scales")) lambda *= random.normal();
}

std::vector<family> families() {
  using namespace token_gates;
  // Along tokens, what lies far behind weighs something if gates are slow.
  return {
      of_levels("mild", "gates as log sigmoid, weights of levels as softplus of numbers of order 1", usual),
      long_along("n", of_levels("slow_gates", "g from -2^-5 to -2^-14: a long memory", slow)),
      of_levels("far_levels", "g = 0, and far levels weigh more", none, far_levels),
      parting_classes(of_levels("slow_behind_fast",
                                "g from -40 to -80, then of a long memory: large sums, small differences",
                                slow_behind_fast)),
      long_along("n", of_levels("no_fading", "g = 0", none)),
      of_levels("fast_gates", "g from -3 to -30", fast),
      of_levels("resets", "one gate in five forgets: g = -1000", now_and_then),
      of_levels("one_level", "a query reads one level or two; a long memory", slow, one_level),
      of_levels("either_sign", "weights of levels of either sign", slow, either_sign),
      of_levels("small_values", "values far below 1", usual, small_values),
      of_levels("large_values", "values far above 1", usual, large_numbers),
      holding_nan(
          of_levels("nan_inside", "a NaN in some keys and values of the first token", usual, nan_in_first_token)),
  };
}

// Each size has as many levels as its tokens need, or more.
std::vector<usual_size> sizes(const std::vector<std::string>& operations) {
  const std::string axes = "B n h d e l";
  std::vector<usual_size> all;
  add_sizes(all, operations, axes,
            "5 3 9 3 2 3, 5 66 1 3 2 8, 5 3 2 66 2 3, 5 3 2 2 66 3, 1 66 9 2 3 8, 1 3 9 66 2 4, 1 3 9 2 66 3, "
            "1 66 1 66 2 8, 1 66 2 2 66 9, 2 130 2 3 2 9, 2 127 2 2 3 8, 66 2 1 2 2 2, 1 2 66 2 2 3, 1 17 5 2 3 6");
  add_sizes(all, operations, axes, "1 65 1 64 64 8, 1 65 1 128 128 8, 2 64 2 64 64 8", true, "mild");
  add_sizes(all, operations, axes, "5 3 9 2 2 3, 1 66 1 3 2 8, 1 2 1 66 66 2", true, every_family);
  add_sizes(all, operations, axes,
            "2 128 2 64 64 8, 1 66 1 128 256 8, 1 1025 1 3 2 12, 65537 1 1 1 1 1, 1 258 9 5 5 10", false);
  return all;
}

}  // namespace

encoding_tests make_tests() {
  encoding_tests tests;
  tests.name = "log_linear_attention";
  tests.families = families();
  tests.mutants = mutants();
  tests.controls = controls();
  const std::vector<std::string> all{"log_linear_attention/scalar_gates"};
  tests.sizes = sizes(all);
  tests.long_ones = {{all, {{"n", 2}, {"l", 13}}, {{"n", 1100}}}};
  tests.rests_on_convention = token_gates::has_nan_behind_first_token;
  return tests;
}

}  // namespace assay::properties::encodings::log_linear_attention
