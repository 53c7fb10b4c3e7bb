// Wrong bucket maps.
#include <algorithm>
#include <cmath>
#include <limits>

#include "properties/encodings/t5_bias/mutants/formula.hpp"
#include "properties/encodings/t5_bias/mutants/mutants.hpp"
#include "properties/faults/several_encodings.hpp"
#include "reference/encodings/alibi.hpp"

namespace assay::properties::encodings::t5_bias {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary
using namespace reference::encodings;
// The buckets alone: a table has no such element.
template <bucket_function Bucket>
struct with_bucket_outside : unchanged_t5 {
  static void finish(const request& call, core::tensors& outputs) {
    if (call.operation->name != "t5_bias/bucket") return;
    const bucket_map map = reference::encodings::t5_bias::map_of(core::completed(*call.operation, call.attributes));
    const auto& distance = call.inputs.at("distance").values.storage();
    for (std::size_t i = 0; i < distance.size(); ++i)
      outputs.at("bucket").values.storage()[i] = static_cast<double>(Bucket(map, distance[i]));
  }
};

double linear(const bucket_map& map, double n) {
  const auto exact = static_cast<double>(map.exact()), largest = static_cast<double>(map.max_distance);
  return std::min(n - exact, largest) * formula(map, n).logarithmic / (largest - exact);
}
double log_one_ulp_low(const bucket_map& map, double n) {
  const formula f(map, n);
  const double low = core::next_below(core::dtype::f32, in_f32(std::log(in_f32(f.ratio))));
  return in_f32(in_f32(low / in_f32(std::log(f.largest))) * f.logarithmic);
}
double by_reciprocal(const bucket_map& map, double n) {
  const formula f(map, n);
  const double reciprocal = in_f32(1.0 / in_f32(std::log(in_f32(f.largest))));
  return in_f32(in_f32(in_f32(std::log(in_f32(f.ratio))) * reciprocal) * f.logarithmic);
}
// The reciprocal of the exact logarithm, rounded once.
double by_exact_reciprocal(const bucket_map& map, double n) {
  const formula f(map, n);
  return in_f32(in_f32(in_f32(std::log(in_f32(f.ratio))) * in_f32(1.0 / std::log(f.largest))) * f.logarithmic);
}
// A logarithm in f32 whose quotient is taken in f64.
double f32_log_in_f64(const bucket_map& map, double n) {
  const formula f(map, n);
  return in_f32(std::log(in_f32(f.ratio))) / std::log(f.largest) * f.logarithmic;
}
double by_bf16(const bucket_map& map, double n) {
  const formula f(map, in_bf16(n));
  return in_bf16(in_bf16(in_bf16(std::log(in_bf16(f.ratio))) / in_bf16(std::log(f.largest))) * f.logarithmic);
}
double to_nearest(const bucket_map& map, double n) {
  const formula f(map, n);
  return std::floor(0.5 + f.logarithmic * std::log(f.ratio) / std::log(f.largest));
}

std::int64_t without_clamp(const bucket_map& map, double distance) {
  const double n = map.magnitude(distance);
  if (map.form == "clipped" || n < static_cast<double>(map.exact())) return bucket_of(map, distance);
  const formula f(map, n);
  return map.base(distance) + map.exact() +
         static_cast<std::int64_t>(f.logarithmic * std::log(f.ratio) / std::log(f.largest));
}
// The branch that is not wanted at n = 0 is -inf before it becomes an integer, and is not left out.
std::int64_t log_of_zero(const bucket_map& map, double distance) {
  if (map.magnitude(distance) != 0 || map.form == "clipped") return bucket_of(map, distance);
  return std::numeric_limits<std::int32_t>::min() + map.exact();
}
// The distance back from the query as an unsigned number: keys after the query are far away.
std::int64_t unsigned_distance(const bucket_map& map, double distance) {
  if (map.bidirectional || distance <= 0) return bucket_of(map, distance);
  return bucket_of(map, -(0x1p32 - distance));
}
std::int64_t opposite_sign(const bucket_map& map, double distance) { return bucket_of(map, -distance); }
std::int64_t both_sides_alike(const bucket_map& map, double distance) {
  return bucket_of(map, distance) - map.base(distance);
}
std::int64_t zero_comes_after(const bucket_map& map, double distance) {
  return distance == 0 && map.bidirectional ? map.of_direction() : bucket_of(map, distance);
}
std::int64_t other_directions(const bucket_map& map, double distance) {
  return bucket_of({map.buckets, map.max_distance, !map.bidirectional, map.form}, distance);
}
std::int64_t maximum_is_128(const bucket_map& map, double distance) {
  return bucket_of({map.buckets, 128, map.bidirectional, map.form}, distance);
}
std::int64_t exact_ones_only(const bucket_map& map, double distance) {
  return map.base(distance) +
         static_cast<std::int64_t>(std::min(map.magnitude(distance), static_cast<double>(map.of_direction() - 1)));
}

}  // namespace

