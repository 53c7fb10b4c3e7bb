// The relative bias of T5 on arrays (Raffel et al., "Exploring the limits of transfer learning", 2019, arXiv
// 1910.10683, section 2.1). Each bucket of the distance from query to key has a bias.
//
// The rules for views, results and threads are those of encodings/heinsen.hpp. Positions are doubles, so integers are
// exact up to 2^53.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "optimized/dispatch.hpp"
#include "optimized/views.hpp"

namespace assay::optimized::t5_bias {

struct bucket_rule {
  bool bidirectional = true;  ///< half of the buckets are for keys after the query
  /// If true, each distance has a bucket, and the last bucket holds all larger distances; else the second half is
  /// logarithmic.
  bool clipped = false;
  std::int64_t buckets = 32, max_distance = 128;
};

/// The buckets of distances; a distance is key - query. The lookup is exact: the first distance of a logarithmic bucket
/// is the root of an integer, rounded up. It is found once for every such bucket.
///
///     const t5_bias::bucket_lookup bucket_of({.bidirectional = true, .buckets = 32, .max_distance = 128});
///     const std::size_t of_previous_key = bucket_of(-1.0);
class bucket_lookup {
 public:
  explicit bucket_lookup(const bucket_rule& rule);
  [[nodiscard]] std::size_t operator()(double distance) const;

 private:
  static constexpr std::int64_t longest_table = 4096;
  [[nodiscard]] std::int64_t search(std::int64_t n) const;
  bool bidirectional_;
  std::int64_t buckets_of_direction_, exact_;
  std::vector<std::int64_t> first_, table_;
};

/// Computes bucket, [n], for each distance of [n].
///
///     t5_bias::buckets({}, dense<const double, 1>(distance.data(), {n}), dense<std::int64_t, 1>(bucket.data(), {n}));
void buckets(const bucket_rule& rule, const view<const double, 1>& distance, const view<std::int64_t, 1>& bucket);

/// Computes bias, [heads, n, m], for the positions of queries, [n], and keys, [m]. The biases are copies of entries of
/// the table, [heads, buckets].
///
///     t5_bias::bias<float>(process_execution(), {}, dense<const float, 2>(table.data(), {heads, 32}),
///                          dense<const double, 1>(position.data(), {n}), dense<const double, 1>(position.data(), {n}),
///                          dense<float, 3>(bias.data(), {heads, n, n}));
template <class Real>
void bias(const execution& on, const bucket_rule& rule, const view<const Real, 2>& table,
          const view<const double, 1>& query, const view<const double, 1>& key, const view<Real, 3>& bias);

/// The adjoint with respect to the table. The sums are in double, by blocks of queries.
///
///     t5_bias::bias_vjp<float>(process_execution(), {}, positions, positions,
///                              dense<const float, 3>(grad_bias.data(), {heads, n, n}),
///                              dense<float, 2>(grad_table.data(), {heads, 32}));
template <class Real>
void bias_vjp(const execution& on, const bucket_rule& rule, const view<const double, 1>& query,
              const view<const double, 1>& key, const view<const Real, 3>& grad_bias, const view<Real, 2>& grad_table);

}  // namespace assay::optimized::t5_bias
