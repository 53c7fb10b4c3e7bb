// Polar coordinate position embedding, PoPE (Gopalakrishnan et al. 2025, "Decoupling the 'what' and 'where' with polar
// coordinate positional embeddings", arXiv 2509.10534): each feature is a complex number of its own, whose magnitude is
// the content and whose phase is the position,
//
//   polar/scores  s_ij = factor sum_c softplus(q_ic) softplus(k_jc) cos((t_j - t_i) theta_c + delta_c),
//                 theta_c = base^(-c/r), c = 0 ... r-1
//
//   polar/grape_rotation  y = exp(m omega L) x, L = a b^T - b a^T, in closed form: multiplicative GRAPE of one plane
//     (Zhang et al. 2025, "Group representational position encoding", arXiv 2512.07805)
//
// RoPE has one frequency for two features; PoPE has one for each. delta is learned, by head of keys; published code
// (lucidrains/PoPE-pytorch, lucidrains/x-transformers) adds it to the phase of keys, and multiplies the real and
// imaginary parts of queries and keys.
//
// Shapes: q [B, n, h u, d], k [B, m, h, d], phase delta [h, r], query_position [B, n], key_position [B, m] i64
// -> s [B, h u, n, m]; x [B, n, h, d], vectors a and b [h, d], omega [h], position [B, n] i64 -> y [B, n, h, d], d
// >= 2. r <= d: features from r on have neither magnitude nor phase, and add q_ic k_jc (PoPE-pytorch, "partial"). u =
// `group` heads of queries share a head of keys: one after the other, or, with `heads` = "tiled", head i of queries has
// head i mod h of keys, as PoPE-pytorch repeats keys ('b h ... -> b (g h) ...').
//
// `bound` "clamped": delta is limited to [-2 pi, 0], as in published code. The slope is 1 at 0, where training begins,
// as for torch.clamp (jax.numpy.clip has 1/2 there), and 0 outside. "free": delta as it is. `softplus` "exact": log(1 +
// exp(x)); "linear_above_20": x itself above 20, with the slope 1, as in torch.nn.functional.softplus and the Triton
// kernels of PoPE-pytorch. The difference, 2e-9, is visible in f64, and not in f32.
//
// Special values: NaN in a query or a key reaches all of its scores; NaN in delta reaches those of its head. Infinities
// are outside the domain of scores: real and imaginary parts give NaN where the cosine of the difference gives an
// infinity.
//
// GRAPE (grape.hpp has its biases, additive GRAPE): where a and b are unit vectors of coordinates t and t', it rotates
// their pair as RoPE does, clockwise, by m omega. The released code (model-architectures/GRAPE) has only such planes,
// with learned frequencies: rope/rotate_by. Where a and b are parallel, L is 0 and y is x, but the formula divides by
// s = 0: no case is judged there. A NaN in x reaches its whole vector.
//
// torch.linalg.matrix_exp(m omega L) scales and squares, and each square doubles the error. In f32 it has an error of
// 76 ulp at position 300, where the closed form is allowed 67, and it has no digit at 2^31.
//
// Laws: angles have the error of rope/scores, and that of the sum with delta. Cosine and sine of the sum may also be
// sums of products (addition theorem: a product of two complex numbers). softplus as log1p(exp(x)) is of class
// sequential. log(1 + exp(x)), as in the same Triton kernels, loses exp(x) beside 1: magnitudes have an error of u,
// however small they are, which is class linear. GRAPE: an angle has the error that comes from s^2
// (algorithms/plane_rotation.hpp), and 1 - cos has an error of u.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "reference/algorithms/plane_rotation.hpp"
#include "reference/algorithms/waves.hpp"
#include "reference/kinds/relative_scores.hpp"
#include "reference/kinds/rotation.hpp"
#include "reference/kinds/softplus.hpp"

namespace assay::reference::encodings {

struct polar {
  static constexpr std::string_view name = "polar";
  static core::encoding_summary summary() {
    return {.what = "successors of RoPE: polar coordinates (PoPE), rotations of a learned plane (multiplicative GRAPE)",
            .formula = "s_ij = sum_c softplus(q_ic) softplus(k_jc) cos((t_j - t_i) theta_c + delta_c)",
            .sources = {{"Gopalakrishnan et al. 2025", "https://arxiv.org/abs/2509.10534"},
                        {"Zhang et al. 2025", "https://arxiv.org/abs/2512.07805"}},
            .also = {{"GRAPE-M", "polar/grape_rotation; its biases: grape"}}};
  }

