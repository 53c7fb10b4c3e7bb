// Positions that depend on the tokens: families of directions, shares and angles, and sizes.
#include <algorithm>
#include <cmath>

#include "properties/kinds/attention.hpp"
#include "reference/core/special_values.hpp"

namespace assay::properties::encodings::contextual {

std::vector<variant> mutants();  // variants.cpp
std::vector<variant> controls();

namespace {

using core::counter_random;
using core::dtype;

/// Draws beta of a token.
using share_source = double (*)(counter_random& random);
double usual_share(counter_random& random) { return 2.0 / (1.0 + std::exp(-random.normal())); }
double reflecting(counter_random& random) { return 2.0 - std::exp2(-random.uniform(4, 12)); }
double projecting(counter_random&) { return 1.0; }
double none(counter_random&) { return 0.0; }
double small(counter_random& random) { return std::exp2(-random.uniform(3, 12)); }

family of_path(std::string name, std::string summary, share_source share, input_filler then = as_drawn) {
  const auto fill = [share, then](drawn_inputs& in, const core::operation& op, dtype type, counter_random& random) {
    if (!in.numbers.contains("beta")) return;
    // Error bounds double with each move, although rotations keep lengths: in long calls only some tokens move keys.
    const double moving = 10.0 / static_cast<double>(std::max<std::size_t>(in.sizes.at("n"), 10));
    for (double& beta : in.numbers.at("beta")) beta = random.uniform(0, 1) < moving ? share(random) : 0.0;
    then(in, op, type, random);
    make_unit_rows(in.numbers.at("w"), in.sizes.at("d"));
  };
  return of_input("beta", attention_family(std::move(name), std::move(summary), fill));
}
// Replaces most rows of x by the row of y that lies `before` tokens earlier, if there is one.
void copy_rows(std::vector<double>& x, const std::vector<double>& y, std::size_t n, std::size_t d, std::size_t before,
               counter_random& random) {
  for (std::size_t k = x.size(); k >= d && d > 0; k -= d) {
    const std::size_t row = k / d - 1;
    if (row % n < before || random.one_in(4)) continue;
    for (std::size_t c = 0; c < d; ++c) x[row * d + c] = y[(row - before) * d + c];
  }
}
// A token repeats or undoes what the token before it does.
void alike_directions(drawn_inputs& in, const core::operation&, dtype, counter_random& random) {
  std::vector<double>& w = in.numbers.at("w");
  copy_rows(w, std::vector<double>(w), in.sizes.at("n"), in.sizes.at("d"), 1, random);
}
// The direction is the key of the token before: this key is moved.
void along_keys(drawn_inputs& in, const core::operation&, dtype, counter_random& random) {
  copy_rows(in.numbers.at("w"), in.numbers.at("k"), in.sizes.at("n"), in.sizes.at("d"), 1, random);
}
// The NaN stands in the value of the first token, which all queries see.
void nan_in_first_value(drawn_inputs& in, const core::operation&, dtype, counter_random& random) {
  std::vector<double>& v = in.numbers.at("v");
  if (!v.empty()) v[random.below(in.sizes.at("e"))] = std::nan("");
}

/// Draws an angle of a token at a place in the sequence.
using angle_source = double (*)(counter_random& random, std::size_t place);
double usual_angle(counter_random& random, std::size_t) { return random.normal(); }
double one_way(counter_random& random, std::size_t) { return random.uniform(1, 4); }
double to_and_fro(counter_random& random, std::size_t place) {
  return (place % 2 == 0 ? 1.0 : -1.0) * random.uniform(60, 100);
}
double tiny(counter_random& random, std::size_t) { return random.normal() * 0x1p-12; }
double no_angle(counter_random&, std::size_t) { return 0.0; }

// Temperatures are the frequencies of rotary encodings, each moved a little.
void draw_angles(drawn_inputs& in, angle_source angle, counter_random& random) {
  const std::size_t r = in.sizes.at("r"), row = std::max<std::size_t>(1, in.sizes.at("h") * r), n = in.sizes.at("n");
  std::vector<double>&phi = in.numbers.at("phi"), &temperature = in.numbers.at("temperature");
  for (std::size_t k = 0; k < phi.size(); ++k) phi[k] = angle(random, k / row % n);
  for (std::size_t k = 0; k < r; ++k)
    temperature[k] = std::pow(1e4, -static_cast<double>(k) / static_cast<double>(r)) * random.uniform(0.9, 1.1);
}
family of_angles(std::string name, std::string summary, angle_source angle, input_filler then = as_drawn) {
  const auto fill = [angle, then](drawn_inputs& in, const core::operation& op, dtype type, counter_random& random) {
    draw_angles(in, angle, random);
    then(in, op, type, random);
  };
  return of_input("phi", attention_family(std::move(name), std::move(summary), fill));
}
void behind_a_cache(drawn_inputs& in, const core::operation&, dtype type, counter_random& random) {
  // Gradients of temperatures are sums of many terms.
  const double most = std::min(30000.0, core::largest_finite(type) / 64);
  for (double& s : in.numbers.at("s0")) s = random.uniform(most / 30, most);
}
void from_nothing(drawn_inputs& in, const core::operation&, dtype, counter_random&) {
  for (double& s : in.numbers.at("s0")) s = 0.0;
}
void large_vectors(drawn_inputs& in, const core::operation&, dtype type, counter_random& random) {
  const double most = std::sqrt(core::largest_finite(type)) / 16;  // gradients of temperatures are sums of many terms
  for (double& x : in.numbers.at("x")) x = random.uniform(-1, 1) * most;
}
// A NaN in a vector stays in its pair; a NaN in an angle reaches all later tokens.
void nan_turns(drawn_inputs& in, const core::operation&, dtype, counter_random& random) {
  for (const char* name : {"x", "phi"}) {
    std::vector<double>& x = in.numbers.at(name);
    if (!x.empty()) x[random.below(x.size())] = std::nan("");
  }
}

std::vector<family> families() {
  family mild = by_input(
      "phi", of_angles("mild", "", usual_angle),
      of_path("mild", "beta as 2 sigmoid of numbers of order 1, w of any direction; angles of order 1", usual_share));
  mild.applies = [](const core::operation&) { return true; };
  return {
      mild,
      long_along("n", of_angles("one_way", "all angles from 1 to 4: sums grow", one_way)),
      of_angles("to_and_fro", "angles of about 80 and -80, which cancel", to_and_fro, from_nothing),
      of_angles("tiny_angles", "angles of order 2^-12", tiny, from_nothing),
      of_angles("behind_a_cache", "a sum of 1000 to 30000 before the first token, in f16 of up to 1000", usual_angle,
                behind_a_cache),
      of_angles("no_turn", "angles of 0 behind none: vectors stay as they are", no_angle, from_nothing),
      of_angles("large_vectors", "vectors far above 1", usual_angle, large_vectors),
      holding_nan(of_angles("nan_turns", "a NaN in a vector, and in an angle", usual_angle, nan_turns)),
      of_path("reflections", "beta just below 2", reflecting),
      of_path("projections", "beta = 1: what stands along w is lost", projecting),
      of_path("nothing_moves", "beta = 0: attention without positions", none),
      of_path("small_moves", "beta from 2^-12 to 2^-3", small),
      of_path("alike_directions", "w of a token is often that of the one before; beta just below 2", reflecting,
              alike_directions),
      of_path("along_keys", "w of a token is often the key of the one before", usual_share, along_keys),
      of_path("large_logits", "logits of order 100 to 1000: exp of them overflows", usual_share, large_logits),
      of_path("small_values", "values far below 1", usual_share, small_values),
      of_path("large_values", "values near the largest of the format", usual_share, large_values),
      holding_nan(of_path("nan_inside", "a NaN in a value of the first token", usual_share, nan_in_first_value)),
  };
}

// All tokens of a head move its keys: a case costs n n d.
std::vector<usual_size> sizes() {
  const std::vector<std::string> path{"contextual/path_attention"};
  const std::string axes = "B h n d e";
  std::vector<usual_size> all;
  add_sizes(
      all, path, axes,
      "5 9 3 3 2, 5 2 66 2 1, 66 2 3 2 2, 2 66 3 2 2, 1 9 66 1 2, 5 2 3 66 2, 5 2 3 2 66, 1 9 3 66 2, 1 9 3 2 66, "
      "1 2 3 66 66, 2 1 130 2 1, 2 1 127 1 2, 1 2 17 3 5");
  add_sizes(all, path, axes, "1 1 65 64 64, 1 1 65 128 128, 2 2 64 64 64", true, "mild");
  add_sizes(all, path, axes, "5 9 2 66 66, 1 1 66 2 2", true, every_family);
  add_sizes(all, path, axes, "1 1 258 5 5, 65537 1 1 1 1, 1 1 513 3 2", false);
  const std::vector<std::string> rotation{"contextual/selective_rotation"};
  add_sizes(all, rotation, "B n h r",
            "5 3 9 3, 5 66 1 2, 66 2 3 2, 5 2 2 66, 1 66 9 1, 1 66 1 33, 1 2 9 33, 2 130 2 3, 2 127 2 2, 2 64 2 32, "
            "1 65 1 64, 1 65 1 32, 1 17 5 3");
  add_sizes(all, rotation, "B n h r", "5 2 9 2, 1 66 1 33, 2 3 2 2", true, every_family);
  add_sizes(all, rotation, "B n h r", "2 128 2 64, 1 1025 1 3, 65537 1 1 1, 1 258 9 5", false);
  return all;
}

}  // namespace

encoding_tests make_tests() {
  encoding_tests tests;
  tests.name = "contextual";
  tests.families = families();
  tests.mutants = mutants();
  tests.controls = controls();
  tests.sizes = sizes();
  tests.long_ones = {{{"contextual/path_attention"}, {{"n", 2}}, {{"n", 160}}},
                     {{"contextual/selective_rotation"}, {{"n", 2}}, {{"n", 4100}}}};
  tests.not_modelled = {
      {"fla-org/flash-linear-attention#632", "blocks of values that are as wide as keys: code that does not compile"},
      {"fla-org/flash-linear-attention#769", "an index beyond 2^31: more than a gate run holds"}};
  return tests;
}

}  // namespace assay::properties::encodings::contextual
