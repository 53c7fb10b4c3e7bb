// What wrong and right bucket maps are written with: a bucket map as a recipe, and the numbers of the formula.
#pragma once

#include <algorithm>
#include <cmath>

#include "properties/faults/recipe_variant.hpp"
#include "reference/encodings/t5_bias.hpp"

namespace assay::properties::encodings::t5_bias {

using unchanged_t5 = unchanged<reference::encodings::t5_bias>;

using bucket_function = std::int64_t (*)(const reference::bucket_map& map, double distance);

/// The right recipe with another bucket map.
template <bucket_function Bucket>
struct with_bucket : unchanged_t5 {
  template <class R>
  static reference::encodings::t5_bias::recipe<R> recipe() {
    reference::encodings::t5_bias::recipe<R> how;
    how.bucket = Bucket;
    return how;
  }
};

/// The bucket of the definition with another number, of any arithmetic, before its integer part is taken.
template <double (*Offset)(const reference::bucket_map& map, double n)>
std::int64_t by_formula(const reference::bucket_map& map, double distance) {
  const double n = map.magnitude(distance);
  if (map.form == "clipped" || n < static_cast<double>(map.exact())) return reference::bucket_of(map, distance);
  const auto reached = map.exact() + static_cast<std::int64_t>(std::floor(Offset(map, n)));
  return map.base(distance) + std::min(map.of_direction() - 1, reached);
}

/// The numbers of the formula as its programs hold them.
struct formula {
  formula(const reference::bucket_map& map, double n)
      : ratio(n / static_cast<double>(map.exact())),
        largest(static_cast<double>(map.max_distance) / static_cast<double>(map.exact())),
        logarithmic(static_cast<double>(map.of_direction() - map.exact())) {}
  double ratio, largest, logarithmic;
};
inline double in_f32(double x) { return static_cast<float>(x); }
inline double in_bf16(double x) { return core::round_to(core::dtype::bf16, x); }

}  // namespace assay::properties::encodings::t5_bias
