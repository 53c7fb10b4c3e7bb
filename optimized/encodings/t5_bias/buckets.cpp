// A table holds the bucket of each distance up to the first distance of the last bucket. Biases are copies, and
// gradients are sums.
#include <gmp.h>

#include <algorithm>

#include "optimized/encodings/t5_bias.hpp"
#include "optimized/pair_bias.hpp"

namespace assay::optimized::t5_bias {
namespace {

/// Returns the smallest n with n^q >= d^t e^(q-t).
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

/// Finds the bucket of every key for one query.
auto buckets_by(const bucket_rule& rule) {
  return
      [bucket_of = bucket_lookup(rule)](double query, const std::vector<double>& keys, std::vector<std::size_t>& out) {
        for (std::size_t j = 0; j < out.size(); ++j) out[j] = bucket_of(keys[j] - query);
      };
}

}  // namespace

bucket_lookup::bucket_lookup(const bucket_rule& rule)
    : bidirectional_(rule.bidirectional),
      buckets_of_direction_(rule.buckets / (rule.bidirectional ? 2 : 1)),
      exact_(rule.clipped ? buckets_of_direction_ : buckets_of_direction_ / 2) {
  const std::int64_t logarithmic = buckets_of_direction_ - exact_;
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
  return static_cast<std::size_t>(bucket + (after && bidirectional_ ? buckets_of_direction_ : 0));
}

std::int64_t bucket_lookup::search(std::int64_t n) const {
  if (n < exact_) return n;
  const auto reached = std::upper_bound(first_.begin(), first_.end(), n) - first_.begin();
  return std::min<std::int64_t>(exact_ + reached, buckets_of_direction_ - 1);
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
  ASSAY_EXPECTS(has_shape(table, {bias.shape[0], static_cast<std::size_t>(rule.buckets)}));
  write_biases<std::size_t>(on, query, key, bias, buckets_by(rule), [&](std::size_t head) {
    return [bias_of_bucket = part(table, head)](std::size_t bucket) { return *bias_of_bucket.at(bucket); };
  });
}

template <class Real>
void bias_vjp(const execution& on, const bucket_rule& rule, const view<const double, 1>& query,
              const view<const double, 1>& key, const view<const Real, 3>& grad_bias, const view<Real, 2>& grad_table) {
  const auto count = static_cast<std::size_t>(rule.buckets);
  ASSAY_EXPECTS(has_shape(grad_table, {grad_bias.shape[0], count}));
  const auto add = [](double* sums, const std::vector<std::size_t>& bucket, const view<const Real, 1>& cotangents) {
    for (std::size_t j = 0; j < bucket.size(); ++j) sums[bucket[j]] += static_cast<double>(*cotangents.at(j));
  };
  store(sums_of_pairs<std::size_t>(on, query, key, grad_bias, count, buckets_by(rule), add), grad_table);
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
