// xPos: families, a law, and faults of public reports.
#include <algorithm>
#include <cmath>
#include <string>

#include "properties/faults/call_changes.hpp"
#include "properties/faults/declared_faults.hpp"
#include "properties/kinds/rotation.hpp"
#include "properties/kinds/rotation_faults.hpp"
#include "properties/kinds/table.hpp"
#include "reference/encodings/xpos.hpp"

namespace assay::properties::encodings::xpos {
namespace {

using encoding = reference::encodings::xpos;
using reference::formula::traced;
using index = reference::formula::traced_integer;
inline constexpr auto& changed = make_variant<encoding>;

// |m - c| at which the scale of the fastest pair reaches the largest number of the format to the power `share`. It is
// safe for the settings of a call and for the standard ones, which a law may use in their place.
double reach(core::dtype type, const core::attributes& settings, double share) {
  const double gamma = std::min(core::setting<double>(settings, "gamma"), 0.4),
               base = std::min(core::setting<double>(settings, "scale_base"), 512.0);
  return std::floor(share * base * std::log(core::largest_finite(type)) / std::log1p(1.0 / gamma));
}

// The same family with positions inside this reach of the centre.
family inside_reach(family f, double share) {
  f.generate = [make = f.generate, share](const core::operation& op, core::dtype type, const core::attributes& settings,
                                          core::counter_random& random, extent size) {
    core::tensors inputs = make(op, type, settings, random, size);
    const double most = std::min(reach(type, settings, share), 0x1p31 - 2.0);
    for (const core::tensor_declaration& d : op.inputs)
      if (d.role == core::input_role::position)
        for (double& m : inputs.at(d.name).values.storage()) m = std::fmod(m, most);
    return inputs;
  };
  return f;
}
std::vector<family> families() {
  std::vector<family> all;
  const family mild_table = table_family("", "", {{"position", in_a_row}});
  for (family& f : rotation_families()) {
    if (f.name == "wide" || f.name == "large_x") continue;  // times a scale such numbers overflow
    all.push_back(inside_reach(f, 0.5));
  }
  family& mild = all.front();
  mild.generate = [of_rotations = mild.generate, of_table = mild_table.generate](
                      const core::operation& op, core::dtype type, const core::attributes& settings,
                      core::counter_random& random, extent size) {
    return (op.input("x") || op.input("q") ? of_rotations : of_table)(op, type, settings, random, size);
  };
  mild.applies = [](const core::operation&) { return true; };
  all.push_back(inside_reach(table_family("scattered", "positions where formats end, inside the reach of the scale",
                                          {{"position", one_of(hard_positions)}}),
                             0.9));
  return all;
}

// z of queries times z of keys is 1.
void check_reciprocal(experiment& e) {
  const auto down = core::setting<bool>(e.c.call.attributes, "down");
  const numbers z(e.call(), "z"), w(e.call(with_setting(e.c, "down", !down)), "z");
  for (std::size_t i = 0; i < z.size(); ++i)
    e.equal(computed(1.0), z[i] * w[i], "scale {} of queries times that of keys", i);
}

bool has_center(const request& call) { return call.operation->attribute("center") != nullptr; }

std::optional<test_case> with_another_centre(const test_case& c) {
  const auto center = core::setting<std::int64_t>(core::completed(*c.call.operation, c.call.attributes), "center");
  return with_setting(c, "center", center + 3);
}

// Sets the centre for the number of tokens in the call.
void centre_of_this_call(request& call) {
  if (!has_center(call)) return;
  const std::size_t tokens =
      call.inputs.contains("x")
          ? call.inputs.at("x").shape()[1]
          : call.inputs.at(call.inputs.contains("k") ? "key_position" : "position").shape().back();
  set_setting(call, "center", static_cast<std::int64_t>(tokens / 2));
}

// Scales use the number of a token in its call, and angles use its position. For consecutive positions this is another
// centre.
void count_scales_from_0(request& call) {
  if (!has_center(call) || !call.inputs.contains("x")) return;
  const core::tensor& position = call.inputs.at("position");
  const auto& m = position.values.storage();
  for (std::size_t i = 0; i < m.size(); ++i)
    if (m[i] != m.front() + static_cast<double>(i % position.shape()[1])) return;
  if (!m.empty())
    change_setting<std::int64_t>(call, "center",
                                 [&](std::int64_t c) { return c + static_cast<std::int64_t>(m.front()); });
}

std::vector<variant> mutants() {
  std::vector<variant> all = reported_faults({
      {"mutant/xpos_offset_missing", "lucidrains/rotary-embedding-torch#27: no offset at all",
       "xpos/rotate/position/counted"},
      {"mutant/xpos_scores_of_other_base", "512 where a model has 2048", "xpos/scores/scale_base/ignored"},
      {"mutant/xpos_fixed_scale_base", "512 where a model has 2048", "xpos/rotate/scale_base/ignored"},
      {"mutant/xpos_rotary_ignored", "AI-Hypercomputer/maxtext#4616", "xpos/rotate/rotary/ignored"},
  });
  for (variant& v : faults_of_rotation<encoding>("xpos"))
    // Left out: scales end before angles reach 10^5, and no angle has a gradient.
    if (v.id != "mutant/xpos_reduction_runs_out_of_bits" && v.id != "mutant/xpos_torque_of_input")
      all.push_back(std::move(v));
  all.push_back(changed("mutant/xpos_centre_of_this_call",
                        "lucidrains/x-transformers#233: the centre of another length for cached keys",
                        "the centre is half the number of tokens of this call", {.inputs = centre_of_this_call}));
  all.push_back(changed("mutant/xpos_scales_counted", "lucidrains/rotary-embedding-torch#27: no offset in decoding",
                        "the scale is that of the number of a token in its call, and the angle that of its position",
                        {.inputs = count_scales_from_0}));
  all.push_back(changed("mutant/xpos_keys_grow", "one scale for queries and keys", "keys grow as queries do",
                        {.formula =
                             [](auto& scheme) {
                               scheme.away = [](const index& position, std::int64_t center, bool) {
                                 return position - index::constant(center);
                               };
                             },
                         .representative = true}));
  all.push_back(changed("mutant/xpos_keys_about_another_centre",
                        "lucidrains/x-transformers#233: a centre for queries and another one for cached keys",
                        "the centre of keys is three tokens off", {.formula = [](auto& scheme) {
                          scheme.away = [](const index& position, std::int64_t center, bool is_key) {
                            return encoding::away_from(position, is_key ? center + 3 : center, is_key);
                          };
                        }}));
  all.push_back(
      changed("mutant/xpos_scale_without_effect", "a scale that is found and not used", "scales are 1",
              {.formula = [](auto& scheme) { scheme.scale = [](const traced&, const traced&) { return traced(1.0); }; },
               .representative = true}));
  return all;
}

std::vector<variant> controls() {
  std::vector<variant> all = controls_of_rotation<encoding>("xpos");
  all.push_back(changed("control/xpos_reciprocal", "microsoft/torchscale: 1 / scale for keys",
                        "a power of a negative exponent is the reciprocal of a power", {.formula = [](auto& scheme) {
                          scheme.scale = [](const traced& zeta, const traced& e) {
                            return either(less(e, traced(0.0)), traced(1.0) / pow(zeta, -e), pow(zeta, e));
                          };
                        }}));
  all.push_back(
      changed("control/xpos_by_exp", "exp and log for a power", "exp(e log zeta)", {.formula = [](auto& scheme) {
                scheme.scale = [](const traced& zeta, const traced& e) { return exp(e * log(zeta)); };
              }}));
  return all;
}

}  // namespace

encoding_tests make_tests() {
  const std::vector<std::string> scale{"xpos/scale"}, rotate{"xpos/rotate"}, scores{"xpos/scores"};
  encoding_tests tests;
  tests.name = "xpos";
  tests.families = families();
  tests.rests_on_convention = has_special_value_at_angle_0;
  tests.sizes = rotation_sizes(rotate);
  for (const usual_size& size : table_sizes("xpos/scale", "r", 2)) tests.sizes.push_back(size);
  const core::attributes of_nemo{{"scale_base", 2048.0}, {"center", std::int64_t{65}}};
  tests.sizes.push_back({rotate, {{"B", 2}, {"n", 130}, {"h", 2}, {"d", 128}}, true, "", of_nemo});
  for (const usual_size& size : score_sizes(scores)) tests.sizes.push_back(size);
  tests.long_ones = {{rotate, {{"d", 2}}, {{"d", 16390}}},
                     {scale, {{"r", 1}}, {{"r", 33000}}},
                     {scores, {{"d", 2}, {"m", 1}, {"n", 1}}, {{"d", 4098}, {"u", 3}}}};
  tests.mutants = mutants();
  tests.controls = controls();
  for (property& p : laws_of_rotation("xpos", rotate))
    if (p.name == "xpos_certificate" || p.name == "xpos_nan_at_0") tests.laws.push_back(std::move(p));
  for (property& p : laws_of_scores("xpos_scores", scores)) tests.laws.push_back(std::move(p));
  property center = law("xpos_center", "another centre: the same scores", {scores, {"mild", "left_padding", "decode"}},
                        agree_after(with_another_centre, "with another centre"));
  center.stays_because = "it says that the centre is a convention: queries and keys of unlike centres break it";
  tests.laws.push_back(std::move(center));
  tests.laws.push_back(law("xpos_reciprocal", "the scales of queries and of keys are reciprocal",
                           {scale, {"mild", "scattered"}}, {2, check_reciprocal}));
  return tests;
}

}  // namespace assay::properties::encodings::xpos
