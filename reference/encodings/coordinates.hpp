// Positions of images and sound by real coordinates, and by convolutions.
//
//   coordinates/fourier_features  sine and cosine of 2 pi (2 x - 1) . G, with frequencies G that are drawn once, or
//     learned (Tancik et al. 2020, arXiv 2006.10739; PositionEmbeddingRandom of facebookresearch/segment-anything,
//     SamPositionalEmbedding of huggingface/transformers; Li et al. 2021, "Learnable Fourier features", arXiv
//     2106.02795, eq. (2): factor "one", first "cosine", scale "inverse_sqrt")
//   coordinates/rotate            RoPE whose positions are the centers of patches in [-1, 1] (Simeoni et al. 2025,
//     "DINOv3", arXiv 2508.10104; rope_position_encoding.py of facebookresearch/dinov3; DINOv3ViT of
//     huggingface/transformers; RotaryEmbeddingDinoV3 of huggingface/pytorch-image-models)
//   coordinates/convolved         x plus a depthwise 3 x 3 convolution of its grid (Chu et al. 2021, "CPVT", arXiv
//     2102.10882, PEG; PosCNN of Twins, ConvPosEnc of CoaT)
//   coordinates/convolved_line    x + gelu(a grouped convolution of its tokens) (Baevski et al. 2020, "wav2vec 2.0",
//     arXiv 2006.11477, section 2; HuBERT)
//   coordinates/bucket_bias       table[bucket(p_j - p_i)] + x_table[bucket'(x_j - x_i)] + y_table[bucket'(y_j - y_i)],
//     buckets of T5 in both directions (Xu et al. 2021, "LayoutLMv2", arXiv 2012.14740, spatial-aware
//     self-attention; LayoutLMv3 of huggingface/transformers)
//
// Shapes: points [B, n, a] and matrix [a, r] to y [B, n, 2r], sines first unless `first` is "cosine"; x [B, n, h, d], d
// a multiple of 4; x [B, n, d], weight [d, 3, 3], bias [d]; x [B, n, g c], weight [g c, c, k], bias [g c] for g groups
// of c channels; position, x and y [B, n], table [h, b], x_table and y_table [h, w] to bias [B, h, n, n].
//
// Where there is a grid, it is the last rows * columns tokens, row by row. The tokens before it, class tokens and
// registers, stay as they are. Row i of H has the coordinate 2 (i + 1/2) / N - 1, where N = H, or the larger or smaller
// one of H and W (`normalized`). Of d/2 pairs the first half is rotated by rows, the second half by columns, by 2 pi c
// / T_t. The r = d/4 periods T_t are base^(t/r), or go from `min_period` to `max_period` as (max/min)^(t/(r - 1)). The
// weights of DINOv3 hold them in bf16 (`held`), as pos_embed_sincos.py of huggingface/pytorch-image-models says.
//
// Convolutions are those of deep learning: y_p = sum_u w_u x_{p + u - center}, and 0 outside. For a kernel of even size
// k the center is k/2, since both ends are padded by k/2 and the last token is dropped (fairseq, SamePad). Or it is k/2
// - 1, as with padding = "same" of TensorFlow and PyTorch (`more_padding`).
//
// Special values: NaN in a coordinate reaches all features of its point; NaN in x reaches its own pair, or every token
// within the kernel. Beside padding, weights that are not finite are a matter of convention: programs multiply them by
// 0, or leave them out. So is the partner of such a number in a pair that is rotated by the angle 0. Errors: sines and
// sums are measured against max(1, |y|), rotations against the row. An angle has the
// error of the product (2 pi x') . G, term by term, where x' is 2 x - 1, or of a center that is computed as a
// difference, 2 q - 1 with q = (i + 1/2) / N.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reference/algorithms/log_buckets.hpp"
#include "reference/kinds/rotation.hpp"

