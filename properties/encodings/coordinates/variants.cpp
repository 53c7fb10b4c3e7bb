// Wrong and right ways to find coordinates, and to convolve.
#include <algorithm>

#include "properties/faults/call_changes.hpp"
#include "properties/faults/declared_faults.hpp"
#include "properties/kinds/rotation_faults.hpp"
#include "reference/encodings/coordinates.hpp"

namespace assay::properties::encodings::coordinates {
namespace {

using core::dtype;
using encoding = reference::encodings::coordinates;
using index = encoding::index;
using reference::formula::traced;
inline constexpr auto& changed = make_variant<encoding>;

template <class Center>
auto with_center(Center center) {
  return [center](auto& scheme) { scheme.center = center; };
}
traced corner_of(const index& place, std::int64_t size) {
  return traced(2.0) * index_number(place) / traced(static_cast<double>(size)) - traced(1.0);
}
template <class Offset>
auto with_offset(Offset offset) {
  return [offset](auto& scheme) { scheme.offset = offset; };
}

}  // namespace

std::vector<variant> mutants() {
  return all_of(
      {reported_faults({
           {"mutant/coordinates_without_pi", "yenchenlin/nerf-pytorch#146, bmild/nerf#12: products without pi",
            "coordinates/fourier_features/factor/always_one"},
           {"mutant/coordinates_as_given", "2 x - 1 left out: points of [0, 1]",
            "coordinates/fourier_features/range/always_as_given"},
           {"mutant/coordinates_cosines_last", "PKU-YuanGroup/Open-Sora-Plan#315: the order of sines and cosines",
            "coordinates/fourier_features/first/ignored"},
           {"mutant/coordinates_rows_of_matrix_reversed", "huggingface/pytorch-image-models#2541: x and y exchanged",
            "coordinates/fourier_features/matrix/reversed_along_a_0"},
           {"mutant/coordinates_pairs_of_neighbours",
            "huggingface/pytorch-image-models#2692: rot() of neighbours for the halves of DINOv3",
            "coordinates/rotate/layout/ignored"},
           {"mutant/coordinates_always_own_size", "facebookresearch/dinov3, normalize_coords: not read",
            "coordinates/rotate/normalized/ignored"},
           {"mutant/coordinates_periods_made_again",
            "huggingface/pytorch-image-models, pos_embed_sincos.py: periods of the weights are those of bf16",
            "coordinates/rotate/held/ignored"},
           {"mutant/coordinates_padding_of_same", "pytorch/pytorch#45667: what is uneven is added behind",
            "coordinates/convolved_line/more_padding/always_behind"},
           {"mutant/coordinates_boxes_not_read", "microsoft/unilm, max_rel_2d_pos: not passed on",
            "coordinates/bucket_bias/box_max_distance/ignored"},
       }),
       {
           changed("mutant/coordinates_by_turns", "allenai/allennlp#2993: halves of sines and cosines, or by turns",
                   "sines and cosines stand by turns",
                   {.outputs =
                        [](core::tensors& outputs, const request& call) {
                          const auto y = outputs.find("y");
                          if (call.operation->input("matrix") == nullptr || y == outputs.end()) return;
                          const std::size_t width = y->second.shape()[2], r = width / 2;
                          const std::vector<double> right(y->second.values.begin(), y->second.values.end());
                          for (std::size_t k = 0; k < right.size(); ++k)
                            y->second.values.storage()[k / width * width + k % width % r * 2 + k % width / r] =
                                right[k];
                        },
                    .representative = true}),
           changed("mutant/coordinates_angles_in_bf16", "sgl-project/sglang-jax#1472: what angles are made of, in bf16",
                   "points and frequencies are rounded to bf16 before they are multiplied",
                   {.formula =
                        [](auto& scheme) {
                          scheme.angle = [](const traced& points, const traced& matrix, const traced& factor) {
                            return contracted(held_in(dtype::bf16, points), held_in(dtype::bf16, matrix),
                                              "bna,ar->bnr") *
                                   factor;
                          };
                          scheme.frequencies = [](const auto& in, std::size_t r) {
                            return held_in(dtype::bf16, encoding::frequencies_of(in, r));
                          };
                        }}),
           changed("mutant/coordinates_places_counted",
                   "huggingface/pytorch-image-models#2692: axial positions for coordinates",
                   "the coordinate of a place is its number",
                   {.formula = with_center([](const index& place, std::int64_t) { return index_number(place); }),
                    .representative = true}),
           changed("mutant/coordinates_of_corners", "corners for the centers of patches: i / H",
                   "1/2 is not added to a place", {.formula = with_center(corner_of)}),
           changed("mutant/coordinates_class_token_turned", "MicPie/clasp#7: the class token must not be turned",
                   "the grid begins with the first token",
                   {.formula =
                        [](auto& scheme) {
                          scheme.first_of_grid = [](std::size_t, std::size_t) { return std::size_t{0}; };
                        },
                    .representative = true}),
           changed("mutant/coordinates_turned_backwards", "the sign of rotate_half", "pairs turn by -a",
                   {.formula = [](auto& scheme) { scheme.turn = rotations::turned_backwards; }}),
           changed("mutant/coordinates_grid_by_columns", "huggingface/diffusers#11309: rows and columns exchanged",
                   "the numbers of rows and of columns are exchanged",
                   {.inputs =
                        [](request& call) {
                          if (call.operation->attribute("rows") == nullptr) return;
                          const auto rows = setting_of<std::int64_t>(call, "rows"),
                                     columns = setting_of<std::int64_t>(call, "columns");
                          call.attributes["rows"] = columns, call.attributes["columns"] = rows;
                        },
                    .representative = true}),
           changed("mutant/coordinates_without_residual", "PosCNN of stride 2 for one of stride 1", "x is not added",
                   {.formula =
                        [](auto& scheme) {
                          scheme.add = [](const traced& x, const traced& y) { return x * traced(0.0) + y; };
                        },
                    .representative = true}),
           changed(
               "mutant/coordinates_kernel_flipped", "a convolution of mathematics: w_u x_{p - u}",
               "kernels are read from their last number on",
               {.formula = with_offset([](std::int64_t term, std::int64_t size, bool) { return size / 2 - term; })}),
           changed("mutant/coordinates_edge_repeated", "huggingface/candle#408: other padding than PyTorch's zeros",
                   "outside of the grid the nearest place stands again",
                   {.formula =
                        [](auto& scheme) {
                          scheme.outside = [](std::int64_t place, std::int64_t size) {
                            return std::clamp<std::int64_t>(place, 0, size - 1);
                          };
                        },
                    .representative = true}),
           changed("mutant/coordinates_opposite_sign", "dmlc/gluon-nlp#1470", "buckets are those of i - j",
                   {.formula =
                        [](auto& scheme) {
                          scheme.bucket = [](const reference::bucket_map& map, double distance) {
                            return reference::bucket_of(map, -distance);
                          };
                        },
                    .representative = true}),
           changed("mutant/coordinates_keys_behind_share_one", "microsoft/unilm#762: buckets of one direction",
                   "keys behind the query have the bucket of distance 0",
                   {.formula =
                        [](auto& scheme) {
                          scheme.bucket = [](const reference::bucket_map& map, double distance) {
                            return reference::bucket_of(map, std::min(distance, 0.0));
                          };
                        }}),
           changed("mutant/coordinates_one_table_for_boxes", "microsoft/unilm#284: whether one matrix is for both",
                   "y has the table of x",
                   {.formula =
                        [](auto& scheme) {
                          scheme.tables_of_axes = [](const std::array<traced, 2>& tables) {
                            return std::array<traced, 2>{tables[0], tables[0]};
                          };
                        }}),
           changed("mutant/coordinates_axes_of_boxes_exchanged", "x and y of boxes exchanged: a port",
                   "x has the table of y, and y that of x",
                   {.formula =
                        [](auto& scheme) {
                          scheme.tables_of_axes = [](const std::array<traced, 2>& tables) {
                            return std::array<traced, 2>{tables[1], tables[0]};
                          };
                        }}),
           changed("mutant/coordinates_not_activated", "the activation behind SamePad forgotten in a port",
                   "no activation",
                   {.formula = [](auto& scheme) { scheme.activate = [](const traced& z) { return z; }; }}),
           changed("mutant/coordinates_tanh_of_gelu", "tenstorrent/tt-metal#1262: gelu by tanh, or by erf",
                   "gelu by tanh",
                   {.formula =
                        [](auto& scheme) {
                          scheme.activate = [](const traced& z) {
                            const traced inner = traced(0.7978845608028654) * (z + traced(0.044715) * z * z * z);
                            return traced(0.5) * z * (traced(1.0) + tanh(inner));
                          };
                        }}),
       }});
}

std::vector<variant> controls() {
  return {
      changed("control/coordinates_factor_last", "PositionEmbeddingRandom: 2 pi times the product",
              "products first, the factor behind them",
              {.formula =
                   [](auto& scheme) {
                     scheme.angle = [](const traced& points, const traced& matrix, const traced& factor) {
                       return factor * contracted(points, matrix, "bna,ar->bnr");
                     };
                   }}),
      changed("control/coordinates_by_difference", "rope_position_encoding.py: 2 (i + 1/2) / H - 1",
              "a coordinate is a difference", {.formula = with_center(encoding::center_by_difference)}),
      changed("control/coordinates_periods", "rope_position_encoding.py: 2 pi c / T", "1 / T of periods",
              {.formula =
                   [](auto& scheme) {
                     scheme.frequencies = [](const auto& in, std::size_t r) {
                       return traced(1.0) / encoding::periods_of(in, r);
                     };
                   }}),
      changed("control/coordinates_gelu_by_scale", "gelu as x times the distribution of normal numbers",
              "1/2 multiplies the distribution",
              {.formula =
                   [](auto& scheme) {
                     scheme.activate = [](const traced& z) {
                       return z * (traced(0.5) + traced(0.5) * erf(z * traced(0.7071067811865476)));
                     };
                   }}),
      changed("control/coordinates_in_f64", "all in f64, rounded once", "another precision", {.arithmetic = in_f64}),
      changed("control/coordinates_usual_stages", "conv2d of bf16, DINOv3ViT: cosines and sines in the dtype",
              "f16 and bf16: angles in f32, sums in f32, what is stored in the dtype",
              {.arithmetic = in_usual_stages, .declared = nothing_declared})};
}

}  // namespace assay::properties::encodings::coordinates
