// Wrong and right ways to compute magnitudes, phases and their products.
#include "properties/faults/call_changes.hpp"
#include "properties/faults/declared_faults.hpp"
#include "properties/faults/scheme_variant.hpp"
#include "reference/encodings/polar.hpp"

namespace assay::properties::encodings::polar {
namespace {

using core::dtype;
using encoding = reference::encodings::polar;
using reference::complex_numbers;
using reference::formula::traced;
inline constexpr auto& changed = make_variant<encoding>;

auto with_softplus(traced (*function)(const traced& x)) {
  return [function](auto& scheme) { scheme.softplus_of = function; };
}
traced overflowing(const traced& x) { return log(traced(1.0) + exp(x)); }
// The slope is exp(x) times 1/(1 + exp(x)); for x above 80 it is 0.
traced with_lost_slope(const traced& x) {
  const traced slope = exp(x) * (traced(1.0) / (traced(1.0) + exp(x)));
  return with_slope(softplus(x), x, either(less(traced(80.0), x), traced(0.0), slope));
}
traced rectified(const traced& x) { return larger(x, traced(0.0)); }
traced by_magnitude(const traced& x) { return larger(x, traced(0.0)) + log1p(exp(-magnitude_of(x))); }
auto with_angle(traced (*angle)(const traced& turned, const traced& delta)) {
  return [angle](auto& scheme) { scheme.angle = angle; };
}
auto with_clamp(traced (*clamp)(const traced& delta)) {
  return [clamp](auto& scheme) { scheme.clamped = clamp; };
}
// The slope if the bound 0 itself counts as outside.
traced without_slope_at_0(const traced& delta) {
  const traced cut = encoding::cut_at_a_turn(delta);
  return either(equal(cut, traced(0.0)), detach(cut), cut);
}
traced with_slope_everywhere(const traced& delta) { return with_gradient_of(encoding::cut_at_a_turn(delta), delta); }

auto with_area(traced (*area)(const reference::spanned_plane& plane)) {
  return [area](auto& scheme) { scheme.squared_area = area; };
}
auto with_plane_angle(traced (*plane_angle)(const traced& position, const traced& omega, const traced& area)) {
  return [plane_angle](auto& scheme) { scheme.plane_angle = plane_angle; };
}
auto with_plane_turn(reference::plane_turn (*turn)(const traced& angle, const traced& area, const traced& squared)) {
  return [turn](auto& scheme) { scheme.plane_turn_at = turn; };
}
reference::plane_turn turned_back(const traced& angle, const traced& area, const traced& squared) {
  return {-sine_of(angle) / area, (traced(1.0) - cosine_of(angle)) / squared};
}
reference::plane_turn divided_once(const traced& angle, const traced& area, const traced&) {
  return {sine_of(angle) / area, (traced(1.0) - cosine_of(angle)) / area};
}
reference::plane_turn by_half_angle(const traced& angle, const traced& area, const traced&) {
  const traced part = sin(traced(0.5) * angle) / area;
  return {sin(angle) / area, traced(2.0) * part * part};
}

}  // namespace

std::vector<variant> mutants() {
  return all_of(
      {reported_faults({
           {"mutant/polar_queries_counted", "Blaizzy/mlx-vlm#1983: each decoded token stands at position 0",
            "polar/scores/query_position/counted"},
           {"mutant/polar_no_bias", "a phase that is learned and not added", "polar/scores/phase/zeroed"},
           {"mutant/polar_heads_in_groups", "repeat_interleave for the repeat of heads in lucidrains/PoPE-pytorch",
            "polar/scores/heads/ignored"},
           {"mutant/polar_base_ignored", "AI-Hypercomputer/maxtext#4616: a constant of RoPE",
            "polar/scores/base/ignored"},
           {"mutant/polar_grape_counted", "lucidrains/rotary-embedding-torch#27: no offset at all",
            "polar/grape_rotation/position/counted"},
           {"mutant/polar_bound_ignored", "a parameter that is cut at each step of training, and not where it is used",
            "polar/scores/bound/always_free"},
       }),
       {
           changed("mutant/polar_softplus_overflows", "tracel-ai/burn#5373, 1bit-MONSTER/1bit-MONSTER#628",
                   "log(1 + exp(x)) of any x", {.formula = with_softplus(overflowing)}),
           changed("mutant/polar_slope_lost", "tenstorrent/tt-metal#56397: the slope of softplus where exp overflows",
                   "magnitudes above 80 have the slope 0", {.gradient = with_softplus(with_lost_slope)}),
           changed("mutant/polar_rectified", "ReLU for softplus", "the magnitude of a negative content is 0",
                   {.formula = with_softplus(rectified), .representative = true}),
           changed("mutant/polar_frequencies_of_pairs",
                   "lucidrains/rotary-embedding-torch: arange(0, dim, 2) / dim, RoPE's frequencies of pairs",
                   "exponents are -2 c / r",
                   {.formula =
                        [](auto& scheme) {
                          scheme.frequencies = [](const traced& base, std::size_t r) {
                            const traced theta = reference::geometric_frequencies(base, r, r);
                            return theta * theta;
                          };
                        }}),
           changed("mutant/polar_queries_have_it_too", "one function for queries and keys",
                   "queries have the phase, too",
                   {.formula =
                        [](auto& scheme) {
                          scheme.phase_of_queries = [](const traced& delta) { return std::optional(delta); };
                        }}),
           changed("mutant/polar_phase_backwards", "delta with the frequencies of queries", "delta is subtracted",
                   {.formula = with_angle([](const traced& turned, const traced& delta) { return turned - delta; })}),
           changed("mutant/polar_phase_turns", "a phase within the product", "the phase turns with the position",
                   {.formula =
                        with_angle([](const traced& turned, const traced& delta) { return turned + turned * delta; }),
                    .representative = true}),
           changed("mutant/polar_angles_in_f16", "EleutherAI/gpt-neox#1003: angles of a short format",
                   "m theta is held in f16", {.formula = with_angle([](const traced& turned, const traced& delta) {
                                                return held_in(dtype::f16, turned) + delta;
                                              })}),
           changed("mutant/polar_tables_in_bf16", "KellerJordan/modded-nanogpt#39",
                   "cosines and sines are held in bf16",
                   {.formula =
                        [](auto& scheme) {
                          scheme.wave = [](const traced& turned, const traced& delta, const traced& angle) {
                            const complex_numbers all = encoding::wave_at(turned, delta, angle);
                            return complex_numbers{held_in(dtype::bf16, all.re), held_in(dtype::bf16, all.im)};
                          };
                        },
                    .representative = true}),
           changed("mutant/polar_rest_has_magnitudes", "softplus before the features are parted",
                   "features without a phase have magnitudes, too",
                   {.formula = [](auto& scheme) { scheme.rest = [](const traced& rest) { return softplus(rest); }; }}),
           changed(
               "mutant/polar_grape_orthogonal", "Gram-Schmidt that is left out: vectors taken for orthogonal",
               "the area is the product of the lengths",
               {.formula = with_area([](const auto& plane) { return plane.aa * plane.bb; }), .representative = true}),
           changed("mutant/polar_grape_area_without_slope", "oarriaga/paz#383: an angle without its derivative",
                   "the gradient takes the area for a constant",
                   {.gradient = with_area([](const auto& plane) { return detach(plane.squared_area()); })}),
           changed("mutant/polar_grape_angle_of_omega", "vectors taken for those of a plane of area 1",
                   "the angle is m omega",
                   {.formula = with_plane_angle(
                        [](const traced& m, const traced& omega, const traced&) { return m * omega; })}),
           changed("mutant/polar_grape_angles_in_f16", "EleutherAI/gpt-neox#1003: angles of a short format",
                   "angles are held in f16",
                   {.formula = with_plane_angle([](const traced& m, const traced& omega, const traced& area) {
                      return held_in(dtype::f16, m * (omega * area));
                    })}),
           changed("mutant/polar_grape_transposed",
                   "karpathy/nanochat#489: the other direction than that of the weights", "L is b a^T - a b^T",
                   {.formula = with_plane_turn(turned_back)}),
           changed("mutant/polar_grape_divided_once", "tomstewart89/Geometry#13: of what norm the generator is",
                   "(1 - cos) / s in place of (1 - cos) / s^2",
                   {.formula = with_plane_turn(divided_once), .representative = true}),
           changed("mutant/polar_phase_stays_at_0", "jax.lax.clamp for torch.clamp: no slope at a bound",
                   "a phase of 0 has the gradient 0", {.gradient = with_clamp(without_slope_at_0)}),
           changed("mutant/polar_phase_trained_outside", "a bound without its derivative",
                   "phases that are cut have a gradient", {.gradient = with_clamp(with_slope_everywhere)}),
       }});
}

std::vector<variant> controls() {
  return {
      changed("control/polar_half_angle", "felselva/mathc#44: 1 - cos without cancellation",
              "2 sin^2 of half of the angle", {.formula = with_plane_turn(by_half_angle)}),
      changed("control/polar_in_f64", "all in f64, rounded once", "another precision", {.arithmetic = in_f64}),
      changed("control/polar_usual_stages", "apply_polar_pos_emb of lucidrains/x-transformers",
              "f16 and bf16: angles in f32, all else in the dtype",
              {.arithmetic = in_usual_stages, .declared = nothing_declared}),
      changed("control/polar_softplus_of_magnitude", "jax.nn.softplus: logaddexp(x, 0)", "max(x, 0) + log1p(exp(-|x|))",
              {.formula = with_softplus(by_magnitude)}),
      changed("control/polar_complex_product", "torch.polar(1, m theta) * torch.polar(1, delta)",
              "the addition theorem",
              {.formula =
                   [](auto& scheme) {
                     scheme.wave = [](const traced& x, const traced& delta, const traced&) {
                       return complex_numbers{cos(x) * cos(delta) - sin(x) * sin(delta),
                                              sin(x) * cos(delta) + cos(x) * sin(delta)};
                     };
                   }}),
      changed("control/polar_log_of_sum", "Triton kernels of lucidrains/PoPE-pytorch",
              "log(1 + exp(x)), and x above 40",
              {.formula = with_softplus([](const traced& x) {
                 const traced most(40.0);
                 return either(less(most, x), x, log(traced(1.0) + exp(either(less(most, x), most, x))));
               })}),
  };
}

}  // namespace assay::properties::encodings::polar