namespace assay::reference::encodings {

struct coordinates {
  static constexpr std::string_view name = "coordinates";
  static core::encoding_summary summary() {
    return {.what = "positions by real coordinates and by convolutions: images, points, sound",
            .formula = "sin and cos of 2 pi (2 x - 1) G; x + w * x",
            .sources = {{"Tancik et al. 2020", "https://arxiv.org/abs/2006.10739"},
                        {"Chu et al. 2021", "https://arxiv.org/abs/2102.10882"},
                        {"Baevski et al. 2020", "https://arxiv.org/abs/2006.11477"}},
            .also = {{"random Fourier features of SAM, learnable ones", "coordinates/fourier_features"},
                     {"RoPE of DINOv3", "coordinates/rotate"},
                     {"PEG of CPVT and Twins", "coordinates/convolved"},
                     {"wav2vec 2.0, HuBERT", "coordinates/convolved_line"},
                     {"LayoutLMv2, LayoutLMv3", "coordinates/bucket_bias"}}};
  }

  /// The stages of convolutions.
  enum class stage { convolution, output };

  using traced = formula::traced;
  using index = formula::traced_integer;
  /// The operands of a convolution: terms [..., t], whether they exist, and the kernel.
  struct terms {
    traced x, weights;
    formula::traced_truth there;
  };
  /// The steps that variants replace.
  struct scheme : rotation_scheme, recorded_scheme<scheme> {
    /// Maps [0, 1] to [-1, 1].
    std::function<traced(const traced& x)> both_sides = [](const traced& x) { return traced(2.0) * x - traced(1.0); };
    std::function<traced(const traced& points, const traced& matrix, const traced& factor)> angle =
        [](const traced& points, const traced& matrix, const traced& factor) {
          return contracted(factor * points, matrix, "bna,ar->bnr");
        };
    /// The coordinate of a place, for this number of places.
    std::function<traced(const index& place, std::int64_t size)> center = center_of;
    /// 1 / T_t for the r periods T_t.
    std::function<traced(const recorded_call& in, std::size_t r)> frequencies = frequencies_of;
    /// The first of the `grid` tokens among n that are the grid.
    std::function<std::size_t(std::size_t n, std::size_t grid)> first_of_grid = [](std::size_t n, std::size_t grid) {
      return n - grid;
    };
    /// The offset of a kernel's term from its place. For an even size the center is the first term after the middle, or
    /// the last before it.
    std::function<std::int64_t(std::int64_t term, std::int64_t size, bool is_behind)> offset =
        [](std::int64_t term, std::int64_t size, bool is_behind) { return term - (is_behind ? size - 1 : size) / 2; };
    /// The place that replaces a place outside the `size` places; -1: there is none.
    std::function<std::int64_t(std::int64_t place, std::int64_t size)> outside = [](std::int64_t, std::int64_t) {
      return std::int64_t{-1};
    };
    std::function<traced(const terms& summed_terms, const std::string& letters)> sum = [](const terms& summed_terms,
                                                                                          const std::string& letters) {
      return contracted_where(summed_terms.there, summed_terms.x, summed_terms.weights, letters);
    };
    std::function<traced(const traced& z)> activate = gelu;
    std::function<std::int64_t(const bucket_map& map, double distance)> bucket = bucket_of;
    /// The tables for the coordinates x and y.
    std::function<std::array<traced, 2>(const std::array<traced, 2>& tables)> tables_of_axes =
        [](const std::array<traced, 2>& tables) { return tables; };
    std::function<traced(const traced& x, const traced& convolved)> add = [](const traced& x, const traced& convolved) {
      return x + convolved;
    };
  };
  static std::vector<recorded_formula<scheme>> formulas() {
    return {{features_declaration(), features},
            {rotation_of_grid_declaration(), rotate},
            {convolution_declaration(), convolve},
            {line_declaration(), convolve_line},
            {buckets_declaration(), bias_by_buckets}};
  }
  static traced center_by_difference(const index& place, std::int64_t size) {
    return traced(2.0) * ((index_number(place) + traced(0.5)) / number(size)) - traced(1.0);
  }
  static bucket_map map_of(const core::attributes& settings, bool for_boxes) {
    const auto number_of = [&](const char* called) { return core::setting<std::int64_t>(settings, called); };
    return for_boxes ? bucket_map{number_of("box_buckets"), number_of("box_max_distance")}
                     : bucket_map{number_of("buckets"), number_of("max_distance")};
  }
  static traced gelu(const traced& z) {
    return traced(0.5) * z * (traced(1.0) + erf(z * power(traced(2.0), ratio(-1, 2))));
  }
  static traced frequencies_of(const recorded_call& in, std::size_t r);
  static traced periods_of(const recorded_call& in, std::size_t r);
  static traced held_periods(const core::attributes& settings, std::size_t r);