  using traced = formula::traced;
  /// The steps that variants replace.
  struct scheme : plane_scheme, recorded_scheme<scheme> {
    std::function<traced(const traced& x)> softplus_of = [](const traced& x) { return softplus(x); };
    std::function<traced(const traced& base, std::size_t r)> frequencies = [](const traced& base, std::size_t r) {
      return geometric_frequencies(base, r, r);
    };
    /// The delta that takes effect where `bound` is "clamped".
    std::function<traced(const traced& delta)> clamped = cut_at_a_turn;
    /// The delta that is added to the phases of queries, if there is one.
    std::function<std::optional<traced>(const traced& delta)> phase_of_queries = [](const traced&) {
      return std::nullopt;
    };
    std::function<traced(const traced& turned, const traced& delta)> angle =
        [](const traced& turned, const traced& delta) { return turned + delta; };
    std::function<complex_numbers(const traced& turned, const traced& delta, const traced& angle)> wave = wave_at;
    /// The features without a phase, as they enter the products of queries and keys.
    std::function<traced(const traced& rest)> rest = [](const traced& x) { return x; };
  };
  static scheme algorithm(accuracy_class c) {
    scheme steps;
    if (c == accuracy_class::linear) steps.softplus_of = log_of_sum;
    return steps;
  }
  static std::vector<recorded_formula<scheme>> formulas() {
    return {{scores_operation(), scores, {accuracy_class::sequential, accuracy_class::linear}},
            {grape_operation(), grape}};
  }

  /// delta, limited to [-2 pi, 0].
  static traced cut_at_a_turn(const traced& delta) {
    const traced none(0.0), turn = traced(-2.0) * pi<traced>();
    return either(less(none, delta), none, either(less(delta, turn), turn, delta));
  }
  static complex_numbers wave_at(const traced& turned, const traced& delta, const traced& angle) {
    return wave_of_sum(angle, size_of_sum(turned, delta));
  }

