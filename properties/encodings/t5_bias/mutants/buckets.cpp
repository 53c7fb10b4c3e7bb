// Wrong bucket maps, and right ones that compute otherwise.
#include <algorithm>
#include <cmath>
#include <limits>

#include "properties/encodings/t5_bias/mutants/mutants.hpp"
#include "reference/encodings/alibi.hpp"

namespace assay::properties::encodings::t5_bias {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary
using namespace reference::encodings;
using encoding = reference::encodings::t5_bias;

using bucket_function = std::int64_t (*)(const bucket_map& map, double distance);
recipe_change<recipe> with_bucket(bucket_function bucket) {
  return [bucket](auto& how) { how.bucket = bucket; };
}
// In the operation of buckets alone: a table has no such element.
change_of<core::tensors, const request&> with_bucket_outside(bucket_function bucket) {
  return [bucket](core::tensors& outputs, const request& call) {
    if (!outputs.contains("bucket")) return;
    const bucket_map map = encoding::map_of(core::completed(*call.operation, call.attributes));
    const auto& distance = call.inputs.at("distance").values.storage();
    for (std::size_t i = 0; i < distance.size(); ++i)
      outputs.at("bucket").values.storage()[i] = static_cast<double>(bucket(map, distance[i]));
  };
}

// The numbers of the offset (N - E) log(n / E) / log(D / E) behind the E exact buckets, as its programs hold them.
struct offset_terms {
  offset_terms(const bucket_map& map, double distance)
      : n(map.magnitude(distance)),
        exact(static_cast<double>(map.exact())),
        furthest(static_cast<double>(map.max_distance)),
        logarithmic(static_cast<double>(map.of_direction() - map.exact())) {}
  double n, exact, furthest, logarithmic;
  double ratio = n / exact, largest = furthest / exact;
};
bool has_logarithm(const bucket_map& map, double distance) {
  return map.form != "clipped" && map.magnitude(distance) >= static_cast<double>(map.exact());
}
// The offset as a number of any arithmetic, before its integer part is taken.
using offset_function = double (*)(const offset_terms& x);
recipe_change<recipe> with_offset(offset_function offset) {
  return [offset](auto& how) {
    how.bucket = [offset](const bucket_map& map, double distance) {
      if (!has_logarithm(map, distance)) return bucket_of(map, distance);
      const auto reached = map.exact() + static_cast<std::int64_t>(std::floor(offset(offset_terms(map, distance))));
      return map.base(distance) + std::min(map.of_direction() - 1, reached);
    };
  };
}
double offset_in_f64(const offset_terms& x) { return x.logarithmic * std::log(x.ratio) / std::log(x.largest); }

double f32(double x) { return static_cast<float>(x); }
double bf16(double x) { return core::round_to(core::dtype::bf16, x); }
double log_f32(double x) { return f32(std::log(f32(x))); }

// For 32 buckets up to 128, as the implementation declares.
variation<encoding> right_by_default(offset_function offset) {
  return {.formula = with_offset(offset), .declared = [](description& about) {
            for (const auto& [operation, types] : about.operations)
              about.settings[operation] = {{"buckets", {std::int64_t{32}}}, {"max_distance", {std::int64_t{128}}}};
          }};
}

}  // namespace

