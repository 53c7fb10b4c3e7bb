// The relative bias of T5 on arrays (Raffel et al., "Exploring the limits of transfer learning", 2019,
// arXiv 1910.10683, section 2.1): a bias for each bucket of the distance from query to key.
//
// Views, results and threads are as of encodings/heinsen.hpp. Positions are doubles: integers are exact up to 2^53.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "optimized/dispatch.hpp"
#include "optimized/views.hpp"

namespace assay::optimized::t5_bias {

struct bucket_rule {
  bool bidirectional = true;  ///< half of the buckets for keys after the query
  bool clipped = false;       ///< a bucket for each distance, the last for all beyond; else logarithmic from half on
  std::int64_t buckets = 32, max_distance = 128;
};

/// Buckets of distances, keys less queries. Exact: the first distance of every logarithmic bucket is the root of an
/// integer, rounded up, and found once.
class bucket_lookup {
 public:
  explicit bucket_lookup(const bucket_rule& rule);
  [[nodiscard]] std::size_t operator()(double distance) const;

 private:
  static constexpr std::int64_t longest_table = 4096;
  [[nodiscard]] std::int64_t search(std::int64_t n) const;
  bool bidirectional_;
  std::int64_t of_direction_, exact_;
  std::vector<std::int64_t> first_, table_;
};

/// bucket, [n], of each distance, [n].
void buckets(const bucket_rule& rule, const view<const double, 1>& distance, const view<std::int64_t, 1>& bucket);

/// bias, [heads, n, m], copied from the table, [heads, buckets], for the positions of queries, [n], and keys, [m].
template <class Real>
void bias(const execution& on, const bucket_rule& rule, const view<const Real, 2>& table,
          const view<const double, 1>& query, const view<const double, 1>& key, const view<Real, 3>& bias);

/// Its adjoint in the table: sums in double, by blocks of queries.
template <class Real>
void bias_vjp(const execution& on, const bucket_rule& rule, const view<const double, 1>& query,
              const view<const double, 1>& key, const view<const Real, 3>& grad_bias, const view<Real, 2>& grad_table);

}  // namespace assay::optimized::t5_bias
