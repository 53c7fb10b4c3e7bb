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
// Special values: infinities and NaN in x stay in their pair. Position 0 is the identity of finite x; an
// infinity there makes its pair NaN (0 times infinity), unless an implementation leaves position 0 alone: tests keep
// infinities where the angle is not 0.
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
#include "reference/core/operation.hpp"

namespace assay::reference::encodings {

struct rope {
  static constexpr std::string_view name = "rope";

  static std::vector<core::operation> operations();

  /// The parts of the formula: what mutants replace.
  template <class R>
  struct recipe {
    std::function<R(const R& base, std::size_t t, std::size_t steps)> frequency = geometric_frequency<R>;
    /// The steps of the exponent by features and pairs that rotate.
    std::function<std::size_t(std::size_t features, std::size_t pairs)> steps = [](std::size_t, std::size_t pairs) {
      return pairs;
    };
    /// What "ntk" multiplies a frequency by.
    std::function<R(const R& factor, std::size_t t, std::size_t pairs)> stretch =
        [](const R& factor, std::size_t t, std::size_t pairs) { return geometric_frequency<R>(factor, t, pairs - 1); };
    std::function<rotation<R>(const R& position, const R& theta)> rotation_at = [](const R& position, const R& theta) {
      return rotation<R>(position * theta);
    };
    std::function<coordinate_pair<R>(const coordinate_pair<R>&, const rotation<R>&)> forward = turned<R>,
                                                                                     backward = turned_back<R>;
    std::function<R(const coordinate_pair<R>& x, const rotation<R>&, const coordinate_pair<R>& g)> angle_slope =
        torque<R>;
    /// The factor of the torque in theta-bar.
    std::function<R(const R& position)> lever = [](const R& position) { return charged(position); };
  };

  template <class R>
  static fields<R> evaluate(const arguments<R>& call, const recipe<R>& how);

  /// Pairs that rotate of these many features; `rotary` = 0 stands for all.
  static std::size_t pairs_of(std::size_t features, std::int64_t rotary) {
    return rotary == 0 ? features / 2 : static_cast<std::size_t>(rotary);
  }

