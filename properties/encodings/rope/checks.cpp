// Rotary position embedding: families of bases, sizes, laws.
#include <algorithm>
#include <cmath>

#include "properties/kinds/rotation.hpp"

namespace assay::properties::encodings::rope {

std::vector<variant> mutants();
std::vector<variant> controls();

namespace {

using core::counter_random;
using core::dtype;

using base_filler = double (*)(dtype type, counter_random& random);

double usual_base(dtype type, counter_random& random) {
  constexpr double usual[] = {10000, 100, 500000, 1000000};
  return usual[random.below(type == dtype::f16 ? 2 : std::size(usual))];
}
double base_near_one(dtype, counter_random& random) {
  return 1.0 + std::ldexp(random.uniform(1, 2), -1 - static_cast<int>(random.below(9)));
}
double wide_base(dtype type, counter_random& random) {
  return std::exp2(random.uniform(0, std::ilogb(core::largest_finite(type))));
}

family of_bases(std::string name, std::string summary, base_filler fill) {
  family f{std::move(name), std::move(summary)};
  f.generate = [fill](const core::operation&, dtype type, const core::attributes&, counter_random& random,
                      extent size) -> core::tensors {
    const std::size_t count = size.is_given()                     ? size.axis("k", 3)
                              : size.range == lengths::short_ones ? random.below(5)
                                                                  : 12;
    std::vector<double> bases(count);
    // A base that a format rounds to 1 would have one frequency alone.
    for (double& base : bases) base = std::max(fill(type, random), 1.0 + 2.0 * core::unit_roundoff(type));
    return {{"base", core::make_tensor(type, {count}, bases)}};
  };
  f.applies = [](const core::operation& op) { return op.input("base") != nullptr; };
  return f;
}

// The mild family has operations of all kinds.
family with_usual_bases(family mild) {
  mild.summary += "; the usual bases";
  mild.generate = [of_rotations = mild.generate, bases = of_bases("", "", usual_base).generate](
                      const core::operation& op, dtype type, const core::attributes& settings, counter_random& random,
                      extent size) { return (op.input("x") ? of_rotations : bases)(op, type, settings, random, size); };
  mild.applies = [](const core::operation&) { return true; };
  return mild;
}

}  // namespace

encoding_tests make_tests() {
  const std::vector<std::string> rotate{"rope/rotate"}, rotate_by{"rope/rotate_by"},
      rotations{"rope/rotate", "rope/rotate_by"}, frequencies{"rope/frequencies"};
  using std::int64_t;
  encoding_tests tests;
  tests.name = "rope";
  tests.families = rotation_families();
  tests.families.front() = with_usual_bases(tests.families.front());
  tests.families.push_back(of_bases("bases_near_one", "bases from 1.5 down to 1 + 2^-10", base_near_one));
  tests.families.push_back(of_bases("wide_bases", "bases from 1 to near the largest number", wide_base));
  tests.rests_on_convention = has_special_value_at_angle_0;
  tests.sizes = rotation_sizes(rotations);
  const core::attributes as_gpt_j{{"rotary", int64_t{24}}, {"base", 1e4}, {"position_scale", 1.0}},
      odd{{"rotary", int64_t{13}}, {"position_scale", 3.0}}, quarter{{"rotary", int64_t{24}}}, slow{{"base", 1e6}};
  for (const usual_size& size : std::vector<usual_size>{
           {rotate, {{"B", 2}, {"n", 130}, {"h", 2}, {"d", 128}}, true, "", slow},
           {rotate, {{"B", 3}, {"n", 66}, {"h", 3}, {"d", 96}}, true, "", quarter},
           {rotate, {{"B", 2}, {"n", 9}, {"h", 2}, {"d", 96}}, true, "", as_gpt_j},
           {rotate, {{"B", 2}, {"n", 9}, {"h", 2}, {"d", 66}}, true, "", odd},
           {rotate_by, {{"B", 2}, {"n", 130}, {"h", 2}, {"d", 128}}, true},
           {rotate_by, {{"B", 2}, {"n", 66}, {"h", 9}, {"d", 66}}, true, "real_positions"},
           {frequencies, {{"k", 3}, {"r", 65}}, true},
           {frequencies, {{"k", 4}, {"r", 64}}, true},
           {frequencies, {{"k", 3}, {"r", 66}}, true, every_family},
           {frequencies, {{"k", 65}, {"r", 128}}},
           {frequencies, {{"k", 2}, {"r", 2048}}},
       })
    tests.sizes.push_back(size);
  tests.long_ones = {{rotate, {{"d", 2}}, {{"d", 16390}}},
                     {rotate_by, {{"d", 2}, {"r", 0}}},
                     {frequencies, {{"r", 1}}, {{"r", 33000}}}};
  tests.mutants = mutants();
  tests.controls = controls();
  tests.not_modelled = {
      {"RP06 lucidrains/rotary-embedding-torch#27", "no operation has the scales of xPos"},
      {"RP11 vllm-project/vllm#41236, vllm-project/vllm#3488",
       "no operation has the trained length that dynamic scaling compares with; a base that is always stretched is "
       "mutant/rope_base_always_scaled"},
      {"RP16 NVIDIA/TensorRT-LLM#16379", "no operation has the factor by which YaRN multiplies scores"},
  };
  tests.laws = laws_of_rotation("rotation", rotations);
  return tests;
}

}  // namespace assay::properties::encodings::rope
