// Rotary position embedding (Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding", 2021,
// arXiv 2104.09864): pairs of coordinates are rotated by angles that grow with the position m, counted from 0,
//
//   y_first  = x_first cos(m theta_t) - x_second sin(m theta_t)
//   y_second = x_first sin(m theta_t) + x_second cos(m theta_t),   theta_t = base^(-t/r), t = 0 ... r-1   eqs. (15),
//   (34)
//
// Pair t is (x_2t, x_2t+1) where the layout is "interleaved" (the paper) and (x_t, x_t+r) where it is "half_split"
// (EleutherAI/gpt-neox, huggingface/transformers). r pairs rotate, the coordinates from 2r on stay as they are.
//
//   rope/frequencies  base [k], r = `pairs`                 -> theta [k, r]
//     scaling "interpolation" (Chen et al. 2023, arXiv 2306.15595): theta / factor
//     scaling "ntk": of base' = base factor^(r/(r-1)), so that theta_0 = 1 and theta_{r-1} is divided by the factor;
//     it is read as base^(-t/r) factor^(-t/(r-1)), which overflows in no format. One pair has theta_0 = 1.
//   rope/rotate       x [B, n, h, d], position [B, n] i64    -> y [B, n, h, d], angle m / position_scale theta_t
//     `rotary` pairs rotate, all floor(d/2) where it is 0; theta_t has their number for r. d may be odd.
//   rope/rotate_by    x [B, n, h, d], theta [r], position [B, n] real -> y, 2r <= d
//
// Special values: infinities and NaN in x stay in their pair. The angle 0 is the identity of finite x; an infinity or a
// NaN makes its partner NaN there (0 times infinity), unless an implementation leaves such pairs alone: both are right,
// and tests keep infinities and NaN where the angle is not 0.
// Gradients: x-bar = R_-m y-bar; with the torque tau_t = y-bar_second y_first - y-bar_first y_second, theta-bar_t = sum
// of m tau_t over rows, tokens and heads, m-bar = sum of theta_t tau_t over heads and pairs; base-bar = sum of
// theta-bar_t (-t/r) theta_t / base.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/algorithms/frequencies.hpp"
#include "reference/algorithms/rotary.hpp"
#include "reference/algorithms/settings.hpp"
#include "reference/derived_vjp.hpp"
#include "reference/operation_record.hpp"

namespace assay::reference::encodings {

struct rope {
  static constexpr std::string_view name = "rope";

  /// The parts of the formula: what mutants replace.
  template <class R>
  struct recipe : differentiable_recipe<recipe, R> {
    std::function<R(const R& base, std::size_t t, std::size_t steps)> frequency = geometric_frequency<R>;
    /// The steps of the exponent by features and pairs that rotate.
    std::function<std::size_t(std::size_t features, std::size_t pairs)> steps = [](std::size_t, std::size_t pairs) {
      return pairs;
    };
    /// What "ntk" multiplies a frequency by.
    std::function<R(const R& factor, std::size_t t, std::size_t pairs)> stretch =
        [](const R& factor, std::size_t t, std::size_t pairs) { return geometric_frequency<R>(factor, t, pairs - 1); };
    std::function<rotation<R>(const R& position, const R& theta)> rotation_at = reference::rotation_at<R>;
    std::function<coordinate_pair<R>(const coordinate_pair<R>&, const rotation<R>&)> forward = turned<R>,
                                                                                     backward = turned_back<R>;
    std::function<R(const coordinate_pair<R>& x, const rotation<R>&, const coordinate_pair<R>& g)> angle_slope =
        torque<R>;
    /// The factor of the torque in theta-bar.
    std::function<R(const R& position)> lever = [](const R& position) { return by_magnitude(position); };
  };

  template <class R>
  using record = operation_record<R, recipe<R>>;
  template <class R>
  static std::vector<record<R>> records() {
    return {frequencies_record<R>(), rotate_record<R>(), rotate_by_record<R>()};
  }

  /// Pairs that rotate of these many features; `rotary` = 0 stands for all.
  static std::size_t pairs_of(std::size_t features, std::int64_t rotary) {
    return rotary == 0 ? features / 2 : static_cast<std::size_t>(rotary);
  }

 private:
  template <class R>
  static record<R> frequencies_record();
  template <class R>
  static record<R> rotate_record();
  template <class R>
  static record<R> rotate_by_record();

  template <class R>
  static R scaled_frequency(const arguments<R>& call, const recipe<R>& how, const R& base, std::size_t t);
  template <class R>
  static fields<R> frequencies(const arguments<R>& call, const recipe<R>& how);

