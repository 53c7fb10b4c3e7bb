// Buckets of relative distances, logarithmic beyond the nearest ones (Raffel et al., JMLR 2020, arXiv 1910.10683;
// tensorflow/mesh, _relative_position_bucket), computed with integers alone.
#pragma once

#include <cstdint>
#include <string>

namespace assay::reference {

/// The settings of a bucket map and the numbers that follow from them. Precondition of all functions: conflict() is
/// empty.
struct bucket_map {
  std::int64_t buckets = 32, max_distance = 128;
  bool bidirectional = true;
  std::string form = "log";

  /// The number of buckets of one direction, and how many of them hold one distance each.
  [[nodiscard]] std::int64_t buckets_of_direction() const { return bidirectional ? buckets / 2 : buckets; }
  [[nodiscard]] std::int64_t exact() const { return buckets_of_direction() / 2; }
  /// What is added to the bucket of keys after the query. They are not at distance 0: bucket base(1) is never used.
  [[nodiscard]] std::int64_t base(double distance) const {
    return bidirectional && distance > 0 ? buckets_of_direction() : 0;
  }
  /// The distance that is put into a bucket: without its sign, or 0 for keys after the query where these do not count.
  [[nodiscard]] double magnitude(double distance) const {
    return distance > 0 ? (bidirectional ? distance : 0.0) : -distance;
  }
  [[nodiscard]] std::string conflict() const;
};

/// The largest t <= N - E with (D / E)^(t / (N - E)) <= n / E, that is D^t E^(N-E-t) <= n^(N-E). It is the integer part
/// of (N - E) log(n / E) / log(D / E), at most N - E, without logarithms. One direction has N buckets, E of them exact;
/// D is `max_distance`. Precondition: n >= E, conflict() is empty.
std::int64_t log_bucket_offset(const bucket_map& map, std::int64_t n);

/// The smallest n with the offset t, or with a larger one. Precondition: 1 <= t <= N - E.
std::int64_t first_of_log_bucket(const bucket_map& map, std::int64_t t);

/// The bucket of a distance, the position of the key less that of the query. The distance is an integer below 2^53.
std::int64_t bucket_of(const bucket_map& map, double distance);

/// The smallest t with (last / middle)^t >= (n / middle)^(middle - 1). It is the ceiling of
/// (middle - 1) log(n / middle) / log(last / middle), without logarithms (microsoft/DeBERTa, make_log_bucket_position).
/// Precondition: 1 <= middle <= n, 2 middle <= last.
std::int64_t log_bucket_ceiling(std::int64_t middle, std::int64_t last, std::int64_t n);

}  // namespace assay::reference
