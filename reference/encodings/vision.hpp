// Positions of images, as in vision transformers.
//
//   vision/interpolated_table  a learned row for each place of one grid, resampled to another grid (Dosovitskiy et al.
//     2020, "ViT", arXiv 2010.11929, section 3.2; resample_abs_pos_embed of huggingface/pytorch-image-models;
//     interpolate_pos_encoding of ViT and DINOv2 in huggingface/transformers)
//   vision/relative_bias       B_ij = table[row_i - row_j + H - 1, column_i - column_j + W - 1] (Liu et al. 2021,
//     "Swin", arXiv 2103.14030, eq. (4))
//   vision/relative_bias_with_class  the same with a class token before the others (Bao et al. 2021, "BEiT", arXiv
//     2106.08254)
//   vision/decomposed_bias     b_ij = q_i . (rel_rows[row_i - row_j] + rel_columns[column_i - column_j]), tables of
//     differences (Li et al. 2021, "MViTv2", arXiv 2112.01526, eq. (4); add_decomposed_rel_pos of ViTDet and SAM)
//   vision/sinusoids           sines and cosines of rows and of columns (get_2d_sincos_pos_embed of MAE and DiT,
//     MoCo v3)
//   vision/masked_sinusoids    the same, where rows and columns of an image are counted without its padding (Carion et
//     al. 2020, "DETR", arXiv 2005.12872, PositionEmbeddingSine)
//   vision/log_coordinates     sign(x) log2(1 + |x|) / log2(8) of x = 8 distance / (window - 1) (Liu et al. 2021, "Swin
//     V2", arXiv 2111.09883, eq. (5) and its code)
//
// Shapes: table [H, W, d] to y [Y X + k, d], after the k rows `kept` [k, d] of class tokens, which stay as they are;
// table [2H - 1, 2W - 1, h], rows [3, h] of the class token (as query, as key, as both), bias [h, HW, HW] or [h, HW +
// 1, HW + 1]; q [B, H, W, d], rel_rows [2H - 1, d], rel_columns [2W - 1, d] to bias [B, HW, HW]; rows [H], columns [W]
// to p [H, W, 4r]; mask [B, H, W] to p [B, H, W, 4r]; distances [H], [W] to [H, W, 2]. Tokens are counted row by row of
// the image.
//
// `mode`, `align_corners`, `antialias` and `scale`: algorithms/resampling.hpp.
//
// Special values: NaN in a row of a table reaches every number that is computed from it. A number with the weight 0 is
// a matter of convention: programs add 0 times it, or leave it out. A row or column that is only padding has the
// positions 0. Where 1/2 is subtracted from normalised positions, they are -1/2 over 1e-6 times 2 pi: f32 holds an
// angle of this size only to 1/4. Errors: those of sums, sines and coordinates are measured against max(1, |y|); biases
// are copies, and exact. Weights have the error of src, which grows with the size of the grid, times the slopes of K;
// angles have the error of a position. Gradients: each entry of a table gets the sum over all numbers that are made
// from it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reference/algorithms/resampling.hpp"
#include "reference/kinds/recorded_call.hpp"

namespace assay::reference::encodings {

struct vision {
  static constexpr std::string_view name = "vision";
  static core::encoding_summary summary() {
    return {.what = "positions of images: tables of another grid, biases by rows and columns",
            .formula = "B_ij = table[row_i - row_j, column_i - column_j]",
            .sources = {{"Dosovitskiy et al. 2020", "https://arxiv.org/abs/2010.11929"},
                        {"Liu et al. 2021", "https://arxiv.org/abs/2103.14030"}},
            .also = {{"sinusoids of MAE, DiT and DETR", "vision/sinusoids and masked_sinusoids"},
                     {"ViTDet, SAM, MViTv2", "vision/decomposed_bias"},
                     {"coordinates of Swin V2", "vision/log_coordinates"},
                     {"tables of ViT, DeiT, DINOv2 at another resolution", "vision/interpolated_table"},
                     {"Swin, BEiT", "vision/relative_bias and relative_bias_with_class"}}};
  }

  /// The parts that have a format of their own besides sums.
  enum class stage { coordinates, weights, output };