 private:
  template <class R>
  static fields<R> frequencies(const arguments<R>& call, const recipe<R>& how);
  template <class R>
  struct turns;
  template <class R>
  static turns<R> turns_of(const arguments<R>& call, const recipe<R>& how);
  template <class R>
  static fields<R> gradients(const arguments<R>& call, const recipe<R>& how, const turns<R>& all);
};

inline std::vector<core::operation> rope::operations() {
  using std::int64_t, std::string;
  const core::value_domain finite{}, above_one{1.0};
  const core::tensor_declaration x{"x", {"B", "n", "h", "d"}, finite, true, "queries or keys"};
  const core::tensor_declaration y{"y", {"B", "n", "h", "d"}, finite, true, "the same, rotated"};
  const core::attribute_declaration layout{
      "layout", string("interleaved"), {string("interleaved"), string("half_split")}, "which coordinates are a pair"};
  const auto number = [](const char* what, double standard, std::vector<core::attribute> values, const char* meaning) {
    return core::attribute_declaration{what, standard, std::move(values), meaning, 1.0};
  };
  const char* source = "Su et al. 2021, arXiv 2104.09864, eqs. (15) and (34)";
  core::operation frequencies{"rope/frequencies",
                              {{"base", {"k"}, above_one, true, "base of the frequencies"}},
                              {{"theta", {"k", "r"}, finite, true, "frequencies"}},
                              {},
                              source,
                              false,
                              {"k"}};
  frequencies.attributes = {
      {"pairs",
       int64_t{1},
       {int64_t{1}, int64_t{2}, int64_t{3}, int64_t{4}, int64_t{8}},
       "pairs of coordinates",
       1.0,
       1048576.0,
       "r"},
      {"scaling", string("none"), {string("none"), string("ntk"), string("interpolation")}, "for longer contexts"},
      number("factor", 1.0, {1.0, 2.0, 4.0, 3.5}, "how much longer")};
  core::operation rotate{
      "rope/rotate",  {x, {"position", {"B", "n"}, {0.0, 2147483648.0}, false, "positions"}}, {y}, {}, source, false,
      {"B", "n", "h"}};
  rotate.inputs[1].own_type = core::dtype::i64;
  rotate.attributes = {
      layout,
      {"rotary", int64_t{0}, {int64_t{0}, int64_t{1}, int64_t{2}}, "pairs that rotate, 0 for all", 0.0, 1048576.0},
      number("base", 10000.0, {10000.0, 100.0, 500000.0}, "base of the frequencies"),
      number("position_scale", 1.0, {1.0, 4.0}, "divides the positions")};
  rotate.conflict = [](const core::attributes& settings, const core::axis_sizes& sizes) {
    const auto rotary = static_cast<std::size_t>(core::setting<int64_t>(settings, "rotary"));
    if (2 * rotary <= sizes.at("d")) return string();
    return "rotary = " + std::to_string(rotary) + " pairs are more than d = " + std::to_string(sizes.at("d")) +
           " holds";
  };
  core::operation rotate_by{"rope/rotate_by",
                            {x,
                             {"theta", {"r"}, finite, true, "frequencies"},
                             {"position", {"B", "n"}, finite, true, "positions, real numbers"}},
                            {y},
                            {},
                            source,
                            false,
                            {"B", "n", "h"}};
  rotate_by.attributes = {layout};
  rotate_by.conflict = [](const core::attributes&, const core::axis_sizes& sizes) {
    if (2 * sizes.at("r") <= sizes.at("d")) return string();
    return std::to_string(sizes.at("r")) + " pairs are more than d = " + std::to_string(sizes.at("d")) + " holds";
  };
  return {frequencies, rotate, rotate_by};
}

template <class R>
fields<R> rope::frequencies(const arguments<R>& call, const recipe<R>& how) {
  const field<R>& base = call["base"];
  const auto pairs = static_cast<std::size_t>(call.template setting<std::int64_t>("pairs"));
  const auto& scaling = call.template setting<std::string>("scaling");
  const R factor = from_setting<R>(call.template setting<double>("factor"));
  const bool reversed = call.operation.ends_with(":vjp");
  field<R> theta = make_field<R>({base.size(), pairs}), grad = make_field<R>({base.size()});
  for (std::size_t k = 0; k < base.size(); ++k) {
    const R& b = base.storage()[k];
    accumulator<R> slope;
    for (std::size_t t = 0; t < pairs; ++t) {
      R frequency = how.frequency(b, t, how.steps(2 * pairs, pairs));
      if (scaling == "ntk" && pairs > 1) frequency = frequency * how.stretch(factor, t, pairs);
      if (scaling == "interpolation") frequency = frequency / factor;
      theta(k, t) = frequency;
      if (!reversed || t == 0) continue;
      const R share = R(-static_cast<double>(t)) / R(static_cast<double>(pairs));
      slope.add_product(charged(call["grad_theta"](k, t)), charged(share * frequency / b));
    }
    grad.storage()[k] = slope.total();
  }
  if (reversed) return {{"grad_base", std::move(grad)}};
  return {{"theta", std::move(theta)}};
}

/// The rotations of all rows and tokens.
template <class R>
struct rope::turns {
  rotary_layout layout;
  std::vector<R> theta, position;      ///< of each pair; of each token of each row
  std::vector<rotation<R>> rotations;  ///< pairs of each token
  std::size_t heads;
  [[nodiscard]] const rotation<R>& at(std::size_t token, std::size_t t) const {
    return rotations[token * layout.pairs + t];
  }
};

template <class R>
rope::turns<R> rope::turns_of(const arguments<R>& call, const recipe<R>& how) {
  const auto& shape = call["x"].shape();
  turns<R> all{{shape[3], 0, call.template setting<std::string>("layout") == "half_split"}, {}, {}, {}, shape[2]};
  if (call.operation.starts_with("rope/rotate_by")) {
    all.layout.pairs = call["theta"].size();
    all.theta.assign(call["theta"].storage().begin(), call["theta"].storage().end());
    all.position.assign(call["position"].storage().begin(), call["position"].storage().end());
  } else {
    all.layout.pairs = pairs_of(shape[3], call.template setting<std::int64_t>("rotary"));
    const R base = from_setting<R>(call.template setting<double>("base"));
    const double scale = call.template setting<double>("position_scale");
    for (std::size_t t = 0; t < all.layout.pairs; ++t)
      all.theta.push_back(how.frequency(base, t, how.steps(shape[3], all.layout.pairs)));
    for (const double m : call.integers.at("position").values.storage())
      all.position.push_back(scale == 1.0 ? from_integer<R>(m) : from_integer<R>(m) / from_setting<R>(scale));
  }
  for (const R& m : all.position)
    for (const R& theta : all.theta) all.rotations.push_back(how.rotation_at(m, theta));
  return all;
}

template <class R>
fields<R> rope::gradients(const arguments<R>& call, const recipe<R>& how, const turns<R>& all) {
  const field<R>&x = call["x"], &g = call["grad_y"];
  field<R> grad_x = g;
  const rotary_layout& at = all.layout;
  std::vector<accumulator<R>> of_theta(at.pairs), of_position(all.position.size());
  for (std::size_t token = 0; token < all.position.size(); ++token)
    for (std::size_t head = token * all.heads; head < (token + 1) * all.heads; ++head)
      for (std::size_t t = 0; t < at.pairs; ++t) {
        const std::size_t first = head * at.features + at.first(t), second = head * at.features + at.second(t);
        const coordinate_pair<R> cotangent{g.storage()[first], g.storage()[second]};
        const coordinate_pair<R> back = how.backward(cotangent, all.at(token, t));
        grad_x.storage()[first] = back.first;
        grad_x.storage()[second] = back.second;
        const R slope = how.angle_slope({x.storage()[first], x.storage()[second]}, all.at(token, t), cotangent);
        of_theta[t].add_product(how.lever(all.position[token]), slope);
        of_position[token].add_product(charged(all.theta[t]), slope);
      }
  if (call.operation == "rope/rotate:vjp") return {{"grad_x", std::move(grad_x)}};
  field<R> grad_theta = make_field<R>({at.pairs}), grad_position = call["position"];
  for (std::size_t t = 0; t < at.pairs; ++t) grad_theta.storage()[t] = of_theta[t].total();
  for (std::size_t token = 0; token < of_position.size(); ++token)
    grad_position.storage()[token] = of_position[token].total();
  return {{"grad_x", std::move(grad_x)},
          {"grad_theta", std::move(grad_theta)},
          {"grad_position", std::move(grad_position)}};
}

template <class R>
fields<R> rope::evaluate(const arguments<R>& call, const recipe<R>& how) {
  if (call.operation.starts_with("rope/frequencies")) return frequencies(call, how);
  const turns<R> all = turns_of(call, how);
  if (call.operation.ends_with(":vjp")) return gradients(call, how, all);
  field<R> y = call["x"];
  const rotary_layout& at = all.layout;
  for (std::size_t token = 0; token < all.position.size(); ++token)
    for (std::size_t head = token * all.heads; head < (token + 1) * all.heads; ++head)
      for (std::size_t t = 0; t < at.pairs; ++t) {
        R &first = y.storage()[head * at.features + at.first(t)],
          &second = y.storage()[head * at.features + at.second(t)];
        const coordinate_pair<R> turned = how.forward({first, second}, all.at(token, t));
        first = turned.first;
        second = turned.second;
      }
  return {{"y", std::move(y)}};
}

}  // namespace assay::reference::encodings
