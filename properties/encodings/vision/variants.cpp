// Wrong and right ways to resample tables, and to compute biases of windows.
#include <algorithm>

#include "properties/faults/call_changes.hpp"
#include "properties/faults/declared_faults.hpp"
#include "reference/encodings/vision.hpp"

namespace assay::properties::encodings::vision {
namespace {

using core::dtype;
using encoding = reference::encodings::vision;
using reference::resampled_axis;
using reference::resampling;
using reference::formula::traced;
using place = encoding::place;
inline constexpr auto& changed = make_variant<encoding>;

/// Changes the options from which a resampled axis is made, or the axis itself.
template <class Change>
scheme_change<reference::plain_scheme<encoding>> with_axis(Change change) {
  return [change](auto& scheme) {
    scheme.axis = [change](resampling options) {
      if constexpr (std::is_invocable_v<Change, resampling&>) change(options);
      resampled_axis axis(options);
      if constexpr (std::is_invocable_v<Change, resampled_axis&>) change(axis);
      return axis;
    };
  };
}
template <class Entry>
scheme_change<reference::plain_scheme<encoding>> with_entry(Entry entry) {
  return [entry](auto& scheme) { scheme.entry = entry; };
}

}  // namespace

std::vector<variant> mutants() {
  return all_of(
      {reported_faults({
           {"mutant/vision_corners_not_aligned", "ggml-org/llama.cpp#25781: half pixels for aligned corners",
            "vision/interpolated_table/align_corners/ignored"},
           {"mutant/vision_bilinear_hard_coded", "huggingface/pytorch-image-models#750: the mode is not read",
            "vision/interpolated_table/mode/always_bilinear"},
           {"mutant/vision_without_antialias", "openvinotoolkit/openvino.genai#4444: plain weights",
            "vision/interpolated_table/antialias/ignored"},
           {"mutant/vision_scale_of_sizes", "facebookresearch/dinov2#378: a size for a scale with an offset",
            "vision/interpolated_table/scale/ignored"},
           {"mutant/vision_sign_ignored", "j - i for i - j: a port", "vision/relative_bias/sign/ignored"},
           {"mutant/vision_columns_for_rows", "facebookresearch/mae#18, #218: whether the width goes first",
            "vision/sinusoids/first/ignored"},
           {"mutant/vision_halves_for_turns", "facebookresearch/mae#63: sines and cosines in halves, not by turns",
            "vision/masked_sinusoids/layout/ignored"},
           {"mutant/vision_half_not_subtracted", "positions of DETR for those of Deformable DETR",
            "vision/masked_sinusoids/shift/ignored"},
           {"mutant/vision_not_normalized", "impiga/Plain-DETR#28: positions of pixels and of places",
            "vision/masked_sinusoids/normalized/always_false"},
           {"mutant/vision_window_not_read", "microsoft/Swin-Transformer#385: the window that was trained with",
            "vision/log_coordinates/window_rows/ignored"},
       }),
       {
           changed("mutant/vision_sharpness_of_keys", "Blaizzy/mlx-vlm#1241: A = -1/2, for -3/4 without antialiasing",
                   "all cubic weights are of A = -1/2",
                   {.formula = with_axis([](resampling& options) { options.sharpness = -2; }), .representative = true}),
           changed("mutant/vision_sharpness_not_changed", "F.interpolate without antialias, ported: A = -3/4 always",
                   "all cubic weights are of A = -3/4",
                   {.formula = with_axis([](resampling& options) { options.sharpness = -3; })}),
           changed("mutant/vision_without_half_pixel", "TensorFlow 1, resize_images: i times the scale",
                   "places are multiplied by the scale from the corner of the first one",
                   {.formula = with_axis([](resampling& options) { options.shift = 0; }), .representative = true}),
           changed("mutant/vision_zeros_outside", "grid_sample, padding_mode = zeros",
                   "outside of the grid there are zeros",
                   {.formula = with_axis([](resampled_axis& axis) {
                      for (std::size_t k = 0; k < axis.place.size(); ++k)
                        axis.is_there[k] = axis.is_there[k] && axis.place[k] == axis.number[k];
                    }),
                    .representative = true}),
           changed("mutant/vision_grid_transposed",
                   "huggingface/transformers#41380, huggingface/diffusers#11309: columns for rows of a grid",
                   "the new grid is read column by column",
                   {.outputs =
                        [](core::tensors& outputs, const request& call) {
                          const auto y = outputs.find("y");
                          if (y == outputs.end()) return;
                          const auto rows = static_cast<std::size_t>(setting_of<std::int64_t>(call, "rows")),
                                     columns = static_cast<std::size_t>(setting_of<std::int64_t>(call, "columns"));
                          const std::size_t d = y->second.shape()[1], kept = y->second.shape()[0] - rows * columns;
                          const std::vector<double> right(y->second.values.begin(), y->second.values.end());
                          for (std::size_t k = kept * d; k < right.size(); ++k) {
                            const std::size_t t = k / d - kept, from = t % rows * columns + t / rows;
                            y->second.values.storage()[k] = right[(kept + from) * d + k % d];
                          }
                        },
                    .representative = true}),
           changed("mutant/vision_equal_count_returned",
                   "huggingface/pytorch-image-models#2737: as many places in a square grid as in the old one",
                   "a table of as many places is returned as it is where the new grid is square",
                   {.outputs =
                        [](core::tensors& outputs, const request& call) {
                          const auto y = outputs.find("y");
                          if (y == outputs.end()) return;
                          const core::tensor& table = call.inputs.at("table");
                          const auto side = static_cast<std::size_t>(setting_of<std::int64_t>(call, "rows"));
                          const bool is_square =
                              setting_of<std::int64_t>(call, "columns") == setting_of<std::int64_t>(call, "rows");
                          if (is_square && table.shape()[0] * table.shape()[1] == side * side)
                            std::copy(table.values.begin(), table.values.end(),
                                      y->second.values.storage().end() - static_cast<std::ptrdiff_t>(table.size()));
                        },
                    .representative = true}),
           changed("mutant/vision_weights_in_f16", "weights in the dtype of a model in half precision",
                   "distances are held in f16",
                   {.formula =
                        [](auto& scheme) {
                          scheme.distances = [](const resampled_axis& axis) {
                            return held_in(dtype::f16, axis.distances_by_scale());
                          };
                        }}),
           changed("mutant/vision_rows_of_other_width", "leondgarse/keras_cv_attention_models#26: 2 H - 1 for 2 W - 1",
                   "a row of the table of biases is as long as a column",
                   {.formula = with_entry([](place apart, place size) {
                      return std::min(size.row * size.column - 1,
                                      (apart.row + size.row / 2) * size.row + apart.column + size.column / 2);
                    }),
                    .representative = true}),
           changed("mutant/vision_rows_and_columns_added", "282857341/nnFormer#88: strides by which places coincide",
                   "pairs with the same sum of differences have the same bias",
                   {.formula = with_entry([](place apart, place size) {
                      return apart.row + size.row / 2 + apart.column + size.column / 2;
                    })}),
           changed("mutant/vision_class_rows_exchanged", "microsoft/SimMIM#4: which of the three rows is which",
                   "the rows of the class token as query and as key are exchanged",
                   {.formula =
                        [](auto& scheme) {
                          scheme.class_rows = {1, 0, 2};
                        }}),
           changed("mutant/vision_class_is_a_key", "microsoft/SimMIM#4: a statement that is overwritten",
                   "the bias of the class token for itself is that of a key",
                   {.formula =
                        [](auto& scheme) {
                          scheme.class_rows = {0, 1, 1};
                        }}),
           changed("mutant/vision_axes_of_keys_exchanged", "the height for the width, as in roboflow/rf-detr#630",
                   "what belongs to the rows of keys is added along their columns",
                   {.formula =
                        [](auto& scheme) {
                          scheme.sum_of_axes = [](const traced& row_part, const traced& column_part) {
                            const core::shape s = shape_of(row_part);
                            const std::size_t h = s[1], w = s[2];
                            return reshaped(
                                reshaped(row_part, {s[0], h, w, 1, h}) + reshaped(column_part, {s[0], h, w, w, 1}),
                                {s[0], h * w, h * w});
                          };
                        },
                    .representative = true}),
           changed("mutant/vision_queries_scaled", "scaled queries for the bias, too: a port of SAM",
                   "queries are divided by sqrt(d) before",
                   {.formula =
                        [](auto& scheme) {
                          scheme.query = [](const traced& q) {
                            const auto width = static_cast<double>(shape_of(q).back());
                            return q * power(traced(width), reference::ratio(-1, 2));
                          };
                        }}),
           changed("mutant/vision_columns_left_out", "a bias by rows alone", "columns of keys add nothing",
                   {.formula =
                        [](auto& scheme) {
                          scheme.sum_of_axes = [](const traced& row_part, const traced& column_part) {
                            return encoding::summed_over_grid(row_part, column_part * traced(0.0));
                          };
                        }}),
           changed("mutant/vision_frequencies_of_whole_width", "sinusoids of one axis, with d for d/2",
                   "exponents are those of all 2r pairs of both axes",
                   {.formula =
                        [](auto& scheme) {
                          scheme.frequencies = [](const traced& base, std::size_t r) {
                            return geometric_frequencies(base, 0, r, 2 * r);
                          };
                        },
                    .representative = true}),
           changed("mutant/vision_padding_counts", "positions of all places, padded ones too",
                   "padding counts as the image does",
                   {.formula = [](auto& scheme) { scheme.padding = 1; }, .representative = true}),
           changed("mutant/vision_last_place_not_read", "a padded size for that of the image",
                   "positions are divided by the number of places of the padded image",
                   {.formula =
                        [](auto& scheme) {
                          scheme.normalize = [](const traced& place, const traced& last) {
                            const core::shape all = shape_of(place), one = shape_of(last);
                            double size = 1;
                            for (std::size_t k = 0; k < all.size(); ++k)
                              if (all[k] != one[k]) size = static_cast<double>(all[k]);
                            return place / traced(size) * traced(6.283185307179586);
                          };
                        }}),
           changed("mutant/vision_angles_in_f16", "huggingface/transformers#30803: positions in float16",
                   "positions are held in f16",
                   {.formula =
                        [](auto& scheme) {
                          scheme.normalize = [](const traced& place, const traced& last) {
                            return held_in(dtype::f16, place / last) * traced(6.283185307179586);
                          };
                        }}),
           changed("mutant/vision_coordinates_without_logarithm", "linear coordinates, which Swin V2 compares with",
                   "x in place of log(1 + x)",
                   {.formula = [](auto& scheme) { scheme.log_of = [](const traced& x) { return x; }; },
                    .representative = true}),
       }});
}

std::vector<variant> controls() {
  return {
      changed("control/vision_log1p", "log1p for log(1 + x)", "another logarithm",
              {.formula = [](auto& scheme) { scheme.log_of = [](const traced& x) { return log1p(x); }; }}),
      changed("control/vision_frequencies_by_quotients", "PositionEmbeddingSine: positions over T^(t/r)",
              "1 / b^(t/r) for b^(-t/r)",
              {.formula =
                   [](auto& scheme) {
                     scheme.frequencies = [](const traced& base, std::size_t r) {
                       return traced(1.0) / geometric_frequencies(traced(1.0) / base, 0, r, r);
                     };
                   }}),
      changed(
          "control/vision_exact_coordinates", "matrices of weights that are made once, in integers",
          "src less a place as one quotient of integers",
          {.formula =
               [](auto& scheme) { scheme.distances = [](const resampled_axis& axis) { return axis.distances(); }; }}),
      changed("control/vision_columns_first", "upsample_bicubic2d of PyTorch", "each row is resampled first",
              {.formula = [](auto& scheme) { scheme.columns_first = true; }}),
      changed("control/vision_in_f64", "all in f64, rounded once", "another precision", {.arithmetic = in_f64}),
      changed("control/vision_usual_stages", "interpolate of bf16", "f16 and bf16: weights in f32, rows in the dtype",
              {.arithmetic = in_usual_stages, .declared = nothing_declared})};
}

}  // namespace assay::properties::encodings::vision