 private:
  static core::operation scores_operation();
  static core::operation grape_operation();
  static formula::program grape(const scheme& steps, const formula::program_sizes& call);
  static formula::program scores(const scheme& steps, const formula::program_sizes& call);
  /// Real and imaginary parts of the first r features, and the others.
  static traced parts(const scheme& steps, const recorded_call& in, const traced& x, const char* position,
                      const std::optional<traced>& delta);
};

inline core::operation polar::scores_operation() {
  const auto positions = [](const char* called, const char* tokens) {
    return core::integers(called, {"B", tokens}, "positions", {0.0, 0x1p31}, core::input_role::position);
  };
  core::operation op = scores_declaration(
      {.name = "polar/scores",
       .source = "Gopalakrishnan et al. 2025, arXiv 2509.10534",
       .inputs = {core::parameter("phase", {"h", "r"}, "delta, a phase of keys for each frequency"),
                  positions("query_position", "n"), positions("key_position", "m")},
       .attributes = {real("base", {10000.0, 100.0, 500000.0}, {1.0, 0x1p1000}, "b of the frequencies b^(-c/r)"),
                      choice("bound", {"clamped", "free"}, "whether delta is cut at -2 pi and 0"),
                      softplus_setting("what the magnitude of a large x is"),
                      choice("heads", {"in_groups", "tiled"},
                             "which heads of q share a head of k: u consecutive heads, or every h-th head")},
       .conflict = [](const core::attributes&, const core::axis_sizes& sizes) -> std::string {
         if (sizes.at("r") <= sizes.at("d")) return {};
         return std::to_string(sizes.at("r")) + " phases are more than d = " + std::to_string(sizes.at("d"));
       }});
  std::erase_if(op.attributes, [](const core::attribute_declaration& a) { return a.name == "logit_factor"; });
  op.stages[static_cast<std::size_t>(rotary_stage::angle)].meaning = "frequencies, positions, m theta and delta";
  op.stages[static_cast<std::size_t>(rotary_stage::product)].meaning = "magnitudes, and real and imaginary parts";
  return op;
}

inline polar::traced polar::parts(const scheme& steps, const recorded_call& in, const traced& x, const char* position,
                                  const std::optional<traced>& delta) {
  const std::size_t r = in.size("r"), d = in.size("d");
  static_cast<void>(in.integers(position));  // it is an input, whatever depends on it
  if (r == 0) return x;
  const auto [turned, angle] = in_stage<traced>(rotary_stage::angle, [&] {
    const traced base = in.number("base");
    const traced by = position_of(in, position) * or_products_of_factors(steps.frequencies(base, r), base, r);
    return std::pair(by, delta ? steps.angle(by, *delta) : by);
  });
  const complex_numbers wave =
      in_stage<traced>(rotary_stage::table, [&] { return steps.wave(turned, delta.value_or(traced(0.0)), angle); });
  return in_stage<traced>(rotary_stage::product, [&] {
    const traced size = softplus_by_setting(in, steps.softplus_of, between(x, 3, 0, r));
    std::vector<traced> all{size * wave.re, size * wave.im};
    if (r < d) all.push_back(steps.rest(between(x, 3, r, d)));
    return formula::joined(all, 3);
  });
}
inline formula::program polar::scores(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const traced given = in["phase"];
  const traced delta = in_stage<traced>(
      rotary_stage::angle, [&] { return in.setting<std::string>("bound") == "free" ? given : steps.clamped(given); });
  const std::size_t rows = in.size("B"), heads = in.size("h"), group = in.size("u"), n = in.size("n");
  std::optional<traced> phases_of_queries = steps.phase_of_queries(delta);
  if (phases_of_queries)
    phases_of_queries =
        reshaped(broadcast(reshaped(*phases_of_queries, {heads, 1, in.size("r")}), {heads, group, in.size("r")}),
                 {heads * group, in.size("r")});
  const traced q = parts(steps, in, in["q"], "query_position", phases_of_queries),
               k = parts(steps, in, in["k"], "key_position", delta);
  const traced factor = in_stage<traced>(
      rotary_stage::angle, [&] { return factor_of_logits(in.setting<std::string>("scale"), in.size("d")); });
  return in.finish(in_stage<traced>(rotary_stage::scores, [&] {
    const bool tiled = in.setting<std::string>("heads") == "tiled";
    const std::size_t width = shape_of(k)[3];
    const traced by_group =
        reshaped(q, tiled ? core::shape{rows, n, group, heads, width} : core::shape{rows, n, heads, group, width});
    const traced s = factor * contracted(by_group, k, tiled ? "bnuhd,bmhd->buhnm" : "bnhud,bmhd->bhunm");
    return reshaped(s, {rows, heads * group, n, in.size("m")});
  }));
}

inline core::operation polar::grape_operation() {
  const auto vector = [](const char* called) {
    return core::parameter(called, {"h", "d"}, "one of two vectors that span the plane");
  };
  return rotation_declaration(
      {.name = "polar/grape_rotation",
       .source = "Zhang et al. 2025, arXiv 2512.07805",
       .inputs = {vector("a"), vector("b"), core::parameter("omega", {"h"}, "radians a position, of vectors of area 1"),
                  core::integers("position", {"B", "n"}, "positions", {0.0, 0x1p31}, core::input_role::position)},
       .stages = {{.name = std::string(core::accumulation), .meaning = "products of vectors"}},
       .conflict = [](const core::attributes&, const core::axis_sizes& sizes) -> std::string {
         return sizes.at("d") < 2 ? "two vectors of a plane have d = 2 features or more" : "";
       }});
}
inline formula::program polar::grape(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const traced a = in["a"], b = in["b"];
  const spanned_plane plane = in_stage<traced>(rotary_stage::angle, [&] { return spanned_plane(a, b); });
  const auto [squared, area, angle] = in_stage<traced>(rotary_stage::angle, [&] {
    const traced found = steps.squared_area(plane), root = power(found, ratio(1, 2));
    const traced position = reshaped(position_of(in, "position"), {in.size("B"), in.size("n"), 1});
    return std::tuple(found, root, steps.plane_angle(position, in["omega"], root));
  });
  const plane_turn by =
      in_stage<traced>(rotary_stage::table, [&] { return steps.plane_turn_at(angle, area, squared); });
  return in.finish(in_stage<traced>(rotary_stage::product, [&] { return turned_in_plane(in["x"], a, b, plane, by); }));
}

}  // namespace assay::reference::encodings