 private:
  static traced number(std::int64_t x) { return index_number(index::constant(x)); }
  /// The center as one quotient of integers: it is exactly 0 in the middle.
  static traced center_of(const index& place, std::int64_t size) {
    const index twice = index::constant(2) * place + index::constant(1 - size);
    return covering(index_number(twice) / number(size), [&] { return center_by_difference(place, size); });
  }
  static std::size_t grid_of(const core::attributes& settings) {
    return static_cast<std::size_t>(core::setting<std::int64_t>(settings, "rows") *
                                    core::setting<std::int64_t>(settings, "columns"));
  }
  static std::vector<core::attribute_declaration> grid_settings();
  static std::string conflict_of_grid(const core::attributes& settings, const core::axis_sizes& sizes);
  static core::operation features_declaration();
  static core::operation rotation_of_grid_declaration();
  static core::operation convolution_declaration();
  static core::operation line_declaration();
  static core::operation buckets_declaration();
  static formula::program bias_by_buckets(const scheme& steps, const formula::program_sizes& call);
  static formula::program features(const scheme& steps, const formula::program_sizes& call);
  static formula::program rotate(const scheme& steps, const formula::program_sizes& call);
  static formula::program convolve(const scheme& steps, const formula::program_sizes& call);
  static formula::program convolve_line(const scheme& steps, const formula::program_sizes& call);
};

inline formula::program coordinates::features(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const traced given = in["points"], matrix = in["matrix"];
  constexpr std::size_t angle = 0, table = 1;
  const traced x = in_stage<traced>(angle, [&] {
    const traced points = in.setting<std::string>("range") == "both_sides" ? steps.both_sides(given) : given;
    const bool in_turns = in.setting<std::string>("factor") == "two_pi";
    return steps.angle(points, matrix, in_turns ? traced(2.0) * pi<traced>() : traced(1.0));
  });
  return in.finish(in_stage<traced>(table, [&] {
    const traced sines = sine_of(x), cosines = cosine_of(x);
    const traced y = in.setting<std::string>("first") == "sine" ? formula::joined({sines, cosines}, 2)
                                                                : formula::joined({cosines, sines}, 2);
    if (in.setting<std::string>("scale") == "one" || in.size("r") == 0) return y;
    return y * power(traced(2.0 * static_cast<double>(in.size("r"))), ratio(-1, 2));
  }));
}

inline coordinates::traced coordinates::frequencies_of(const recorded_call& in, std::size_t r) {
  const bool is_exact = in.setting<std::string>("held") == "exact";
  if (is_exact && in.setting<std::string>("periods") == "base") return geometric_frequencies(in.number("base"), r, r);
  if (!is_exact) return traced(1.0) / periods_of(in, r);
  const traced low = in.number("min_period"), high = in.number("max_period");
  return covering(geometric_frequencies(high / low, r, r - 1) / low, [&] { return traced(1.0) / periods_of(in, r); });
}
/// The periods as in rope_position_encoding.py.
inline coordinates::traced coordinates::periods_of(const recorded_call& in, std::size_t r) {
  if (in.setting<std::string>("held") == "bf16") return held_periods(in.settings(), r);
  if (in.setting<std::string>("periods") == "base") return geometric_frequencies(traced(1.0) / in.number("base"), r, r);
  const traced low = in.number("min_period"), high = in.number("max_period");
  return geometric_frequencies(low / high, r, r - 1) / (high / low) * high;
}
/// Numbers of bf16, by definition: each is a power in double, rounded once. The released weights hold these numbers,
/// since base^(t / r), with r a power of two, is rounded once there. Code that computes 1 / periods in bf16 step by
/// step rounds more often, and holds other numbers.
inline coordinates::traced coordinates::held_periods(const core::attributes& settings, std::size_t r) {
  const auto number_of = [&](const char* called) { return core::setting<double>(settings, called); };
  const bool by_base = core::setting<std::string>(settings, "periods") == "base";
  const double low = by_base ? 1.0 : number_of("min_period"),
               ratio = by_base ? number_of("base") : number_of("max_period") / low,
               divisor = static_cast<double>(by_base ? r : std::max<std::size_t>(r - 1, 1));
  std::vector<traced> all;
  for (std::size_t t = 0; t < r; ++t) {
    const double period = low * std::pow(ratio, static_cast<double>(t) / divisor);
    all.push_back(reshaped(formula::setting(core::round_to(core::dtype::bf16, period)), {1}));
  }
  return formula::joined(all, 0);
}
inline formula::program coordinates::rotate(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const traced x = in["x"];
  const std::size_t n = in.size("n"), d = in.size("d"), r = d / 4, grid = grid_of(call.settings);
  if (r == 0) return in.finish(x);
  const auto rows = in.setting<std::int64_t>("rows"), columns = in.setting<std::int64_t>("columns");
  const auto& normalized = in.setting<std::string>("normalized");
  const auto along = [&](std::int64_t own, const core::shape& places) {
    const std::int64_t size = normalized == "max"   ? std::max(rows, columns)
                              : normalized == "min" ? std::min(rows, columns)
                                                    : own;
    const traced c = steps.center(reshaped(formula::counted(static_cast<std::size_t>(own)), places), size);
    return broadcast(c, {static_cast<std::size_t>(rows), static_cast<std::size_t>(columns), r});
  };
  const auto [m, theta] = in_stage<traced>(rotary_stage::angle, [&] {
    const traced both = formula::joined({along(rows, {static_cast<std::size_t>(rows), 1, 1}),
                                         along(columns, {1, static_cast<std::size_t>(columns), 1})},
                                        2);
    const traced one = steps.frequencies(in, r);
    return std::pair(traced(2.0) * pi<traced>() * reshaped(both, {grid, 1, 2 * r}), formula::joined({one, one}, 0));
  });
  const std::size_t first = steps.first_of_grid(n, grid);
  const traced turned = turned_vectors_of(steps, between(x, 1, first, first + grid), {call.settings, d, 2 * r},
                                          steps.rotation_at(m, theta));
  return in.finish(formula::joined({between(x, 1, 0, first), turned, between(x, 1, first + grid, n)}, 1));
}

/// Convolves windows of x [B, H, W, d]: nine terms, and one for the bias.
inline formula::program coordinates::convolve(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const traced x = in["x"], weight = in["weight"], bias = in["bias"];
  const std::size_t rows = in.size("B"), n = in.size("n"), d = in.size("d"), grid = grid_of(call.settings),
                    first = steps.first_of_grid(n, grid);
  const auto h = in.setting<std::int64_t>("rows"), w = in.setting<std::int64_t>("columns");
  std::vector<std::int64_t> places;
  std::vector<bool> there;
  const auto inside = [&](std::int64_t place, std::int64_t size) {
    return place >= 0 && place < size ? place : steps.outside(place, size);
  };
  for (std::int64_t p = 0; p < h * w; ++p) {
    for (std::int64_t u = 0; u < 9; ++u) {
      const std::int64_t y = inside(p / w + steps.offset(u / 3, 3, false), h),
                         z = inside(p % w + steps.offset(u % 3, 3, false), w);
      there.push_back(y >= 0 && z >= 0);
      places.push_back(there.back() ? y * w + z : 0);
    }
    there.push_back(true);
  }
  const core::shape windows{rows, grid, 9, d}, all{rows, grid, 10, d};
  const traced x_of_grid = between(x, 1, first, first + grid);
  const traced near = reshaped(gathered(x_of_grid, formula::known_integers({grid * 9}, places), 1), windows);
  const terms window{formula::joined({near, broadcast(traced(1.0), {rows, grid, 1, d})}, 2),
                     formula::joined({reshaped(weight, {d, 9}), reshaped(bias, {d, 1})}, 1),
                     broadcast(formula::known_truths({1, grid, 10, 1}, there), all)};
  const traced convolved = in_stage<traced>(stage::convolution, [&] { return steps.sum(window, "bptd,dt->bpd"); });
  const traced y = in_stage<traced>(stage::output, [&] { return steps.add(x_of_grid, convolved); });
  return in.finish(formula::joined({between(x, 1, 0, first), y, between(x, 1, first + grid, n)}, 1));
}

/// Convolves windows of x [B, n, g, c]: c k terms, and one for the bias.
inline formula::program coordinates::convolve_line(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const traced x = in["x"], weight = in["weight"], bias = in["bias"];
  const std::size_t rows = in.size("B"), n = in.size("n"), g = in.size("g"), c = in.size("c"), k = in.size("k");
  const auto size = static_cast<std::int64_t>(n), taps = static_cast<std::int64_t>(k);
  if (rows * n * c == 0) return in.finish(x);
  const bool is_behind = in.setting<std::string>("more_padding") == "behind";
  std::vector<std::int64_t> places;
  std::vector<bool> there;
  for (std::int64_t t = 0; t < size; ++t)
    for (std::int64_t u = 0; u < taps; ++u) {
      const std::int64_t tap = t + steps.offset(u, taps, is_behind),
                         inside = tap >= 0 && tap < size ? tap : steps.outside(tap, size);
      there.push_back(inside >= 0);
      places.push_back(std::max<std::int64_t>(inside, 0));
    }
  const traced near = transposed(reshaped(gathered(x, formula::known_integers({n * k}, places), 1), {rows, n, k, g, c}),
                                 {0, 1, 3, 4, 2});
  const auto truth = formula::known_truths({1, n, 1, 1, k}, there);
  const core::shape windows{rows, n, g, c * k}, ones{rows, n, g, 1};
  const terms window{formula::joined({reshaped(near, windows), broadcast(traced(1.0), ones)}, 3),
                     formula::joined({reshaped(weight, {g, c, c * k}), reshaped(bias, {g, c, 1})}, 2),
                     formula::joined({reshaped(broadcast(truth, {rows, n, g, c, k}), windows),
                                      broadcast(formula::known_truths({1, 1, 1, 1}, {true}), ones)},
                                     3)};
  const traced convolved = in_stage<traced>(stage::convolution, [&] { return steps.sum(window, "bngt,got->bngo"); });
  return in.finish(in_stage<traced>(stage::output, [&] {
    return steps.add(x, steps.activate(reshaped(convolved, {rows, n, g * c})));
  }));
}

inline formula::program coordinates::bias_by_buckets(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const std::size_t rows = in.size("B"), n = in.size("n"), heads = in.size("h");
  constexpr std::int64_t most = std::int64_t{1} << 31;
  const auto bias_of_pairs = [&](const traced& table, const char* positions, bool for_boxes) {
    const bucket_map map = map_of(call.settings, for_boxes);
    const index p = in.integers(positions);
    const index buckets = stepwise(reshaped(p, {rows, 1, n}) - reshaped(p, {rows, n, 1}), -most, most,
                                   [&](std::int64_t apart) { return steps.bucket(map, static_cast<double>(apart)); });
    const traced all = gathered(table, reshaped(buckets, {rows * n * n}), 1);
    return transposed(reshaped(all, {heads, rows, n, n}), {1, 0, 2, 3});
  };
  const std::array<traced, 2> box_tables = steps.tables_of_axes({in["x_table"], in["y_table"]});
  constexpr std::size_t sum = 0;
  return in.finish(in_stage<traced>(sum, [&] {
    accumulator<traced> terms;
    terms.add(bias_of_pairs(in["table"], "position", false));
    terms.add(bias_of_pairs(box_tables[0], "x", true));
    terms.add(bias_of_pairs(box_tables[1], "y", true));
    return terms.total();
  }));
}

inline std::vector<core::attribute_declaration> coordinates::grid_settings() {
  return {integer("rows", {2, 1, 3}, {1, 0x1p20}, "H: how many rows the grid has; its places are the last tokens"),
          integer("columns", {3, 1, 2}, {1, 0x1p20}, "W: how many columns it has")};
}
inline std::string coordinates::conflict_of_grid(const core::attributes& settings, const core::axis_sizes& sizes) {
  const std::size_t grid = grid_of(settings), n = sizes.at("n");
  if (n < grid)
    return "n = " + std::to_string(n) + " tokens are fewer than the " + std::to_string(grid) + " of the grid";
  if (const auto d = sizes.find("d"); settings.contains("normalized") && d != sizes.end() && d->second % 4 != 0)
    return "d = " + std::to_string(d->second) + " is no multiple of 4: a pair for rows, and one for columns";
  return "";
}

inline core::operation coordinates::features_declaration() {
  return {.name = "coordinates/fourier_features",
          .source =
              "Tancik et al. 2020, arXiv 2006.10739; facebookresearch/segment-anything, "
              "prompt_encoder.py",
          .inputs = {{.name = "points",
                      .axes = {"B", "n", "a"},
                      .meaning = "coordinates, in [0, 1] where they lie in the image",
                      .domain = {-0x1p12, 0x1p12}},
                     core::parameter("matrix", {"a", "r"}, "frequencies", {-0x1p12, 0x1p12})},
          .outputs = {{.name = "y", .axes = {"B", "n", "2r"}, .meaning = "sines and cosines"}},
          .attributes = {choice("range", {"both_sides", "as_given"},
                                "whether x becomes 2 x - 1, as in SAM, or stays as it is, as Tancik et al. have it"),
                         choice("factor", {"two_pi", "one"},
                                "what products are multiplied by: 2 pi, or 1, as in learnable Fourier features"),
                         choice("first", {"sine", "cosine"}, "which half of y is the first one"),
                         choice("scale", {"one", "inverse_sqrt"},
                                "what y is multiplied by: 1, or 1 / sqrt(2r), as in learnable Fourier features")},
          .stages = {{.name = "angle", .meaning = "coordinates, frequencies and angles"},
                     {.name = "table", .meaning = "sines and cosines"},
                     {.name = std::string(core::accumulation), .meaning = "sums of products, and of gradients"}},
          .independent = {"B", "n"},
          .axis_roles = {{"a", core::axis_role::parameter}}};
}

inline core::operation coordinates::rotation_of_grid_declaration() {
  std::vector<core::attribute_declaration> settings = grid_settings();
  settings.insert(
      settings.end(),
      {choice("normalized", {"separate", "max", "min"},
              "what the places of an axis are divided by: its own size, or the larger or smaller one of both"),
       choice("layout", {"half_split", "interleaved"},
              "which coordinates of d/2 pairs turn together: t and t + d/2, or 2t and 2t + 1"),
       choice("periods", {"base", "range"}, "what periods are: base^(t/r), or from min_period to max_period"),
       choice("held", {"exact", "bf16"},
              "what periods are held as: the numbers that they are, or each rounded once to bf16, as in the weights of "
              "DINOv3"),
       real("base", {100.0, 20.0, 12345.6}, {1.0, 1e9}, "the base of periods"),
       real("min_period", {0.5, 0.1, 0.3}, {0x1p-10, 0x1p10}, "the first period, of a range"),
       real("max_period", {64.0, 90.7, 300.3}, {0x1p-10, 0x1p20}, "the last period, of a range")});
  core::operation op = rotation_declaration(
      {.name = "coordinates/rotate",
       .source = "Simeoni et al. 2025, arXiv 2508.10104; facebookresearch/dinov3, layers/rope_position_encoding.py",
       .attributes = std::move(settings),
       .conflict = conflict_of_grid,
       .named_only = true});
  op.grows_with.reset();
  op.independent = {"B", "h"};
  return op;
}

inline core::operation coordinates::convolution_declaration() {
  const core::value_domain numbers{-0x1p60, 0x1p60};
  return {.name = "coordinates/convolved",
          .source = "Chu et al. 2021, arXiv 2102.10882; Meituan-AutoML/Twins, gvt.py, PosCNN",
          .inputs = {{.name = "x", .axes = {"B", "n", "d"}, .meaning = "tokens", .domain = numbers},
                     core::parameter("weight", {"d", "3", "3"}, "a kernel of each channel", numbers),
                     core::parameter("bias", {"d"}, "what is added to each channel", numbers)},
          .outputs = {{.name = "y", .axes = {"B", "n", "d"}, .meaning = "tokens with positions"}},
          .attributes = grid_settings(),
          .stages = {{.name = "convolution", .meaning = "the convolution", .narrow = true},
                     {.name = "output", .meaning = "its sum with x", .narrow = true},
                     {.name = std::string(core::accumulation), .meaning = "sums over a window, and of gradients"}},
          .independent = {"B", "d"},
          .conflict = conflict_of_grid,
          .named_only = true};
}

inline core::operation coordinates::line_declaration() {
  const core::value_domain numbers{-0x1p60, 0x1p60};
  return {.name = "coordinates/convolved_line",
          .source = "Baevski et al. 2020, arXiv 2006.11477, section 2; facebookresearch/fairseq, wav2vec2.py, SamePad",
          .inputs = {{.name = "x", .axes = {"B", "n", "c*g"}, .meaning = "frames", .domain = numbers},
                     core::parameter("weight", {"c*g", "c", "k"}, "kernels of each channel", numbers),
                     core::parameter("bias", {"c*g"}, "what is added to each channel", numbers)},
          .outputs = {{.name = "y", .axes = {"B", "n", "c*g"}, .meaning = "frames with positions"}},
          .attributes = {integer("groups", {2, 1, 3}, {1, 0x1p20}, "g: how many groups of channels there are", "g"),
                         choice("more_padding", {"before", "behind"},
                                "which end of the frames has one more zero where k is even: the first, as of SamePad, "
                                "or the last, as of padding = \"same\"")},
          .stages = {{.name = "convolution", .meaning = "the convolution", .narrow = true},
                     {.name = "output", .meaning = "the activation and its sum with x", .narrow = true},
                     {.name = std::string(core::accumulation), .meaning = "sums over a window, and of gradients"}},
          .independent = {"B"},
          .axis_roles = {{"g", core::axis_role::parameter}, {"c", core::axis_role::parameter}},
          .conflict = [](const core::attributes&, const core::axis_sizes& sizes) -> std::string {
            return sizes.at("k") > 0 ? "" : "k = 0: a kernel has at least one number";
          },
          .named_only = true};
}

inline core::operation coordinates::buckets_declaration() {
  const auto positions = [](const char* called, const char* meaning) {
    return core::integers(called, {"B", "n"}, meaning, {-0x1p30, 0x1p30 - 1}, core::input_role::position);
  };
  const auto buckets = [](const char* called, const std::vector<std::int64_t>& values, const char* axis) {
    return integer(called, values, {4, 256}, "how many buckets there are, in both directions together", axis);
  };
  const auto last = [](const char* called, const std::vector<std::int64_t>& values) {
    return integer(called, values, {2, 0x1p31}, "from which distance on all share the last bucket");
  };
  return {.name = "coordinates/bucket_bias",
          .source = "Xu et al. 2021, arXiv 2012.14740; microsoft/unilm, layoutlmft, modeling_layoutlmv2.py",
          .inputs = {core::parameter("table", {"h", "b"}, "a bias for each bucket of positions in the text"),
                     core::parameter("x_table", {"h", "w"}, "the same for the left ends of boxes"),
                     core::parameter("y_table", {"h", "w"}, "and for their lower ends"),
                     positions("position", "positions in the text"), positions("x", "left ends of boxes"),
                     positions("y", "lower ends of boxes")},
          .outputs = {{.name = "bias", .axes = {"B", "h", "n", "n"}, .meaning = "biases of queries and keys"}},
          .attributes = {buckets("buckets", {32, 8}, "b"), last("max_distance", {128, 16}),
                         buckets("box_buckets", {64, 8}, "w"), last("box_max_distance", {256, 32})},
          .stages = {{.name = "sum", .meaning = "the sum of the three biases", .narrow = true},
                     {.name = std::string(core::accumulation), .meaning = "sums in the gradients of tables"}},
          .independent = {"B", "h"},
          .conflict = [](const core::attributes& settings, const core::axis_sizes&) -> std::string {
            const std::string conflict_of_text = map_of(settings, false).conflict();
            return conflict_of_text.empty() ? map_of(settings, true).conflict() : conflict_of_text;
          }};
}

}  // namespace assay::reference::encodings
