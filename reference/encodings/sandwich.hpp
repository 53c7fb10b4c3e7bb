// Sandwich (Chi, Fan, Rudnicky and Ramadge, "Dissecting Transformer Length Extrapolation via the Lens of Receptive
// Field Analysis", ACL 2023, arXiv 2212.10356): a bias that is the inner product of the sinusoidal encodings of query
// and key. So it is a function of the distance t = |i - j| without parameters,
//
//   B_hij = (sum_k cos(t theta_k) - d/2) / c_h,   theta_k = b^(-2k/d),   c_h = 8 h / H for the heads h = 1 ... H
//
// Shapes: positions of queries [n] and keys [m], integers; bias [h, n, m]. No input has a gradient. `first`: k = 1 ...
// d/2, as in NVIDIA/NeMo, or k = 0 ... d/2 - 1, as in the table of Vaswani et al. 2017. `offset`: d/2 is subtracted,
// which changes no softmax. `future`: keys after the query are masked, count as the distance 0 (the lower triangle of
// NeMo, whose attention masks them), or have their own distance.
//
// Special values: with the offset the bias is 0 at t = 0 and between -d / c_h and 0 elsewhere. It is not monotone.
// Errors are measured against max(1, |B|): without the offset the sum passes through zero. They grow with t, as errors
// of angles do. Law: -2 sum_k sin^2(t theta_k / 2), whose terms have one sign, is of class sequential. The sum of
// cosines less d/2, as published, loses terms that are small beside d/2: it is of class linear.
#pragma once

#include "reference/kinds/pair_bias.hpp"

namespace assay::reference::encodings {

struct sandwich {
  static constexpr std::string_view name = "sandwich";
  static core::encoding_summary summary() {
    return {.what = "biases by inner products of sinusoidal encodings",
            .formula = "B_ij = (sum_k cos((i - j) theta_k) - d/2) / c_h, c_h = 8 h / H of head h = 1 ... H",
            .sources = {{"Chi et al. 2023", "https://arxiv.org/abs/2212.10356"}}};
  }

  /// The parts of a bias that have a format of their own, in the order of stages(). Published code computes all of it
  /// in f32, whatever the dtype of the scores.
  enum class stage { angle, wave, accumulation };

  using traced = formula::traced;
  /// The sum of cos(angle) - 1 over the last axis, by sines: cos(x) - 1 = -2 sin^2(x / 2). Without the offset, the sum
  /// of cos(angle).
  static traced sum_by_sines(const traced& angles, bool offset) {
    if (!offset) return sum_by_cosines(angles, false);
    const traced sines = sin(angles / traced(2.0));
    return traced(-2.0) * contracted(sines, sines, "ijk,ijk->ij");
  }
  /// The same by cosines; their number is subtracted at the end.
  static traced sum_by_cosines(const traced& angles, bool offset) {
    const traced sum = summed(cos(angles), {2});
    return offset ? sum - traced::from_integer(static_cast<double>(shape_of(angles).back())) : sum;
  }
  /// The steps that variants replace.
  struct scheme : recorded_scheme<scheme> {
    std::function<traced(const traced& base, std::size_t first, std::size_t count, std::size_t divisor)> frequencies =
        formula::geometric_frequencies;
    std::function<traced(const traced& angles, bool offset)> sum = sum_by_sines;
  };
  static scheme algorithm(accuracy_class c) {
    scheme steps;
    if (c == accuracy_class::linear) steps.sum = sum_by_cosines;
    return steps;
  }
  static std::vector<recorded_formula<scheme>> formulas() {
    return {{declaration(), recorded, {accuracy_class::sequential, accuracy_class::linear}}};
  }

 private:
  static core::operation declaration();
  static formula::program recorded(const scheme& steps, const formula::program_sizes& call);
};

inline formula::program sandwich::recorded(const scheme& steps, const formula::program_sizes& call) {
  recorded_pairs pairs(call);
  const auto half = static_cast<std::size_t>(pairs.setting<std::int64_t>("width") / 2),
             heads = static_cast<std::size_t>(pairs.setting<std::int64_t>("heads")),
             first = core::chosen<std::size_t>(call.settings, "first", {{"one", 1}, {"zero", 0}});
  const traced base = pairs.number("base");
  const traced theta = in_stage<traced>(stage::angle, [&] { return steps.frequencies(base, first, half, half); });
  const traced angles = in_stage<traced>(stage::angle, [&] {
    return reshaped(to_real(pairs.distance()), {pairs.size("n"), pairs.size("m"), 1}) * theta;
  });
  return pairs.finish(in_stage<traced>(stage::wave, [&] {
    const auto constant = [](std::size_t x) { return formula::traced_integer::constant(static_cast<std::int64_t>(x)); };
    const auto head = reshaped(formula::counted(heads) + constant(1), {heads, 1, 1});
    const traced compression = to_real(constant(8) * head) / to_real(constant(heads));
    return steps.sum(angles, pairs.setting<bool>("offset")) / compression;
  }));
}

inline core::operation sandwich::declaration() {
  return pair_operation(
      {.name = "sandwich/bias",
       .source = "Chi et al. 2023, arXiv 2212.10356",
       .inputs = with_pair_positions({}),
       .outputs = {pair_bias_output(core::error_scale::absolute)},
       .attributes = {integer("heads", {8, 1, 3, 12}, {1, 1024}, "H: how many heads there are", "h"),
                      integer("width", {128, 2, 6, 64}, {2, 65536}, "d of the sinusoidal encodings, even"),
                      choice("first", {"one", "zero"}, "the first k of the frequencies b^(-2k/d): 1, or 0"),
                      real("base", {1e4, 1e2}, {1.0, 1e9}, "b of the frequencies b^(-2k/d)"),
                      flag("offset", true, "whether d/2 is subtracted, so that the bias is 0 at the distance 0"),
                      future_keys::declared()},
       .stages = {{.name = "angle", .meaning = "frequencies, distances and angles"},
                  {.name = "wave", .meaning = "sines or cosines, and the quotient of their sum"},
                  {.name = std::string(core::accumulation), .meaning = "that sum"}},
       .independent = {"n", "m"},
       .conflict = [](const core::attributes& settings, const core::axis_sizes&) -> std::string {
         return core::setting<std::int64_t>(settings, "width") % 2 == 0 ? "" : "attribute 'width' must be even";
       },
       .named_only = true});
}

}  // namespace assay::reference::encodings