std::vector<variant> t5_bucket_mutants() {
  return {
      changed_t5("mutant/t5_linear", "T502 huggingface/candle#727",
                 "buckets of equal widths instead of logarithmic ones",
                 {.formula = with_offset([](const offset_terms& x) {
                    return std::min(x.n - x.exact, x.furthest) * x.logarithmic / (x.furthest - x.exact);
                  }),
                  .telling = true}),
      changed_t5("mutant/t5_no_logarithm", "T502 huggingface/candle#727",
                 "every bucket but the last holds one distance",
                 {.formula = with_bucket([](const bucket_map& map, double distance) {
                    const auto last = static_cast<double>(map.of_direction() - 1);
                    return map.base(distance) + static_cast<std::int64_t>(std::min(map.magnitude(distance), last));
                  })}),
      changed_t5("mutant/t5_no_clamp", "huggingface/candle#1312",
                 "distances beyond the largest go beyond the last bucket",
                 {.outputs = with_bucket_outside([](const bucket_map& map, double distance) {
                    if (!has_logarithm(map, distance)) return bucket_of(map, distance);
                    return map.base(distance) + map.exact() + static_cast<std::int64_t>(offset_in_f64({map, distance}));
                  }),
                  .telling = true}),
      changed_t5(
          "mutant/t5_opposite_sign", "T505 dmlc/gluon-nlp#1470", "the distance is query less key",
          {.formula = with_bucket([](const bucket_map& map, double distance) { return bucket_of(map, -distance); }),
           .beside = {right<reference::encodings::alibi>},
           .telling = true}),
      // The distance back from the query is the unsigned number.
      changed_t5("mutant/t5_unsigned_distance", "ggml-org/llama.cpp, llama-graph.cpp: an unsigned number of buckets",
                 "in one direction the distance of keys after the query wraps around",
                 {.formula = with_bucket([](const bucket_map& map, double distance) {
                    if (map.bidirectional || distance <= 0) return bucket_of(map, distance);
                    return bucket_of(map, -(0x1p32 - distance));
                  })}),
      changed_t5("mutant/t5_log_one_ulp_low", "a logarithm in f32 that is 1 ulp low, as on accelerators",
                 "distances on a boundary fall below it",
                 {.formula = with_offset([](const offset_terms& x) {
                    const double low = core::next_below(core::dtype::f32, log_f32(x.ratio));
                    return f32(f32(low / f32(std::log(x.largest))) * x.logarithmic);
                  })}),
      changed_t5("mutant/t5_by_reciprocal", "a constant folded to its reciprocal",
                 "the logarithm is multiplied by a reciprocal rounded to f32",
                 {.formula = with_offset([](const offset_terms& x) {
                    return f32(f32(log_f32(x.ratio) * f32(1.0 / log_f32(x.largest))) * x.logarithmic);
                  })}),
      changed_t5("mutant/t5_by_exact_reciprocal", "a constant folded to its reciprocal, in f64",
                 "the logarithm is multiplied by a reciprocal that is rounded once",
                 {.formula = with_offset([](const offset_terms& x) {
                    return f32(f32(log_f32(x.ratio) * f32(1.0 / std::log(x.largest))) * x.logarithmic);
                  }),
                  .telling = true}),
      changed_t5("mutant/t5_f32_log_in_f64", "numpy/numpy, NEP 50: a scalar of f64 widens an f32 expression",
                 "a logarithm in f32 is divided and multiplied in f64",
                 {.formula = with_offset(
                      [](const offset_terms& x) { return log_f32(x.ratio) / std::log(x.largest) * x.logarithmic; })}),
      changed_t5("mutant/t5_buckets_in_bf16", "mindspore-lab/mindone#670", "the formula is evaluated in bf16",
                 {.formula = with_offset([](const offset_terms& x) {
                    const double ratio = bf16(bf16(x.n) / x.exact);
                    return bf16(bf16(bf16(std::log(ratio)) / bf16(std::log(x.largest))) * x.logarithmic);
                  })}),
      changed_t5("mutant/t5_to_nearest", "lucidrains/x-transformers#10", "the logarithm is rounded instead of cut off",
                 {.formula = with_offset([](const offset_terms& x) { return std::floor(0.5 + offset_in_f64(x)); })}),
      // The branch that is not wanted at n = 0 is -inf before it becomes an integer, and is not left out.
      changed_t5("mutant/t5_log_of_zero", "google-research/t5x, layers.py: log(0)",
                 "distance 0 becomes the smallest integer",
                 {.outputs = with_bucket_outside([](const bucket_map& map, double distance) {
                    if (map.magnitude(distance) != 0 || map.form == "clipped") return bucket_of(map, distance);
                    return std::numeric_limits<std::int32_t>::min() + map.exact();
                  })}),
      changed_t5("mutant/t5_both_sides_alike", "T505 dmlc/gluon-nlp#1470: one side",
                 "keys before and after the query share their buckets",
                 {.formula = with_bucket([](const bucket_map& map, double distance) {
                    return bucket_of(map, distance) - map.base(distance);
                  })}),
      changed_t5("mutant/t5_zero_comes_after", "T505 dmlc/gluon-nlp#1470: at 0",
                 "distance 0 has the first bucket of the keys after the query",
                 {.formula = with_bucket([](const bucket_map& map, double distance) {
                    return distance == 0 && map.bidirectional ? map.of_direction() : bucket_of(map, distance);
                  }),
                  .telling = true}),
      changed_t5("mutant/t5_other_directions", "a fork that inverts its causal flag",
                 "one direction where both are meant, and the other way round",
                 {.formula = with_bucket([](const bucket_map& map, double distance) {
                    return bucket_of({map.buckets, map.max_distance, !map.bidirectional, map.form}, distance);
                  })}),
      changed_t5("mutant/t5_maximum_is_128", "ggml-org/llama.cpp, llama-graph.cpp",
                 "the largest distance is 128 whatever is set",
                 {.formula = with_bucket([](const bucket_map& map, double distance) {
                    return bucket_of({map.buckets, 128, map.bidirectional, map.form}, distance);
                  })}),
  };
}

std::vector<variant> controls() {
  static constexpr const char* declared = "right for the settings that it declares";
  return {
      changed_t5("control/t5_with_epsilon", "google-research/t5x: log(n / E + eps)",
                 "a logarithm that never falls below a boundary",
                 {.formula = with_offset([](const offset_terms& x) {
                    const double logarithm = log_f32(f32(x.ratio) + 0x1p-23);
                    return f32(f32(logarithm / f32(std::log(x.largest))) * x.logarithmic);
                  })}),
      // For the settings that the operation has.
      changed_t5("control/t5_in_f64", "the formula in f64", "no boundary comes out low",
                 {.formula = with_offset(offset_in_f64)}),
      // The exact buckets are added before the floor.
      changed_t5("control/t5_mixed_order", "ggml-org/llama.cpp: f32 logarithm, f64 quotient", declared,
                 right_by_default([](const offset_terms& x) {
                   return f32(x.exact + log_f32(x.ratio) * x.logarithmic / std::log(x.largest)) - x.exact;
                 })),
      changed_t5("control/t5_in_f32", "the formula in f32, as tensorflow/mesh has it", declared,
                 right_by_default([](const offset_terms& x) {
                   return f32(f32(log_f32(x.ratio) / log_f32(x.largest)) * x.logarithmic);
                 })),
      changed_t5("control/t5_product_first", "the formula in f32, multiplied before divided", declared,
                 right_by_default([](const offset_terms& x) {
                   return f32(f32(log_f32(x.ratio) * x.logarithmic) / log_f32(x.largest));
                 })),
      changed_t5("control/t5_folded_constant", "the formula in f32, its constants folded", declared,
                 right_by_default([](const offset_terms& x) {
                   return f32(log_f32(x.ratio) * f32(x.logarithmic / std::log(x.largest)));
                 })),
  };
}

}  // namespace assay::properties::encodings::t5_bias