  template <class R>
  struct turns;
  template <class R>
  static turns<R> turns_by_settings(const arguments<R>& call, const recipe<R>& how);
  template <class R>
  static turns<R> turns_by_inputs(const arguments<R>& call, const recipe<R>& how);
  template <class R>
  static fields<R> turn(const arguments<R>& call, const recipe<R>& how, const turns<R>& all);
  template <class R>
  struct turn_gradients;
  template <class R>
  static turn_gradients<R> turn_vjp(const arguments<R>& call, const recipe<R>& how, const turns<R>& all);
  template <class R>
  static fields<R> rotate(const arguments<R>& call, const recipe<R>& how) {
    return turn(call, how, turns_by_settings(call, how));
  }
  template <class R>
  static fields<R> rotate_by(const arguments<R>& call, const recipe<R>& how) {
    return turn(call, how, turns_by_inputs(call, how));
  }
  template <class R>
  static fields<R> rotate_vjp(const arguments<R>& call, const recipe<R>& how);
  template <class R>
  static fields<R> rotate_by_vjp(const arguments<R>& call, const recipe<R>& how);

  static core::tensor_declaration turned_tensor(const char* called, const char* meaning) {
    return {.name = called, .axes = {"B", "n", "h", "d"}, .meaning = meaning};
  }
  /// A coordinate may cancel, but the length of its pair, and with it the error, is that of the row x.
  static core::tensor_declaration rotated() {
    core::tensor_declaration y = turned_tensor("y", "the same, rotated");
    y.scale = core::error_scale::by_row;
    return y;
  }
  static core::attribute_declaration layout();
  static core::attribute_declaration number(const char* called, double standard, std::vector<core::attribute> values,
                                            const char* meaning) {
    return {.name = called, .meaning = meaning, .standard = standard, .values = std::move(values), .low = 1.0};
  }
  static std::vector<core::stage_declaration> stages_with_sums() {
    std::vector<core::stage_declaration> all = rotary_stages();
    all.push_back({.name = std::string(core::accumulation), .meaning = "the sums in grad_theta and grad_position"});
    return all;
  }
  static std::string too_many(const std::string& pairs, const core::axis_sizes& sizes) {
    return pairs + " pairs are more than d = " + std::to_string(sizes.at("d")) + " holds";
  }
  static constexpr const char* source = "Su et al. 2021, arXiv 2104.09864, eqs. (15) and (34)";
};

inline core::attribute_declaration rope::layout() {
  using std::string;
  return {.name = "layout",
          .meaning = "which coordinates are a pair",
          .standard = string("interleaved"),
          .values = {string("interleaved"), string("half_split")}};
}

template <class R>
rope::record<R> rope::frequencies_record() {
  using std::int64_t, std::string;
  return {.declaration = {.name = "rope/frequencies",
                          .source = source,
                          .inputs = {core::parameter("base", {"k"}, "base of the frequencies", {.low = 1.0})},
                          // A power: it has the relative accuracy of its logarithm, and angles m theta need all of it.
                          .outputs = {{.name = "theta",
                                       .axes = {"k", "r"},
                                       .meaning = "frequencies",
                                       .scale = core::error_scale::relative}},
                          .attributes = {{.name = "pairs",
                                          .meaning = "pairs of coordinates",
                                          .standard = int64_t{1},
                                          .values = {int64_t{1}, int64_t{2}, int64_t{3}, int64_t{4}, int64_t{8}},
                                          .low = 1.0,
                                          .high = 1048576.0,
                                          .axis = "r"},
                                         {.name = "scaling",
                                          .meaning = "for longer contexts",
                                          .standard = string("none"),
                                          .values = {string("none"), string("ntk"), string("interpolation")}},
                                         number("factor", 1.0, {1.0, 2.0, 4.0, 3.5}, "how much longer")},
                          .independent = {"k"}},
          .algorithms = one_algorithm,
          .forward = frequencies<R>,
          .vjp = derived_vjp<rope, R>,
          .jvp = not_offered};
}

template <class R>
rope::record<R> rope::rotate_record() {
  using std::int64_t;
  return {.declaration = {.name = "rope/rotate",
                          .source = source,
                          .inputs = {turned_tensor("x", "queries or keys"),
                                     core::integers("position", {"B", "n"}, "positions", {0.0, 2147483648.0},
                                                    core::input_role::position)},
                          .outputs = {rotated()},
                          .attributes = {layout(),
                                         {.name = "rotary",
                                          .meaning = "pairs that rotate, 0 for all",
                                          .standard = int64_t{0},
                                          .values = {int64_t{0}, int64_t{1}, int64_t{2}},
                                          .low = 0.0,
                                          .high = 1048576.0},
                                         number("base", 10000.0, {10000.0, 100.0, 500000.0}, "base of the frequencies"),
                                         number("position_scale", 1.0, {1.0, 4.0}, "divides the positions")},
                          .stages = rotary_stages(),
                          .grows_with = &core::with_position,
                          .independent = {"B", "n", "h"},
                          .conflict =
                              [](const core::attributes& settings, const core::axis_sizes& sizes) {
                                const auto rotary =
                                    static_cast<std::size_t>(core::setting<int64_t>(settings, "rotary"));
                                if (2 * rotary <= sizes.at("d")) return std::string();
                                return too_many("rotary = " + std::to_string(rotary), sizes);
                              }},
          .algorithms = one_algorithm,
          .forward = rotate<R>,
          .vjp = rotate_vjp<R>,
          .jvp = not_offered};
}

template <class R>
rope::record<R> rope::rotate_by_record() {
  return {.declaration = {.name = "rope/rotate_by",
                          .source = source,
                          .inputs = {turned_tensor("x", "queries or keys"),
                                     core::parameter("theta", {"r"}, "frequencies"),
                                     {.name = "position",
                                      .axes = {"B", "n"},
                                      .meaning = "positions, real numbers",
                                      .role = core::input_role::position}},
                          .outputs = {rotated()},
                          .attributes = {layout()},
                          .stages = stages_with_sums(),
                          .grows_with = &core::with_position,
                          .independent = {"B", "n", "h"},
                          .conflict =
                              [](const core::attributes&, const core::axis_sizes& sizes) {
                                if (2 * sizes.at("r") <= sizes.at("d")) return std::string();
                                return too_many(std::to_string(sizes.at("r")), sizes);
                              }},
          .algorithms = one_algorithm,
          .forward = rotate_by<R>,
          .vjp = rotate_by_vjp<R>,
          .jvp = not_offered};
}

/// theta_t of `pairs` pairs, stretched as the settings say.
template <class R>
R rope::scaled_frequency(const arguments<R>& call, const recipe<R>& how, const R& base, std::size_t t) {
  enum class scaling { none, ntk, interpolation };
  const auto by = core::chosen<scaling>(
      call.settings, "scaling",
      {{"none", scaling::none}, {"ntk", scaling::ntk}, {"interpolation", scaling::interpolation}});
  const auto pairs = static_cast<std::size_t>(call.template setting<std::int64_t>("pairs"));
  const R factor = from_setting<R>(call.template setting<double>("factor"));
  const R frequency = how.frequency(base, t, how.steps(2 * pairs, pairs));
  if (by == scaling::ntk && pairs > 1) return frequency * how.stretch(factor, t, pairs);
  return by == scaling::interpolation ? frequency / factor : frequency;
}

template <class R>
fields<R> rope::frequencies(const arguments<R>& call, const recipe<R>& how) {
  const field<R>& base = call["base"];
  const auto pairs = static_cast<std::size_t>(call.template setting<std::int64_t>("pairs"));
  field<R> theta = make_field<R>({base.size(), pairs});
  for (std::size_t k = 0; k < base.size(); ++k)
    for (std::size_t t = 0; t < pairs; ++t) theta(k, t) = scaled_frequency(call, how, base.storage()[k], t);
  return {{"theta", std::move(theta)}};
}

/// The rotations of all rows and tokens.
template <class R>
struct rope::turns {
  rotary_layout layout;
  std::size_t heads;
  std::vector<R> theta, position;        ///< of each pair; of each token of each row
  std::vector<rotation<R>> rotations{};  ///< pairs of each token