std::vector<variant> t5_bucket_mutants() {
  return {
      make_variant<with_bucket<by_formula<linear>>>("mutant/t5_linear", "T502 huggingface/candle#727",
                                                    "buckets of equal widths instead of logarithmic ones"),
      make_variant<with_bucket<exact_ones_only>>("mutant/t5_no_logarithm", "T502 huggingface/candle#727",
                                                 "every bucket but the last holds one distance"),
      make_variant<with_bucket_outside<without_clamp>>("mutant/t5_no_clamp", "huggingface/candle#1312",
                                                       "distances beyond the largest go beyond the last bucket"),
      make_variant_beside<with_bucket<opposite_sign>, reference::encodings::alibi>(
          "mutant/t5_opposite_sign", "T505 dmlc/gluon-nlp#1470", "the distance is query less key"),
      make_variant<with_bucket<unsigned_distance>>(
          "mutant/t5_unsigned_distance", "ggml-org/llama.cpp, llama-graph.cpp: an unsigned number of buckets",
          "in one direction the distance of keys after the query wraps around"),
      make_variant<with_bucket<by_formula<log_one_ulp_low>>>("mutant/t5_log_one_ulp_low",
                                                             "a logarithm in f32 that is 1 ulp low, as on accelerators",
                                                             "distances on a boundary fall below it"),
      make_variant<with_bucket<by_formula<by_reciprocal>>>(
          "mutant/t5_by_reciprocal", "a constant folded to its reciprocal",
          "the logarithm is multiplied by a reciprocal rounded to f32"),
      make_variant<with_bucket<by_formula<by_exact_reciprocal>>>(
          "mutant/t5_by_exact_reciprocal", "a constant folded to its reciprocal, in f64",
          "the logarithm is multiplied by a reciprocal that is rounded once"),
      make_variant<with_bucket<by_formula<f32_log_in_f64>>>(
          "mutant/t5_f32_log_in_f64", "numpy/numpy, NEP 50: a scalar of f64 widens an f32 expression",
          "a logarithm in f32 is divided and multiplied in f64"),
      make_variant<with_bucket<by_formula<by_bf16>>>("mutant/t5_buckets_in_bf16", "mindspore-lab/mindone#670",
                                                     "the formula is evaluated in bf16"),
      make_variant<with_bucket<by_formula<to_nearest>>>("mutant/t5_to_nearest", "lucidrains/x-transformers#10",
                                                        "the logarithm is rounded instead of cut off"),
      make_variant<with_bucket_outside<log_of_zero>>("mutant/t5_log_of_zero", "google-research/t5x, layers.py: log(0)",
                                                     "distance 0 becomes the smallest integer"),
      make_variant<with_bucket<both_sides_alike>>("mutant/t5_both_sides_alike", "T505 dmlc/gluon-nlp#1470: one side",
                                                  "keys before and after the query share their buckets"),
      make_variant<with_bucket<zero_comes_after>>("mutant/t5_zero_comes_after", "T505 dmlc/gluon-nlp#1470: at 0",
                                                  "distance 0 has the first bucket of the keys after the query"),
      make_variant<with_bucket<other_directions>>("mutant/t5_other_directions", "a fork that inverts its causal flag",
                                                  "one direction where both are meant, and the other way round"),
      make_variant<with_bucket<maximum_is_128>>("mutant/t5_maximum_is_128", "ggml-org/llama.cpp, llama-graph.cpp",
                                                "the largest distance is 128 whatever is set")};
}

}  // namespace assay::properties::encodings::t5_bias
