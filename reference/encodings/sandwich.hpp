// Sandwich (Chi, Fan, Rudnicky and Ramadge, "Dissecting Transformer Length Extrapolation via the Lens of Receptive
// Field Analysis", ACL 2023, arXiv 2212.10356): a bias that is the inner product of the sinusoidal encodings of query
// and key, so a function of the distance t = |i - j| without parameters,
//
//   B_hij = (sum_k cos(t theta_k) - d/2) / c_h,   theta_k = b^(-2k/d),   c_h = 8 h / H for the heads h = 1 ... H
//
// Shapes: positions of queries [n] and keys [m], integers; bias [h, n, m]. No input has a gradient.
// `first`: k = 1 ... d/2, as NVIDIA/NeMo has it, or k = 0 ... d/2 - 1, the table of Vaswani et al. 2017. `offset`: d/2
// is subtracted, which no softmax sees. `future`: keys after the query are masked, stand at the distance 0 (the lower
// triangle of NeMo, whose attention masks them), or at their own distance.
//
// Special values: with the offset the bias is 0 at t = 0 and between -d / c_h and 0 elsewhere. It is not monotone.
// Errors are measured against 1: without the offset the sum passes through zero. They grow with t, as those of angles
// do. Law: -2 sum_k sin^2(t theta_k / 2), whose terms have one sign, is of class sequential; the sum of cosines less
// d/2, as published, loses what is small beside d/2: it is of class linear.
#pragma once

#include <string_view>

#include "reference/algorithms/frequencies.hpp"
#include "reference/algorithms/settings.hpp"
#include "reference/kinds/pair_bias.hpp"

namespace assay::reference::encodings {

struct sandwich {
  static constexpr std::string_view name = "sandwich";
  static core::encoding_summary summary() {
    return {.what = "biases by inner products of sinusoidal encodings",
            .formula = "B_ij = (sum_k cos((i - j) theta_k) - d/2) / c_h, c_h = 8 h / H of head h = 1 ... H",
            .sources = {{"Chi et al. 2023", "https://arxiv.org/abs/2212.10356"}}};
  }

  /// What of a bias has a format of its own, in the order of stages(). Published code has all in f32, whatever the
  /// scores are in.
  enum class stage { angle, wave, accumulation };

  /// The sum of cos(angle) - 1, by sines: cos(x) - 1 = -2 sin^2(x / 2). Without the offset, that of cos(angle).
  template <class R>
  static R sum_by_sines(const std::vector<R>& angles, bool offset) {
    if (!offset) return sum_by_cosines(angles, false);
    accumulator<R> sum;
    for (const R& angle : angles) {
      const R sine = sin(angle / R(2.0));
      sum.add_product(R(-2.0) * sine, sine);
    }
    return sum.total();
  }
  /// The same by cosines, less their number at the end.
  template <class R>
  static R sum_by_cosines(const std::vector<R>& angles, bool offset) {
    accumulator<R> sum;
    for (const R& angle : angles) sum.add(cos(angle));
    return offset ? sum.total() - from_integer<R>(static_cast<double>(angles.size())) : sum.total();
  }
  /// The steps that variants replace.
  template <class R>
  struct recipe : differentiable_recipe<recipe, R> {
    recipe_step<R, R(const R& base, std::size_t k, std::size_t steps)> frequency = geometric_frequency<R>;
    recipe_step<R, R(const std::vector<R>& angles, bool offset)> sum = sum_by_sines<R>;
  };
  template <class R>
  static recipe<R> algorithm(accuracy_class c) {
    recipe<R> how;
    if (c == accuracy_class::linear) how.sum = sum_by_cosines<R>;
    return how;
  }

  template <class R>
  using record = operation_record<R, recipe<R>>;
  template <class R>
  static std::vector<record<R>> records() {
    return {pair_bias_record<pairs, R>(declaration(), {accuracy_class::sequential, accuracy_class::linear})};
  }

 private:
  static core::operation declaration();
  template <class R>
  struct pairs;
};

template <class R>
struct sandwich::pairs : future_keys {
  using recipe = sandwich::recipe<R>;
  const recipe& how;
  bool offset;
  std::vector<R> theta, compression;  ///< by k, and by head

  pairs(const arguments<R>& call, const recipe& steps)
      : future_keys(call.settings), how(steps), offset(call.template setting<bool>("offset")) {
    const auto count = [&](const char* name) {
      return static_cast<std::size_t>(call.template setting<std::int64_t>(name));
    };
    const auto integer = [](std::size_t k) { return from_integer<R>(static_cast<double>(k)); };
    const std::size_t half = count("width") / 2, heads = count("heads"),
                      first = core::chosen<std::size_t>(call.settings, "first", {{"one", 1}, {"zero", 0}});
    const R base = from_setting<R>(call.template setting<double>("base"));
    for (std::size_t k = first; k < first + half; ++k)
      theta.push_back(in_stage<R>(stage::angle, [&] { return how.frequency(base, k, half); }));
    for (std::size_t h = 1; h <= heads; ++h)
      compression.push_back(in_stage<R>(stage::wave, [&] { return integer(8 * h) / integer(heads); }));
  }
  [[nodiscard]] std::vector<std::size_t> lanes() const { return {compression.size()}; }

  void operator()(const key_of_query& at, R* bias) const {
    std::vector<R> angles;
    for (const R& frequency : theta)
      angles.push_back(in_stage<R>(
          stage::angle, [&](const R& f) { return from_integer<R>(at.distance) * f; }, frequency));
    const R sum = in_stage<R>(
        stage::wave, [&](const std::vector<R>& all) { return how.sum(all, offset); }, angles);
    for (const R& c : compression) *bias++ = in_stage<R>(stage::wave, std::divides<>(), sum, c);
  }
};

inline core::operation sandwich::declaration() {
  return {.name = "sandwich/bias",
          .source = "Chi et al. 2023, arXiv 2212.10356",
          .inputs = with_pair_positions({}),
          .outputs = {pair_bias_output(core::error_scale::absolute)},
          .attributes = {integer("heads", {8, 1, 3, 12}, {1, 1024}, "H", "h"),
                         integer("width", {128, 2, 6, 64}, {2, 65536}, "d, even"),
                         choice("first", {"one", "zero"}, "the first k: frequencies without 1, or with it"),
                         real("base", {1e4, 1e2}, {1.0, 1e9}, "b"), flag("offset", true, "less d/2"),
                         future_keys::declared()},
          .stages = {{.name = "angle", .meaning = "frequencies, distances and angles"},
                     {.name = "wave", .meaning = "sines or cosines, and the quotient of their sum"},
                     {.name = std::string(core::accumulation), .meaning = "that sum"}},
          .independent = {"n", "m"},
          .conflict = [](const core::attributes& settings, const core::axis_sizes&) -> std::string {
            return core::setting<std::int64_t>(settings, "width") % 2 == 0 ? "" : "attribute 'width' must be even";
          },
          .named_only = true};
}

}  // namespace assay::reference::encodings