  using traced = formula::traced;
  using index = formula::traced_integer;
  /// A row and a column of a grid, or the distances between two places.
  struct place {
    std::int64_t row, column;
  };
  /// The steps that variants replace.
  struct scheme : recorded_scheme<scheme> {
    std::function<resampled_axis(const resampling& settings)> axis = [](const resampling& settings) {
      return resampled_axis(settings);
    };
    std::function<traced(const resampled_axis& resampled)> distances = [](const resampled_axis& resampled) {
      return resampled.distances_by_scale();
    };
    /// Whether columns of the grid are resampled before its rows.
    bool columns_first = false;
    /// The index of the entry for two places, from their distance, in a table of this size.
    std::function<std::int64_t(place apart, place size)> entry = [](place apart, place size) {
      return (apart.row + size.row / 2) * size.column + apart.column + size.column / 2;
    };
    /// The rows of the class token for three cases: it is the query, it is the key, it is both.
    std::array<std::int64_t, 3> class_rows{0, 1, 2};
    /// The sum of q . rel_rows [b, H, W, H] and q . rel_columns [b, H, W, W], for queries, rows of keys and columns of
    /// keys.
    std::function<traced(const traced& row_terms, const traced& column_terms)> sum_of_axes = summed_over_grid;
    std::function<traced(const traced& q)> query = [](const traced& q) { return q; };
    /// base^(-t / r)
    std::function<traced(const traced& base, std::size_t r)> frequencies = [](const traced& base, std::size_t r) {
      return formula::geometric_frequencies(base, 0, r, r);
    };
    /// Normalizes the places of an axis, counted from 1, by the last places.
    std::function<traced(const traced& place, const traced& last)> normalize = [](const traced& place,
                                                                                  const traced& last) {
      return place / (last + formula::setting(1e-6)) * (traced(2.0) * pi<traced>());
    };
    /// The number that padding adds to a count of places.
    std::int64_t padding = 0;
    /// log(1 + x)
    std::function<traced(const traced& x)> log_of = [](const traced& x) { return log(traced(1.0) + x); };
  };
  static std::vector<recorded_formula<scheme>> formulas() {
    return {{interpolated_declaration(), interpolated},
            {bias_declaration(false), bias},
            {bias_declaration(true), bias},
            {decomposed_declaration(), decomposed},
            {sinusoids_declaration(false), sinusoids},
            {sinusoids_declaration(true), masked_sinusoids},
            {coordinates_declaration(), coordinates}};
  }
  static traced summed_over_grid(const traced& row_terms, const traced& column_terms);

