// Rotary position embedding (Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding", 2021,
// arXiv 2104.09864): pairs of coordinates are turned by angles that grow with the position m, counted from 0,
//
//   angle of pair t = m theta_t,   theta_t = base^(-t/r), t = 0 ... r-1   eqs. (15), (34)
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
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/algorithms/settings.hpp"
#include "reference/kinds/rotation.hpp"

namespace assay::reference::encodings {

struct rope {
  static constexpr std::string_view name = "rope";

  /// The parts of the formula: what mutants replace.
  template <class R>
  struct recipe : rotary_recipe<recipe, R> {
    std::function<R(const R& base, std::size_t t, std::size_t steps)> frequency = geometric_frequency<R>;
    /// The steps of the exponent by features and pairs that rotate.
    std::function<std::size_t(std::size_t features, std::size_t pairs)> steps = [](std::size_t, std::size_t pairs) {
      return pairs;
    };
    /// What "ntk" multiplies a frequency by.
    std::function<R(const R& factor, std::size_t t, std::size_t pairs)> stretch =
        [](const R& factor, std::size_t t, std::size_t pairs) { return geometric_frequency<R>(factor, t, pairs - 1); };
  };

  template <class R>
  using record = operation_record<R, recipe<R>>;
  template <class R>
  static std::vector<record<R>> records();

 private:
  template <class R>
  static fields<R> frequencies(const arguments<R>& call, const recipe<R>& how);
  template <class R>
  struct turns_by_base;
  template <class R>
  struct turns_by_inputs;
};

/// theta_t of `pairs` pairs, stretched as the settings say.
template <class R>
fields<R> rope::frequencies(const arguments<R>& call, const recipe<R>& how) {
  enum class scaling { none, ntk, interpolation };
  const auto by = core::chosen<scaling>(
      call.settings, "scaling",
      {{"none", scaling::none}, {"ntk", scaling::ntk}, {"interpolation", scaling::interpolation}});
  const field<R>& base = call["base"];
  const auto pairs = static_cast<std::size_t>(call.template setting<std::int64_t>("pairs"));
  const R factor = from_setting<R>(call.template setting<double>("factor"));
  field<R> theta = make_field<R>({base.size(), pairs});
  for (std::size_t k = 0; k < base.size(); ++k)
    for (std::size_t t = 0; t < pairs; ++t) {
      const R frequency = how.frequency(base.storage()[k], t, how.steps(2 * pairs, pairs));
      theta(k, t) = by == scaling::ntk && pairs > 1 ? frequency * how.stretch(factor, t, pairs)
                    : by == scaling::interpolation  ? frequency / factor
                                                    : frequency;
    }
  return {{"theta", std::move(theta)}};
}

template <class R>
struct rope::turns_by_base : turns_by_frequency<R, recipe<R>> {
  turns_by_base(const arguments<R>& call, const recipe<R>& with)
      : turns_by_frequency<R, recipe<R>>{
            with, {call.settings, call["x"].shape(3), turning_pairs(call["x"].shape(3), call.settings)}} {
    const auto base = call.template setting<double>("base"), scale = call.template setting<double>("position_scale");
    const auto in_angles = [](auto compute) { return in_stage<R>(rotary_stage::angle, compute); };
    const std::size_t steps = with.steps(this->layout.features, this->layout.pairs);
    for (std::size_t t = 0; t < this->layout.pairs; ++t)
      this->theta.push_back(in_angles([&] {
        const R b = from_setting<R>(base);
        return or_product_of_factors(with.frequency(b, t, steps), b, t, steps);
      }));
    for (const double m : call.integers.at("position").values.storage())
      this->position.push_back(
          in_angles([&] { return scale == 1.0 ? from_integer<R>(m) : from_integer<R>(m) / from_setting<R>(scale); }));
  }
};

template <class R>
struct rope::turns_by_inputs : turns_by_frequency<R, recipe<R>> {
  turns_by_inputs(const arguments<R>& call, const recipe<R>& with)
      : turns_by_frequency<R, recipe<R>>{with, {call.settings, call["x"].shape(3), call["theta"].size()}} {
    this->theta.assign(call["theta"].storage().begin(), call["theta"].storage().end());
    this->position.assign(call["position"].storage().begin(), call["position"].storage().end());
  }
};

template <class R>
std::vector<rope::record<R>> rope::records() {
  using std::int64_t, std::string;
  constexpr const char* source = "Su et al. 2021, arXiv 2104.09864, eqs. (15) and (34)";
  const auto number = [](const char* called, double standard, std::vector<core::attribute> values,
                         const char* meaning) -> core::attribute_declaration {
    return {.name = called, .meaning = meaning, .standard = standard, .values = std::move(values), .low = 1.0};
  };
  return {{.declaration = {.name = "rope/frequencies",
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
           .jvp = not_offered},
          rotation_record<turns_by_base, R>(
              {.name = "rope/rotate",
               .source = source,
               .inputs = {core::integers("position", {"B", "n"}, "positions", {0.0, 2147483648.0},
                                         core::input_role::position)},
               .attributes = {rotary_layout::declared(), rotary_setting(),
                              number("base", 10000.0, {10000.0, 100.0, 500000.0}, "base of the frequencies"),
                              number("position_scale", 1.0, {1.0, 4.0}, "divides the positions")},
               .conflict =
                   [](const core::attributes& settings, const core::axis_sizes& sizes) {
                     return conflict_of_pairs(turning_pairs(sizes.at("d"), settings), "rotary = ", sizes);
                   }}),
          rotation_record<turns_by_inputs, R>(
              {.name = "rope/rotate_by",
               .source = source,
               .inputs = {core::parameter("theta", {"r"}, "frequencies"),
                          {.name = "position",
                           .axes = {"B", "n"},
                           .meaning = "positions, real numbers",
                           .role = core::input_role::position}},
               .attributes = {rotary_layout::declared()},
               .stages = {{.name = string(core::accumulation), .meaning = "the sums in grad_theta and grad_position"}},
               .conflict = [](const core::attributes&, const core::axis_sizes& sizes) {
                 return conflict_of_pairs(sizes.at("r"), "", sizes);
               }})};
}

}  // namespace assay::reference::encodings
