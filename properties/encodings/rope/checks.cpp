// Rotary position embedding: families of bases, sizes, laws.
#include <algorithm>
#include <cmath>

#include "properties/encodings/rope/longer_contexts.hpp"
#include "properties/faults/scheme_variant.hpp"
#include "properties/kinds/rotation.hpp"
#include "properties/kinds/table.hpp"

namespace assay::properties::encodings::rope {

std::vector<variant> mutants();
std::vector<variant> controls();

namespace {

// A base that a format rounds to 1 would give only one frequency.
double no_less(double base, const drawing& from) { return std::max(base, 1.0 + 2.0 * core::unit_roundoff(from.type)); }
double base_near_one(const drawing& from) {
  return no_less(1.0 + std::ldexp(from.random.uniform(1, 2), -1 - static_cast<int>(from.random.below(9))), from);
}
double wide_base(const drawing& from) {
  return no_less(std::exp2(from.random.uniform(0, std::ilogb(core::largest_finite(from.type)))), from);
}

// For frequencies without stretched contexts only: elsewhere bases begin at 2, and their products must be finite too.
family of_bases(const char* name, const char* summary, double (*base)(const drawing& from)) {
  family f = table_family(name, summary, {{"base", each(base)}});
  f.applies = [](const core::operation& op) { return op.name == "rope/frequencies"; };
  return f;
}

// The mild family is for operations of all kinds.
family with_usual_numbers(family mild) {
  mild.summary += "; the usual bases and factors";
  mild.generate = [of_rotations = mild.generate, numbers = usual_numbers().generate](
                      const core::operation& op, core::dtype type, const core::attributes& settings,
                      core::counter_random& random, extent size) {
    return (op.input("x") || op.input("q") ? of_rotations : numbers)(op, type, settings, random, size);
  };
  mild.applies = [](const core::operation&) { return true; };
  return mild;
}

}  // namespace

encoding_tests make_tests() {
  const std::vector<std::string> rotate{"rope/rotate"}, rotate_by{"rope/rotate_by"},
      rotations{"rope/rotate", "rope/rotate_by"},
      frequencies{"rope/frequencies", "rope/extended_frequencies", "rope/divided_frequencies",
                  "rope/switched_frequencies"};
  using std::int64_t;
  using namespace std::string_literals;
  encoding_tests tests;
  tests.name = "rope";
  tests.families = rotation_families();
  tests.families.front() = with_usual_numbers(tests.families.front());
  tests.families.push_back(of_bases("bases_near_one", "bases from 1.5 down to 1 + 2^-10", base_near_one));
  tests.families.push_back(of_bases("wide_bases", "bases from 1 to near the largest number", wide_base));
  for (family& f : families_of_longer_contexts()) tests.families.push_back(std::move(f));
  tests.rests_on_convention = has_special_value_at_angle_0;
  tests.sizes = rotation_sizes({"rope/rotate", "rope/rotate_by", "rope/rotate_extended", "rope/rotate_divided"});
  const core::attributes as_gpt_j{{"rotary", int64_t{24}}, {"base", 1e4}, {"position_scale", 1.0}},
      odd{{"rotary", int64_t{13}}, {"position_scale", 3.0}}, quarter{{"rotary", int64_t{24}}}, slow{{"base", 1e6}},
      as_gemma_4{{"rotary", int64_t{64}},
                 {"partial", "proportional"s},
                 {"at", "start"s},
                 {"layout", "half_split"s},
                 {"base", 1e6}},
      as_phi_4{{"rotary", int64_t{48}},
               {"partial", "block"s},
               {"at", "start"s},
               {"layout", "half_split"s},
               {"magnitude", std::sqrt(1 + std::log(32) / std::log(4096))}},
      as_deepseek_v3{
          {"rotary", int64_t{32}}, {"partial", "block"s}, {"at", "end"s}, {"layout", "interleaved"s}, {"base", 1e4}},
      as_glm_4{
          {"rotary", int64_t{32}}, {"partial", "block"s}, {"at", "start"s}, {"layout", "interleaved"s}, {"base", 1e4}};
  core::attributes scores_of_deepseek_v3 = as_deepseek_v3;
  scores_of_deepseek_v3["logit_factor"] = std::pow(0.1 * std::log(40) + 1, 2);
  for (const usual_size& size : std::vector<usual_size>{
           {rotate, {{"B", 2}, {"n", 130}, {"h", 2}, {"d", 128}}, true, "", slow},
           {rotate, {{"B", 3}, {"n", 66}, {"h", 3}, {"d", 96}}, true, "", quarter},
           {rotate, {{"B", 2}, {"n", 9}, {"h", 2}, {"d", 96}}, true, "", as_gpt_j},
           {rotate, {{"B", 2}, {"n", 9}, {"h", 2}, {"d", 66}}, true, "", odd},
           {rotate,
            {{"B", 2}, {"n", 9}, {"h", 66}, {"d", 10}},
            true,
            "",
            {{"partial", "proportional"s}, {"at", "start"s}}},
           {rotate, {{"B", 1}, {"n", 9}, {"h", 2}, {"d", 512}}, true, "", as_gemma_4},
           {rotate, {{"B", 1}, {"n", 9}, {"h", 2}, {"d", 128}}, true, "", as_phi_4},
           {rotate, {{"B", 1}, {"n", 9}, {"h", 2}, {"d", 192}}, true, "", as_deepseek_v3},
           {rotate, {{"B", 1}, {"n", 9}, {"h", 2}, {"d", 128}}, true, "", as_glm_4},
           {{"rope/scores"}, {{"B", 1}, {"h", 1}, {"n", 3}, {"m", 9}, {"d", 192}}, true, "", scores_of_deepseek_v3},
           {rotate_by, {{"B", 2}, {"n", 130}, {"h", 2}, {"d", 128}}, true},
           {rotate_by, {{"B", 2}, {"n", 66}, {"h", 9}, {"d", 66}}, true, "real_positions"},
           {frequencies, {{"k", 3}, {"r", 65}}, true},
           {frequencies, {{"k", 4}, {"r", 64}}, true},
           {frequencies, {{"k", 2}, {"r", 48}}, true},
           {frequencies, {{"k", 3}, {"r", 66}}, true, every_family},
           {frequencies, {{"k", 65}, {"r", 128}}},
           {frequencies, {{"k", 2}, {"r", 2048}}},
       })
    tests.sizes.push_back(size);
  tests.long_ones = {{rotate, {{"d", 2}}, {{"d", 16390}}},
                     {{"rope/rotate_extended"}, {{"d", 2}}, {{"d", 2050}}},
                     {{"rope/rotate_by", "rope/rotate_divided"}, {{"d", 2}, {"r", 0}}},
                     {frequencies, {{"r", 1}}, {{"k", 1026}, {"r", 33000}}},  // a program has one base, or a few
                     {{"rope/magnitude"}, {}, {{"k", 1026}}},
                     {{"rope/scores"}, {{"d", 2}, {"m", 1}, {"n", 1}}, {{"d", 4098}, {"u", 3}}}};
  for (usual_size& size : score_sizes({"rope/scores"})) tests.sizes.push_back(std::move(size));
  tests.sizes.push_back({{"rope/rotate_divided"}, {{"B", 2}, {"n", 66}, {"h", 2}, {"d", 128}, {"r", 48}}, true});
  for (usual_size& size : sizes_of_published_models()) tests.sizes.push_back(std::move(size));
  tests.mutants = all_of({mutants(), mutants_of_longer_contexts()});
  tests.controls = all_of({controls(), controls_of_longer_contexts()});
  tests.hypotheses = scaled_rotations();
  tests.laws = laws_of_rotation("rotation", rotations);
  for (property& p : laws_of_scores("scores", {"rope/scores"})) tests.laws.push_back(std::move(p));
  return tests;
}

}  // namespace assay::properties::encodings::rope