 private:
  static std::string conflict_of_window(const core::attributes&, const core::axis_sizes& sizes) {
    return sizes.at("H") > 0 && sizes.at("W") > 0 ? "" : "H = 0 or W = 0: a window has at least one row and one column";
  }
  static core::operation interpolated_declaration();
  static core::operation bias_declaration(bool with_class);
  static formula::program interpolated(const scheme& steps, const formula::program_sizes& call);
  static formula::program bias(const scheme& steps, const formula::program_sizes& call);
  static core::operation decomposed_declaration();
  static core::operation sinusoids_declaration(bool masked);
  static core::operation coordinates_declaration();
  static formula::program decomposed(const scheme& steps, const formula::program_sizes& call);
  static formula::program sinusoids(const scheme& steps, const formula::program_sizes& call);
  static formula::program masked_sinusoids(const scheme& steps, const formula::program_sizes& call);
  static formula::program coordinates(const scheme& steps, const formula::program_sizes& call);
  static traced distant(const traced& table, std::size_t size);
  static traced waves(const scheme& steps, const recorded_call& in, const traced& places);
  static traced both_axes(const recorded_call& in, const traced& rows, const traced& columns);
  static traced resampled(const resampled_axis& axis, const traced& weights, const traced& table, std::size_t along);
  static traced proved(const recorded_call& in, const resampled_axis& rows, const resampled_axis& columns,
                       const traced& table);
};

/// A table [H, W, d] along one axis of the grid.
inline vision::traced vision::resampled(const resampled_axis& axis, const traced& weights, const traced& table,
                                        std::size_t along) {
  return contracted_where(axis.there(), weights, gathered(table, axis.places(), along),
                          along == 0 ? "it,itxd->ixd" : "jt,yjtd->yjd");
}
/// For proofs: sums of exact products, and one division. A quotient may lie halfway between two numbers, where no
/// enclosure of the weights decides. The last step of a gradient is the first step of the formula, so there the
/// division comes first.
inline vision::traced vision::proved(const recorded_call& in, const resampled_axis& rows, const resampled_axis& columns,
                                     const traced& table) {
  const std::int64_t sum_of_rows = rows.common_sum(), sum_of_columns = columns.common_sum();
  const auto made = [&](const traced& by_row, const traced& by_column, const traced& x) {
    return resampled(columns, by_column, resampled(rows, by_row, x, 0), 1);
  };
  if (in.is_of_gradient() && sum_of_rows > 0 && sum_of_columns > 0 &&
      sum_of_rows < (std::int64_t{1} << 52) / sum_of_columns)
    return made(rows.weights_of_common_sum(), columns.weights_of_common_sum(),
                table / traced(static_cast<double>(sum_of_rows * sum_of_columns)));
  return made(rows.whole_weights(), columns.whole_weights(), table) /
         (reshaped(rows.whole_sums(), {in.size("Y"), 1, 1}) * reshaped(columns.whole_sums(), {in.size("X"), 1}));
}

inline formula::program vision::interpolated(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const traced table = in["table"], kept = in["kept"];
  const bool is_same = in.size("H") == in.size("Y") && in.size("W") == in.size("X");
  const auto axis = [&](const char* from, const char* to) {
    return steps.axis({.from = static_cast<std::int64_t>(in.size(from)),
                       .to = static_cast<std::int64_t>(in.size(to)),
                       .cubic = in.setting<std::string>("mode") == "bicubic",
                       .aligned = in.setting<bool>("align_corners"),
                       .antialiased = in.setting<bool>("antialias"),
                       .has_offset = in.setting<std::string>("scale") == "offset" && !is_same});
  };
  const resampled_axis rows = axis("H", "Y"), columns = axis("W", "X");
  const auto along = [&](std::size_t k, const traced& x) {
    const resampled_axis& one = k == 0 ? rows : columns;
    const traced made = in_stage<traced>(stage::coordinates, [&] { return one.weights_of(steps.distances(one)); });
    const traced weights = in_stage<traced>(stage::weights, [&] { return rounded_once(made); });
    return in_stage<traced>(stage::output, [&] { return resampled(one, weights, x, k); });
  };
  const traced grid = in.is_truth()         ? proved(in, rows, columns, table)
                      : steps.columns_first ? along(0, along(1, table))
                                            : along(1, along(0, table));
  return in.finish(formula::joined({kept, reshaped(grid, {in.size("Y") * in.size("X"), in.size("d")})}, 0));
}

inline formula::program vision::bias(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const auto rows = static_cast<std::int64_t>(in.size("H")), columns = static_cast<std::int64_t>(in.size("W"));
  const std::int64_t count = rows * columns, sign = in.setting<std::string>("sign") == "query_minus_key" ? 1 : -1;
  const place size{2 * rows - 1, 2 * columns - 1};
  const std::int64_t before = in.has("rows") ? 1 : 0, entries = size.row * size.column, n = count + before;
  std::vector<std::int64_t> all;
  for (std::int64_t i = -before; i < count; ++i)
    for (std::int64_t j = -before; j < count; ++j) {
      const std::size_t token_class = i < 0 ? (j < 0 ? 2 : 0) : 1;
      all.push_back(i < 0 || j < 0
                        ? entries + steps.class_rows[token_class]
                        : steps.entry({sign * (i / columns - j / columns), sign * (i % columns - j % columns)}, size));
    }
  const std::size_t h = in.size("h");
  const traced table = reshaped(in["table"], {static_cast<std::size_t>(entries), h});
  const traced entry = before ? formula::joined({table, in["rows"]}, 0) : table;
  const auto pairs = static_cast<std::size_t>(n);
  return in.finish(transposed(gathered(entry, formula::known_integers({pairs, pairs}, all), 0), {2, 0, 1}));
}

/// Entries of a table [2n - 1, d] for n queries and n keys [n, n, d].
inline vision::traced vision::distant(const traced& table, std::size_t size) {
  std::vector<std::int64_t> all;
  for (std::size_t i = 0; i < size; ++i)
    for (std::size_t j = 0; j < size; ++j) all.push_back(static_cast<std::int64_t>(i + size - 1 - j));
  return gathered(table, formula::known_integers({size, size}, all), 0);
}
inline vision::traced vision::summed_over_grid(const traced& row_terms, const traced& column_terms) {
  const core::shape s = shape_of(row_terms);
  const std::size_t h = s[1], w = s[2];
  return reshaped(reshaped(row_terms, {s[0], h, w, h, 1}) + reshaped(column_terms, {s[0], h, w, 1, w}),
                  {s[0], h * w, h * w});
}
inline formula::program vision::decomposed(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const traced q = steps.query(in["q"]);
  const traced rows = distant(in["rel_rows"], in.size("H")), columns = distant(in["rel_columns"], in.size("W"));
  constexpr std::size_t products = 0, sum = 1;
  const auto [row_terms, column_terms] = in_stage<traced>(products, [&] {
    return std::pair(contracted(q, rows, "bywd,ykd->bywk"), contracted(q, columns, "bywd,wkd->bywk"));
  });
  return in.finish(in_stage<traced>(sum, [&] { return steps.sum_of_axes(row_terms, column_terms); }));
}

/// Sines and cosines [..., 2r] of places [..., 1].
inline vision::traced vision::waves(const scheme& steps, const recorded_call& in, const traced& places) {
  constexpr std::size_t angle = 0, table = 1;
  const traced x = in_stage<traced>(angle, [&] { return places * steps.frequencies(in.number("base"), in.size("r")); });
  core::shape s = shape_of(x);
  const std::size_t last = s.size() - 1;
  const auto [sines, cosines] = in_stage<traced>(table, [&] { return std::pair(sine_of(x), cosine_of(x)); });
  if (in.setting<std::string>("layout") == "half_split") return formula::joined({sines, cosines}, last);
  core::shape one = s;
  one.push_back(1);
  s[last] *= 2;
  return reshaped(formula::joined({reshaped(sines, one), reshaped(cosines, one)}, last + 1), s);
}
/// Joins both axes to [..., H, W, 4r]; each array may lack the other axis.
inline vision::traced vision::both_axes(const recorded_call& in, const traced& rows, const traced& columns) {
  core::shape s = shape_of(rows);
  const std::size_t last = s.size() - 1;
  s[last - 2] = in.size("H"), s[last - 1] = in.size("W");
  const traced row_waves = broadcast(rows, s), column_waves = broadcast(columns, s);
  return in.setting<std::string>("first") == "rows" ? formula::joined({row_waves, column_waves}, last)
                                                    : formula::joined({column_waves, row_waves}, last);
}
inline formula::program vision::sinusoids(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const traced rows = to_real(in.integers("rows")), columns = to_real(in.integers("columns"));
  return in.finish(both_axes(in, waves(steps, in, reshaped(rows, {in.size("H"), 1, 1})),
                             waves(steps, in, reshaped(columns, {1, in.size("W"), 1}))));
}
inline formula::program vision::masked_sinusoids(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const core::shape s{in.size("B"), in.size("H"), in.size("W")};
  if (s[0] * s[1] * s[2] == 0) return in.finish(broadcast(traced(0.0), {s[0], s[1], s[2], 4 * in.size("r")}));
  const index counts =
      either(equal(in.integers("mask"), index::constant(0)), index::constant(steps.padding), index::constant(1));
  const auto along = [&](std::size_t axis) {
    const index place = cumulative_sum(broadcast(counts, s), axis);
    const traced all = in_stage<traced>(std::size_t{0}, [&] {
      const traced real = index_number(place);
      const traced by_half = in.setting<std::string>("shift") == "half" ? real - traced(0.5) : real;
      if (!in.setting<bool>("normalized")) return by_half;
      return steps.normalize(by_half, index_number(between(place, axis, s[axis] - 1, s[axis])));
    });
    return waves(steps, in, reshaped(all, {s[0], s[1], s[2], 1}));
  };
  return in.finish(both_axes(in, along(1), along(2)));
}

inline formula::program vision::coordinates(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const std::size_t h = in.size("H"), w = in.size("W");
  const auto along = [&](const char* input, const char* window, const core::shape& s) {
    const index distance = in.integers(input);
    const traced apart = index_number(magnitude_of(distance)), eight(8.0);
    const auto reach = static_cast<double>(in.setting<std::int64_t>(window) - 1);
    const traced size = in.setting<std::string>("form") == "normalized"
                            ? steps.log_of(apart / traced(reach) * eight) / log(eight)
                            : steps.log_of(apart);
    const traced x = either(less(distance, index::constant(0)), -size, size);
    return broadcast(reshaped(x, s), {h, w, 1});
  };
  return in.finish(formula::joined(
      {along("row_distance", "window_rows", {h, 1, 1}), along("column_distance", "window_columns", {1, w, 1})}, 2));
}

inline core::operation vision::interpolated_declaration() {
  const auto size = [](const char* called, const char* axis) {
    return integer(called, {4, 1, 3, 7}, {1, static_cast<double>(resampling::most)},
                   std::string("how many ") + called + " the new grid has", axis);
  };
  return {.name = "vision/interpolated_table",
          .source = "Dosovitskiy et al. 2020, arXiv 2010.11929, section 3.2; torch.nn.functional.interpolate",
          .inputs = {core::parameter("table", {"H", "W", "d"}, "a row for each place of a grid"),
                     core::parameter("kept", {"k", "d"}, "rows of class tokens, which stay as they are")},
          .outputs = {{.name = "y",
                       .axes = {"Y*X+k", "d"},
                       .meaning = "the kept rows, and one for each place of the new grid, row by row"}},
          .attributes = {size("rows", "Y"), size("columns", "X"),
                         choice("mode", {"bicubic", "bilinear"}, "how numbers are interpolated along each axis"),
                         flag("align_corners", false, "whether the corners of both grids lie on one another"),
                         flag("antialias", false, "whether a smaller grid takes weighted means of the larger one"),
                         choice("scale", {"sizes", "offset"},
                                "what another grid is scaled by: H / Y, or H / (Y + 0.1), as DINOv2 does")},
          .stages = {{.name = "coordinates", .meaning = "places of the new grid, and the weights of rows there"},
                     {.name = "weights", .meaning = "those weights as they are stored", .narrow = true},
                     {.name = "output", .meaning = "weighted sums along each axis", .narrow = true},
                     {.name = std::string(core::accumulation), .meaning = "those sums"}},
          .independent = {"d"},
          .axis_roles = {{"H", core::axis_role::parameter},
                         {"W", core::axis_role::parameter},
                         {"Y", core::axis_role::parameter},
                         {"X", core::axis_role::parameter}},
          .conflict = [](const core::attributes& settings, const core::axis_sizes& sizes) -> std::string {
            const bool aligned = core::setting<bool>(settings, "align_corners"),
                       offset = core::setting<std::string>(settings, "scale") == "offset";
            if (aligned && core::setting<bool>(settings, "antialias"))
              return "antialias = true and align_corners = true exclude each other: PyTorch mixes the scale of one and "
                     "the centers of the other";
            if (offset && (aligned || core::setting<bool>(settings, "antialias") ||
                           core::setting<std::string>(settings, "mode") != "bicubic"))
              return "scale = \"offset\" is for plain bicubic weights: with others PyTorch does not resample an axis "
                     "whose size stays";
            for (const char* axis : {"H", "W"})
              if (sizes.at(axis) < 1 || sizes.at(axis) > static_cast<std::size_t>(resampling::most))
                return std::string(axis) + " must be from 1 to " + std::to_string(resampling::most);
            return "";
          },
          .named_only = true};
}

inline core::operation vision::bias_declaration(bool with_class) {
  const std::string n = with_class ? "H*W+1" : "H*W";
  core::operation op{
      .name = with_class ? "vision/relative_bias_with_class" : "vision/relative_bias",
      .source = with_class ? "Bao et al. 2021, arXiv 2106.08254; microsoft/unilm, beit/modeling_finetune.py"
                           : "Liu et al. 2021, arXiv 2103.14030, eq. (4)",
      .inputs = {core::parameter("table", {"2H-1", "2W-1", "h"}, "a bias for each difference of rows and of columns")},
      .outputs = {{.name = "bias", .axes = {"h", n, n}, .meaning = "biases of queries and keys"}},
      .attributes = {choice("sign", {"query_minus_key", "key_minus_query"},
                            "what a difference is: the place of a query less that of a key, or the other way")},
      .stages = {{.name = std::string(core::accumulation), .meaning = "sums in the gradient of the table"}},
      .independent = {"h"},
      .axis_roles = {{"H", core::axis_role::parameter}, {"W", core::axis_role::parameter}},
      .conflict = conflict_of_window,
      .named_only = true};
  if (with_class)
    op.inputs.push_back(
        core::parameter("rows", {"3", "h"}, "biases of the class token: as a query, as a key, and of both"));
  return op;
}

inline core::operation vision::decomposed_declaration() {
  const auto rows_of = [](const char* called, const char* axis, const char* difference) {
    return core::parameter(called, {axis, "d"}, std::string("a row for each difference of ") + difference,
                           {-0x1p60, 0x1p60});
  };
  return {.name = "vision/decomposed_bias",
          .source = "Li et al. 2021, arXiv 2112.01526, eq. (4); facebookresearch/segment-anything, image_encoder.py",
          .inputs = {rows_of("rel_rows", "2H-1", "rows"),
                     rows_of("rel_columns", "2W-1", "columns"),
                     {.name = "q",
                      .axes = {"B", "H", "W", "d"},
                      .meaning = "queries, unscaled",
                      .domain = {-0x1p60, 0x1p60}}},
          .outputs = {{.name = "bias", .axes = {"B", "H*W", "H*W"}, .meaning = "what is added to the scores"}},
          .stages = {{.name = "products", .meaning = "queries times the rows of each axis", .narrow = true},
                     {.name = "sum", .meaning = "the sum of both axes", .narrow = true},
                     {.name = std::string(core::accumulation), .meaning = "sums over features"}},
          .independent = {"B"},
          .axis_roles = {{"H", core::axis_role::parameter}, {"W", core::axis_role::parameter}},
          .conflict = conflict_of_window,
          .named_only = true};
}

inline core::operation vision::sinusoids_declaration(bool masked) {
  const auto places = [](const char* called, const char* axis) {
    return core::integers(called, {axis}, std::string("positions of ") + called, {-0x1p31, 0x1p31},
                          core::input_role::position);
  };
  std::vector<std::string> axes{"H", "W", "4r"};
  if (masked) axes.insert(axes.begin(), "B");
  core::operation op{
      .name = masked ? "vision/masked_sinusoids" : "vision/sinusoids",
      .source = masked ? "Carion et al. 2020, arXiv 2005.12872; facebookresearch/detr, models/position_encoding.py"
                       : "facebookresearch/mae, util/pos_embed.py",
      .inputs = {places("rows", "H"), places("columns", "W")},
      .outputs = {{.name = "p", .axes = axes, .meaning = "sines and cosines of rows and columns"}},
      .attributes = {integer("frequencies", {4, 1, 3, 16}, {1, 65536}, "r: how many frequencies each axis has", "r"),
                     choice("first", {"rows", "columns"}, "which axis has the first half of p: DETR rows, MAE columns"),
                     choice("layout", {"half_split", "interleaved"},
                            "sines and then cosines, as in MAE, or by turns, as in DETR"),
                     real("base", {1e4, 20.0}, {1.0, 1e9}, "b of the frequencies b^(-t/r)")},
      .stages = {{.name = "angle", .meaning = "positions, frequencies and angles"},
                 {.name = "table", .meaning = "sines and cosines"}},
      .independent = {},
      .axis_roles = {{"H", core::axis_role::token}, {"W", core::axis_role::token}},
      .named_only = true};
  if (!masked) return op;
  op.inputs = {core::integers("mask", {"B", "H", "W"}, "1: a place of the image, 0: padding", {0.0, 1.0},
                              core::input_role::value)};
  op.independent = {"B"};
  op.attributes.push_back(flag("normalized", true, "whether positions are divided by the last one + 1e-6, times 2 pi"));
  op.attributes.push_back(
      choice("shift", {"none", "half"}, "whether 1/2 is subtracted from positions, as in Deformable DETR"));
  return op;
}

inline core::operation vision::coordinates_declaration() {
  const auto distances = [](const char* called, const char* axis) {
    return core::integers(called, {axis}, "the distance of a key from a query", {-0x1p31, 0x1p31},
                          core::input_role::position);
  };
  const auto window = [](const char* called) {
    return integer(called, {8, 2, 7, 24}, {2, 0x1p20}, "the size of the window in training");
  };
  return {.name = "vision/log_coordinates",
          .source = "Liu et al. 2021, arXiv 2111.09883, eq. (5); microsoft/Swin-Transformer, swin_transformer_v2.py",
          .inputs = {distances("row_distance", "H"), distances("column_distance", "W")},
          .outputs = {{.name = "x", .axes = {"H", "W", "2"}, .meaning = "coordinates of rows and of columns"}},
          .attributes = {window("window_rows"), window("window_columns"),
                         choice("form", {"normalized", "plain"},
                                "log2(1 + 8 |t| / (window - 1)) / 3 of a distance t, or log(1 + |t|)")},
          .independent = {},
          .axis_roles = {{"H", core::axis_role::token}, {"W", core::axis_role::token}},
          .named_only = true};
}

}  // namespace assay::reference::encodings
