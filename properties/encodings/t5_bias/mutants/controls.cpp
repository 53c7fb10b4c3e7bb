// Right bucket maps that compute otherwise.
#include "properties/encodings/t5_bias/mutants/formula.hpp"
#include "properties/encodings/t5_bias/mutants/mutants.hpp"

namespace assay::properties::encodings::t5_bias {
namespace {

using namespace reference;  // the recipes below are written in its vocabulary
using namespace reference::encodings;

// Right: a small number added within the logarithm, as in T5X.
double with_epsilon(const bucket_map& map, double n) {
  const formula f(map, n);
  const double logarithm = in_f32(std::log(in_f32(in_f32(f.ratio) + 0x1p-23)));
  return in_f32(in_f32(logarithm / in_f32(std::log(f.largest))) * f.logarithmic);
}
// Right for the settings that there are: no boundary comes out low in f64.
double in_f64(const bucket_map& map, double n) {
  const formula f(map, n);
  return f.logarithmic * std::log(f.ratio) / std::log(f.largest);
}
// Right for 32 buckets up to 128: the logarithm in f32, the quotient in f64, the exact buckets added before the floor.
double mixed_order(const bucket_map& map, double n) {
  const formula f(map, n);
  const double quotient = in_f32(std::log(in_f32(f.ratio))) * f.logarithmic / std::log(f.largest);
  return in_f32(static_cast<double>(map.exact()) + quotient) - static_cast<double>(map.exact());
}
// Right for 32 buckets up to 128: all in f32, the quotient first.
double in_f32_only(const bucket_map& map, double n) {
  const formula f(map, n);
  return in_f32(in_f32(in_f32(std::log(in_f32(f.ratio))) / in_f32(std::log(in_f32(f.largest)))) * f.logarithmic);
}
// Right for 32 buckets up to 128: the product first.
double product_first(const bucket_map& map, double n) {
  const formula f(map, n);
  return in_f32(in_f32(in_f32(std::log(in_f32(f.ratio))) * f.logarithmic) / in_f32(std::log(in_f32(f.largest))));
}
// Right for 32 buckets up to 128: factor and divisor folded into one number.
double folded_constant(const bucket_map& map, double n) {
  const formula f(map, n);
  return in_f32(in_f32(std::log(in_f32(f.ratio))) * in_f32(f.logarithmic / std::log(f.largest)));
}
template <double (*Offset)(const bucket_map& map, double n)>
struct declared_defaults : with_bucket<by_formula<Offset>> {
  static void declare(description& about) {
    for (const auto& [operation, types] : about.operations)
      about.settings[operation] = {{"buckets", {std::int64_t{32}}}, {"max_distance", {std::int64_t{128}}}};
  }
};

}  // namespace

std::vector<variant> controls() {
  return {
      make_variant<with_bucket<by_formula<with_epsilon>>>("control/t5_with_epsilon",
                                                          "google-research/t5x: log(n / E + eps)",
                                                          "a logarithm that never falls below a boundary"),
      make_variant<with_bucket<by_formula<in_f64>>>("control/t5_in_f64", "the formula in f64",
                                                    "no boundary comes out low"),
      make_variant<declared_defaults<mixed_order>>("control/t5_mixed_order",
                                                   "ggml-org/llama.cpp: f32 logarithm, f64 quotient",
                                                   "right for the settings that it declares"),
      make_variant<declared_defaults<in_f32_only>>("control/t5_in_f32", "the formula in f32, as tensorflow/mesh has it",
                                                   "right for the settings that it declares"),
      make_variant<declared_defaults<product_first>>("control/t5_product_first",
                                                     "the formula in f32, multiplied before divided",
                                                     "right for the settings that it declares"),
      make_variant<declared_defaults<folded_constant>>("control/t5_folded_constant",
                                                       "the formula in f32, its constants folded",
                                                       "right for the settings that it declares")};
}

}  // namespace assay::properties::encodings::t5_bias
