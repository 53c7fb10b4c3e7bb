// Up to the first distance of the last bucket the bucket of each distance stands in a table. The buckets of a query serve
// all its heads. Biases are copies, and gradients sums by blocks of queries, joined in their order: the same bits for any
// number of threads.
#include <gmp.h>

#include <algorithm>

#include "optimized/encodings/t5_bias.hpp"
#include "optimized/numbers.hpp"
#include "reference/core/result.hpp"

namespace assay::optimized::t5_bias {
namespace {

constexpr std::size_t queries_of_block = 64;

/// The smallest n with n^q >= d^t e^(q-t).
std::int64_t first_distance(std::int64_t d, std::int64_t e, unsigned long t, unsigned long q) {
  mpz_t product, factor;
  mpz_inits(product, factor, static_cast<mpz_ptr>(nullptr));
  mpz_ui_pow_ui(product, static_cast<unsigned long>(d), t);
  mpz_ui_pow_ui(factor, static_cast<unsigned long>(e), q - t);
  mpz_mul(product, product, factor);
  const bool exact = mpz_root(product, product, q) != 0;
  const std::int64_t n = mpz_get_si(product) + (exact ? 0 : 1);
  mpz_clears(product, factor, static_cast<mpz_ptr>(nullptr));
  return n;
}

/// The buckets of one query and every key.
class row_of_buckets {
 public:
  row_of_buckets(const bucket_lookup& bucket_of, const view<const double, 1>& key)
      : bucket_of_(bucket_of), key_(key), row_(key.shape[0]) {}
  const std::vector<std::size_t>& of(double query) {
    for (std::size_t j = 0; j < row_.size(); ++j) row_[j] = bucket_of_(*key_.at(j) - query);
    return row_;
  }

 private:
  const bucket_lookup& bucket_of_;
  const view<const double, 1>& key_;
  std::vector<std::size_t> row_;
};

}  // namespace

bucket_lookup::bucket_lookup(const bucket_rule& rule)
    : bidirectional_(rule.bidirectional),
      of_direction_(rule.buckets / (rule.bidirectional ? 2 : 1)),
      exact_(rule.clipped ? of_direction_ : of_direction_ / 2) {
  const std::int64_t logarithmic = of_direction_ - exact_;
  for (std::int64_t t = 1; t < logarithmic; ++t)
    first_.push_back(first_distance(rule.max_distance, exact_, static_cast<unsigned long>(t),
                                    static_cast<unsigned long>(logarithmic)));
  const std::int64_t listed = std::min(first_.empty() ? exact_ : first_.back() + 1, longest_table);
  for (std::int64_t n = 0; n < listed; ++n) table_.push_back(search(n));
}

std::size_t bucket_lookup::operator()(double distance) const {
  const bool after = distance > 0;
  const auto n = static_cast<std::int64_t>(after ? (bidirectional_ ? distance : 0.0) : -distance);
  const std::int64_t bucket =
      n < static_cast<std::int64_t>(table_.size()) ? table_[static_cast<std::size_t>(n)] : search(n);
  return static_cast<std::size_t>(bucket + (after && bidirectional_ ? of_direction_ : 0));
}

std::int64_t bucket_lookup::search(std::int64_t n) const {
  if (n < exact_) return n;
  const auto reached = std::upper_bound(first_.begin(), first_.end(), n) - first_.begin();
  return std::min<std::int64_t>(exact_ + reached, of_direction_ - 1);
}

void buckets(const bucket_rule& rule, const view<const double, 1>& distance, const view<std::int64_t, 1>& bucket) {
  ASSAY_EXPECTS(has_shape(distance, bucket.shape) && has_shape(bucket, bucket.shape));
  const bucket_lookup bucket_of(rule);
  for (std::size_t i = 0; i < bucket.shape[0]; ++i)
    *bucket.at(i) = static_cast<std::int64_t>(bucket_of(*distance.at(i)));
}

template <class Real>
void bias(const execution& on, const bucket_rule& rule, const view<const Real, 2>& table,
          const view<const double, 1>& query, const view<const double, 1>& key, const view<Real, 3>& bias) {
  const std::size_t heads = table.shape[0], n = query.shape[0], m = key.shape[0];
  ASSAY_EXPECTS(has_shape(table, {heads, static_cast<std::size_t>(rule.buckets)}));
  ASSAY_EXPECTS(has_shape(query, {n}) && has_shape(key, {m}) && has_shape(bias, {heads, n, m}));
  const bucket_lookup bucket_of(rule);
  for_each_task(on.threads, n, [&](std::size_t i) {
    row_of_buckets buckets(bucket_of, key);
    const std::vector<std::size_t>& of_key = buckets.of(*query.at(i));
    for (std::size_t k = 0; k < heads; ++k) {
      const view<const Real, 1> of_bucket = part(table, k);
      const view<Real, 1> row = part(bias, k, i);
      with_step(row, [&](auto step) {
        for (std::size_t j = 0; j < m; ++j) row.data[static_cast<std::ptrdiff_t>(j) * step] = *of_bucket.at(of_key[j]);
      });
    }
  });
}

template <class Real>
void bias_vjp(const execution& on, const bucket_rule& rule, const view<const double, 1>& query,
              const view<const double, 1>& key, const view<const Real, 3>& grad_bias, const view<Real, 2>& grad_table) {
  const std::size_t heads = grad_table.shape[0], n = query.shape[0], m = key.shape[0];
  ASSAY_EXPECTS(has_shape(grad_table, {heads, static_cast<std::size_t>(rule.buckets)}));
  ASSAY_EXPECTS(has_shape(query, {n}) && has_shape(key, {m}) && has_shape(grad_bias, {heads, n, m}));
  const bucket_lookup bucket_of(rule);
  const std::size_t blocks = (n + queries_of_block - 1) / queries_of_block, count = grad_table.size();
  std::vector<double> parts(blocks * count);
  for_each_task(on.threads, blocks, [&](std::size_t block) {
    row_of_buckets buckets(bucket_of, key);
    for (std::size_t i = block * queries_of_block; i < std::min((block + 1) * queries_of_block, n); ++i) {
      const std::vector<std::size_t>& of_key = buckets.of(*query.at(i));
      for (std::size_t k = 0; k < heads; ++k) {
        double* const sums = parts.data() + block * count + k * grad_table.shape[1];
        const view<const Real, 1> row = part(grad_bias, k, i);
        for (std::size_t j = 0; j < m; ++j) sums[of_key[j]] += static_cast<double>(*row.at(j));
      }
    }
  });
  std::vector<double> sums(count);
  for (std::size_t block = 0; block < blocks; ++block)
    for (std::size_t b = 0; b < count; ++b) sums[b] += parts[block * count + b];
  store(sums, grad_table);
}

#define ASSAY_INSTANTIATE(Real)                                                                                      \
  template void bias(const execution&, const bucket_rule&, const view<const Real, 2>&, const view<const double, 1>&, \
                     const view<const double, 1>&, const view<Real, 3>&);                                            \
  template void bias_vjp(const execution&, const bucket_rule&, const view<const double, 1>&,                         \
                         const view<const double, 1>&, const view<const Real, 3>&, const view<Real, 2>&);
ASSAY_INSTANTIATE(float)
ASSAY_INSTANTIATE(double)
#undef ASSAY_INSTANTIATE

}  // namespace assay::optimized::t5_bias