  /// Of the tensor x, so far without rotations.
  explicit turns(const arguments<R>& call)
      : layout{call["x"].shape(3), 0,
               core::chosen<bool>(call.settings, "layout", {{"interleaved", false}, {"half_split", true}})},
        heads(call["x"].shape(2)) {}
  void rotate(const recipe<R>& how) {
    for (const R& m : position)
      for (const R& t : theta) rotations.push_back(how.rotation_at(m, t));
  }
  [[nodiscard]] const rotation<R>& at(std::size_t token, std::size_t t) const {
    return rotations[token * layout.pairs + t];
  }
  /// Calls visit(token, pair, index of its first coordinate in x, that of its second one) for all.
  template <class Visit>
  void for_each_pair(Visit visit) const {
    for (std::size_t token = 0; token < position.size(); ++token)
      for (std::size_t head = token * heads; head < (token + 1) * heads; ++head)
        for (std::size_t t = 0; t < layout.pairs; ++t)
          visit(token, t, head * layout.features + layout.first(t), head * layout.features + layout.second(t));
  }
};

template <class R>
rope::turns<R> rope::turns_by_settings(const arguments<R>& call, const recipe<R>& how) {
  turns<R> all(call);
  const std::size_t features = all.layout.features;
  all.layout.pairs = pairs_of(features, call.template setting<std::int64_t>("rotary"));
  const double base = call.template setting<double>("base");
  const double scale = call.template setting<double>("position_scale");
  const auto in_angles = [](auto compute) { return in_stage<R>(rotary_stage::angle, compute); };
  const std::size_t steps = how.steps(features, all.layout.pairs);
  for (std::size_t t = 0; t < all.layout.pairs; ++t)
    all.theta.push_back(in_angles([&] {
      const R b = from_setting<R>(base);
      return or_product_of_factors(how.frequency(b, t, steps), b, t, steps);
    }));
  for (const double m : call.integers.at("position").values.storage())
    all.position.push_back(
        in_angles([&] { return scale == 1.0 ? from_integer<R>(m) : from_integer<R>(m) / from_setting<R>(scale); }));
  all.rotate(how);
  return all;
}

template <class R>
rope::turns<R> rope::turns_by_inputs(const arguments<R>& call, const recipe<R>& how) {
  turns<R> all(call);
  const field<R>&theta = call["theta"], &position = call["position"];
  all.layout.pairs = theta.size();
  all.theta.assign(theta.storage().begin(), theta.storage().end());
  all.position.assign(position.storage().begin(), position.storage().end());
  all.rotate(how);
  return all;
}

template <class R>
fields<R> rope::turn(const arguments<R>& call, const recipe<R>& how, const turns<R>& all) {
  field<R> y = call["x"];
  all.for_each_pair([&](std::size_t token, std::size_t t, std::size_t first, std::size_t second) {
    const coordinate_pair<R> x{y.storage()[first], y.storage()[second]};
    const coordinate_pair<R> turned = in_stage<R>(rotary_stage::product, how.forward, x, all.at(token, t));
    y.storage()[first] = turned.first;
    y.storage()[second] = turned.second;
  });
  return {{"y", std::move(y)}};
}

template <class R>
struct rope::turn_gradients {
  field<R> x;
  std::vector<accumulator<R>> theta, position;
};

template <class R>
rope::turn_gradients<R> rope::turn_vjp(const arguments<R>& call, const recipe<R>& how, const turns<R>& all) {
  const field<R>&x = call["x"], &g = call["grad_y"];
  turn_gradients<R> grad{g, std::vector<accumulator<R>>(all.layout.pairs),
                         std::vector<accumulator<R>>(all.position.size())};
  all.for_each_pair([&](std::size_t token, std::size_t t, std::size_t first, std::size_t second) {
    const coordinate_pair<R> cotangent{g.storage()[first], g.storage()[second]};
    const coordinate_pair<R> at{x.storage()[first], x.storage()[second]};
    const coordinate_pair<R> back = in_stage<R>(rotary_stage::product, how.backward, cotangent, all.at(token, t));
    grad.x.storage()[first] = back.first;
    grad.x.storage()[second] = back.second;
    const R slope = in_stage<R>(rotary_stage::product, how.angle_slope, at, all.at(token, t), cotangent);
    grad.theta[t].add_product(how.lever(all.position[token]), slope);
    grad.position[token].add_product(by_magnitude(all.theta[t]), slope);
  });
  return grad;
}

template <class R>
fields<R> rope::rotate_vjp(const arguments<R>& call, const recipe<R>& how) {
  return {{"grad_x", turn_vjp(call, how, turns_by_settings(call, how)).x}};
}

template <class R>
fields<R> rope::rotate_by_vjp(const arguments<R>& call, const recipe<R>& how) {
  turn_gradients<R> grad = turn_vjp(call, how, turns_by_inputs(call, how));
  field<R> of_theta = make_field<R>({grad.theta.size()}), of_position = call["position"];
  for (std::size_t t = 0; t < grad.theta.size(); ++t)
    of_theta.storage()[t] = total_in(rotary_stage::product, grad.theta[t]);
  for (std::size_t token = 0; token < grad.position.size(); ++token)
    of_position.storage()[token] = total_in(rotary_stage::product, grad.position[token]);
  return {
      {"grad_x", std::move(grad.x)}, {"grad_theta", std::move(of_theta)}, {"grad_position", std::move(of_position)}};
}

}  // namespace assay::reference::encodings
