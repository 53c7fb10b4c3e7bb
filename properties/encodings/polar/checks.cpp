// PoPE: families of rotary scores with phases, and with contents of small or large magnitude. GRAPE: planes.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "properties/kinds/attention.hpp"
#include "properties/kinds/rotation.hpp"

namespace assay::properties::encodings::polar {

std::vector<variant> mutants();  // variants.cpp
std::vector<variant> controls();

namespace {

using core::counter_random;
using core::dtype;

// Families.

// Phases inside one turn, at 0 (where training begins), or outside the bounds: rounding to a short format moves none
// across a bound.
double drawn_phase(counter_random& random) {
  if (random.one_in(4)) return 0.0;
  if (random.one_in(6)) return random.uniform(0.25, 2.0);
  if (random.one_in(6)) return random.uniform(-9.0, -6.5);
  return random.uniform(-6.0, -0.125);
}
/// The way in which queries and keys are drawn: as the family draws them, or near a number.
struct contents {
  double about = 0.0, spread = 1.0;
};
/// A family of scores of rotations with phases; r of d features turn.
family with_phases(family f, contents numbers = {}) {
  const bool holds_nan = f.holds_nan;
  f.generate = [make = f.generate, numbers, holds_nan](const core::operation& op, dtype type,
                                                       const core::attributes& settings, counter_random& random,
                                                       extent size) {
    if (size.is_given()) size.axes["d"] = std::max(size.axis("d", 2), size.axis("r", 0));
    core::tensors inputs = make(op, type, settings, random, size);
    const std::size_t heads = inputs.at("k").shape()[2], d = inputs.at("k").shape()[3];
    // With one query and one key at one place, the gradient of a phase of 0 would be 0, which no enclosure proves.
    if (inputs.at("q").shape()[1] == 1 && inputs.at("k").shape()[1] == 1)
      for (double& m : inputs.at("query_position").values.storage()) m = std::min(m + 1.0, core::largest_finite(type));
    const std::size_t all = !size.is_given() && random.one_in(3) ? random.below(d + 1) : d;
    const std::size_t r = size.is_given() ? size.axis("r", all) : all;
    std::vector<double> phase(heads * r);
    for (double& x : phase) x = drawn_phase(random);
    if (holds_nan && random.one_in(3) && !phase.empty()) phase[random.below(phase.size())] = std::nan("");
    inputs.emplace("phase", core::make_tensor(type, {heads, r}, phase));
    if (numbers.about != 0.0)
      for (const char* name : {"q", "k"})
        for (double& x : inputs.at(name).values.storage()) x = core::round_to(type, numbers.about + numbers.spread * x);
    return inputs;
  };
  return f;
}
/// The place of the two vectors of a plane to each other.
enum class lie { apart, nearly_parallel, along_axes };
/// A family of rotations in planes of two vectors with lengths of about 1; the angle per position is from 10^-4 to 1.
family with_planes(family f, lie relation) {
  f.generate = [make = f.generate, relation](const core::operation& op, dtype type, const core::attributes& settings,
                                             counter_random& random, extent size) {
    if (size.is_given()) size.axes["d"] = std::max<std::size_t>(size.axis("d", 4), 2);
    core::tensors inputs = make(op, type, settings, random, size);
    while (inputs.at("x").shape()[3] < 2) inputs = make(op, type, settings, random, size);
    const std::size_t heads = inputs.at("x").shape()[2], d = inputs.at("x").shape()[3];
    std::vector<double> a(heads * d), b(heads * d), omega(heads);
    for (std::size_t h = 0; h < heads; ++h) {
      const auto element = [&](std::vector<double>& x, std::size_t k) -> double& { return x[h * d + k]; };
      double aa = 0, ab = 0, bb = 0;
      for (std::size_t k = 0; k < d; ++k) {
        element(a, k) = random.normal() / std::sqrt(static_cast<double>(d)), element(b, k) = random.normal();
        aa += element(a, k) * element(a, k), ab += element(a, k) * element(b, k);
      }
      for (std::size_t k = 0; k < d; ++k) element(b, k) -= ab / aa * element(a, k), bb += element(b, k) * element(b, k);
      // The part of b beside a has length 1, or less, and b also has a share of a. Short formats keep no digit of a
      // small area.
      const double narrow = type == dtype::f16 || type == dtype::bf16 ? 0.5 : 0x1p-4;
      const double apart = (relation == lie::nearly_parallel ? narrow : 1.0) / std::sqrt(bb),
                   share = random.uniform(-1, 1);
      for (std::size_t k = 0; k < d; ++k)
        element(b, k) = apart * element(b, k) +
                        (relation == lie::nearly_parallel ? std::copysign(1.0, share) : share) * element(a, k);
      const std::size_t first = random.below(d), second = (first + 1 + random.below(d - 1)) % d;
      for (std::size_t k = 0; relation == lie::along_axes && k < d; ++k)
        element(a, k) = k == first ? 1.0 : 0.0, element(b, k) = k == second ? 1.0 : 0.0;
      omega[h] = random.uniform(0.5, 1) * std::pow(10.0, -random.uniform(0, 4)) / std::sqrt(aa) /
                 (relation == lie::nearly_parallel ? narrow : 1.0);
    }
    inputs.emplace("a", core::make_tensor(type, {heads, d}, a));
    inputs.emplace("b", core::make_tensor(type, {heads, d}, b));
    inputs.emplace("omega", core::make_tensor(type, {heads}, omega));
    // Gradients sum positions times torques; at large positions f16 cannot hold such sums.
    if (type == dtype::f16)
      for (double& m : inputs.at("position").values.storage())
        if (m > 8.0) m = std::fmod(m, 8.0) + 1.0;
    return inputs;
  };
  return f;
}
/// A family for both operations.
family of_both(const family& f) { return by_input("q", with_phases(f), with_planes(f, lie::apart)); }
family renamed_planes(family f, const char* name, const char* summary, lie relation) {
  f.name = name, f.summary = summary;
  return with_planes(of_input("omega", std::move(f)), relation);
}
family renamed(family f, const char* name, const char* summary, contents numbers) {
  f.name = name, f.summary = summary;
  return with_phases(of_input("q", std::move(f)), numbers);
}
std::vector<family> families() {
  const auto of = [](const char* name) {
    family f = rotation_family(name);
    f.parts_classes = false;
    return f;
  };
  std::vector<family> all{parting_classes(of_both(of("mild")))};
  for (const char* name : {"large_positions", "left_padding", "decode", "large_x"}) all.push_back(of_both(of(name)));
  all.push_back(
      parting_classes(renamed(of("mild"), "small", "contents about -5: magnitudes far below 1", {-5.0, 0.5})));
  all.push_back(
      renamed(of("mild"), "about_20", "contents about 20: where published softplus becomes linear", {20.0, 1.0}));
  all.push_back(renamed_planes(of("mild"), "nearly_parallel",
                               "vectors whose area is a 16th of their lengths, half in short formats",
                               lie::nearly_parallel));
  all.push_back(
      renamed_planes(of("mild"), "along_axes", "planes of two coordinates, as RoPE has them", lie::along_axes));
  all.push_back(of_both(of("nan_inside")));
  return all;
}

// Laws.

// If all tokens stand at one place and phases are 0, a score is the sum of products of magnitudes, whatever the place
// is.
std::optional<test_case> at_one_place(const test_case& c) {
  test_case other = c;
  for (const char* name : {"query_position", "key_position"})
    for (double& m : other.call.inputs.at(name).values.storage()) m = 7.0;
  for (double& x : other.call.inputs.at("phase").values.storage()) x = 0.0;
  return other;
}
std::optional<test_case> at_the_first_place(const test_case& c) {
  test_case other = *at_one_place(c);
  for (const char* name : {"query_position", "key_position"})
    for (double& m : other.call.inputs.at(name).values.storage()) m = 0.0;
  return other;
}
// |y| = |x|.
void check_length(experiment& e) {
  const numbers y(e.call(), "y");
  const given_numbers x(e.c, "x");
  const std::size_t d = y.shape[3];
  for (std::size_t v = 0; v < y.size(); v += d) {
    approximate before, after;
    for (std::size_t k = v; k < v + d; ++k) before += x[k] * x[k], after += y[k] * y[k];
    e.equal(before, after, "the squared length of vector {}", v / d);
  }
}
// Whether the vectors of some plane are nearly parallel: the formula divides by the area.
bool is_without_plane(const request& call) {
  if (call.operation->input("omega") == nullptr) return false;
  const core::tensor &a = call.inputs.at("a"), &b = call.inputs.at("b");
  for (std::size_t h = 0; h < a.shape()[0]; ++h) {
    double aa = 0, ab = 0, bb = 0;
    for (std::size_t k = 0; k < a.shape()[1]; ++k)
      aa += a.values(h, k) * a.values(h, k), ab += a.values(h, k) * b.values(h, k),
          bb += b.values(h, k) * b.values(h, k);
    if (!(aa * bb - ab * ab > 0x1p-40 * aa * bb)) return true;
  }
  return false;
}
std::vector<property> laws() {
  const std::vector<std::string> scores{"polar/scores"};
  std::vector<property> all = laws_of_scores("polar_scores", scores);
  all.push_back(law("polar_no_phase", "without phases and distances scores are those of magnitudes, wherever they are",
                    {scores, {"mild", "small"}},
                    agree_between(at_one_place, at_the_first_place, "all tokens at one place")));
  all.push_back(law("polar_length", "rotations keep the length of a vector",
                    {{"polar/grape_rotation"}, {"mild", "left_padding", "decode", "along_axes"}}, {1, check_length}));
  return all;
}

// Only two or three axes are large together: sines and products of all of them are expensive.
std::vector<usual_size> sizes(const std::vector<std::string>& scores, const std::vector<std::string>& grape) {
  std::vector<usual_size> all;
  const char* const of_scores = "B h n m d r";
  add_sizes(all, scores, of_scores, "5 9 2 1 3 3, 1 1 66 130 1 1, 1 1 2 3 66 34", true, every_family);
  add_sizes(all, scores, of_scores,
            "5 1 66 130 1 1, 1 9 66 130 1 1, 5 1 1 2 66 34, 1 9 2 1 66 34, 1 1 66 2 66 34, 1 1 2 130 66 34, "
            "2 2 129 3 2 2, 2 2 3 130 2 2, 1 2 63 191 2 2, 1 1 2 66 64 64, 1 1 2 66 128 128");
  all.push_back({scores,
                 {{"B", 2}, {"h", 2}, {"n", 64}, {"m", 64}, {"d", 64}, {"r", 32}},
                 true,
                 "",
                 {{"group", std::int64_t{1}}}});
  add_sizes(all, scores, of_scores, "5 9 66 130 66 34, 1 2 66 130 128 128, 2 2 2 4097 6 6", false);
  add_sizes(all, grape, "B n h d", "5 1 9 66, 1 66 1 3", true, every_family);
  add_sizes(all, grape, "B n h d",
            "5 66 1 2, 1 66 9 2, 1 66 1 66, 2 130 2 3, 1 127 2 2, 1 66 1 64, 1 66 1 128, 2 64 2 64, 1 3 2 515");
  add_sizes(all, grape, "B n h d", "3 127 3 66, 5 66 9 130, 1 4097 1 6", false);
  return all;
}

}  // namespace

encoding_tests make_tests() {
  const std::vector<std::string> scores{"polar/scores"}, grape{"polar/grape_rotation"};
  encoding_tests tests;
  tests.name = "polar";
  tests.families = families();
  tests.rests_on_convention = is_without_plane;
  tests.sizes = sizes(scores, grape);
  tests.long_ones = {{scores,
                      {{"d", 2}, {"r", 2}, {"m", 1}, {"n", 1}},
                      {{"B", 2050}, {"h", 2050}, {"n", 2050}, {"m", 2050}, {"d", 4098}, {"r", 514}, {"u", 3}}},
                     {grape, {{"d", 2}}, {{"B", 4098}, {"h", 4098}, {"n", 4098}, {"d", 2050}}}};
  tests.mutants = mutants();
  tests.controls = controls();
  tests.laws = laws();
  return tests;
}

}  // namespace assay::properties::encodings::polar
