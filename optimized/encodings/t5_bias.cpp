// The relative bias of T5. The first distance of every logarithmic bucket is the root of an integer, rounded up, and
// found once for each call; up to there the bucket of each distance stands in a table, beyond it is the last one.
// Biases are copies, gradients sums in f64 in the order of the pairs: the same bits for any number of threads.
#include <gmp.h>

#include <algorithm>

#include "optimized/buffers.hpp"
#include "optimized/dispatch.hpp"
#include "optimized/operations.hpp"

namespace assay::optimized {
namespace {

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

/// Buckets of distances, keys less queries.
class bucket_lookup {
 public:
  explicit bucket_lookup(const core::attributes& settings)
      : bidirectional_(core::setting<bool>(settings, "bidirectional")),
        of_direction_(core::setting<std::int64_t>(settings, "buckets") / (bidirectional_ ? 2 : 1)) {
    const bool clipped = core::setting<std::string>(settings, "form") == "clipped";
    exact_ = clipped ? of_direction_ : of_direction_ / 2;
    const std::int64_t logarithmic = of_direction_ - exact_;
    for (std::int64_t t = 1; t < logarithmic; ++t)
      first_.push_back(first_distance(core::setting<std::int64_t>(settings, "max_distance"), exact_,
                                      static_cast<unsigned long>(t), static_cast<unsigned long>(logarithmic)));
    const std::int64_t listed = std::min(first_.empty() ? exact_ : first_.back() + 1, longest_table);
    for (std::int64_t n = 0; n < listed; ++n) table_.push_back(search(n));
  }

  [[nodiscard]] std::size_t operator()(double distance) const {
    const bool after = distance > 0;
    const auto n = static_cast<std::int64_t>(after ? (bidirectional_ ? distance : 0.0) : -distance);
    const std::int64_t bucket =
        n < static_cast<std::int64_t>(table_.size()) ? table_[static_cast<std::size_t>(n)] : search(n);
    return static_cast<std::size_t>(bucket + (after && bidirectional_ ? of_direction_ : 0));
  }

 private:
  static constexpr std::int64_t longest_table = 4096;

  [[nodiscard]] std::int64_t search(std::int64_t n) const {
    if (n < exact_) return n;
    const auto reached = std::upper_bound(first_.begin(), first_.end(), n) - first_.begin();
    return std::min<std::int64_t>(exact_ + reached, of_direction_ - 1);
  }

  bool bidirectional_;
  std::int64_t of_direction_, exact_ = 0;
  std::vector<std::int64_t> first_, table_;
};

core::tensors evaluate_bucket(const arguments& call) {
  const bucket_lookup bucket_of(call.settings);
  const core::tensor& distance = call.inputs.at("distance");
  core::tensor bucket = core::zeros(core::dtype::i64, distance.shape());
  std::transform(distance.values.begin(), distance.values.end(), bucket.values.begin(),
                 [&](double d) { return static_cast<double>(bucket_of(d)); });
  return {{"bucket", std::move(bucket)}};
}

/// The buckets of all pairs, queries by keys.
struct pair_buckets {
  explicit pair_buckets(const arguments& call) {
    const bucket_lookup bucket_of(call.settings);
    const std::vector<double> query = values_of<double>(call.inputs, "query_position");
    const std::vector<double> key = values_of<double>(call.inputs, "key_position");
    queries = query.size();
    keys = key.size();
    of_pair.resize(queries * keys);
    for_each_task(queries, [&](std::size_t i) {
      for (std::size_t j = 0; j < keys; ++j) of_pair[i * keys + j] = bucket_of(key[j] - query[i]);
    });
  }
  std::size_t queries, keys;
  std::vector<std::size_t> of_pair;
};

core::tensors evaluate_bias(const arguments& call) {
  const pair_buckets buckets(call);
  return with_number_type(call.type, [&]<class Real>(Real) -> core::tensors {
    const core::shape shape = call.inputs.at("table").shape();
    const std::vector<Real> table = values_of<Real>(call.inputs, "table");
    const std::size_t pairs = buckets.of_pair.size();
    std::vector<Real> out(shape[0] * pairs);
    for_each_task(shape[0], [&](std::size_t k) {
      for (std::size_t pair = 0; pair < pairs; ++pair)
        out[k * pairs + pair] = table[k * shape[1] + buckets.of_pair[pair]];
    });
    return {{"bias", tensor_of({shape[0], buckets.queries, buckets.keys}, out)}};
  });
}

core::tensors evaluate_bias_vjp(const arguments& call) {
  const pair_buckets buckets(call);
  return with_number_type(call.type, [&]<class Real>(Real) -> core::tensors {
    const core::shape shape = call.inputs.at("table").shape();
    const std::vector<Real> cotangents = values_of<Real>(call.inputs, "grad_bias");
    const std::size_t pairs = buckets.of_pair.size();
    std::vector<Real> gradient(shape[0] * shape[1]);
    for_each_task(shape[0], [&](std::size_t k) {
      std::vector<double> sums(shape[1]);
      for (std::size_t pair = 0; pair < pairs; ++pair)
        sums[buckets.of_pair[pair]] += static_cast<double>(cotangents[k * pairs + pair]);
      std::transform(sums.begin(), sums.end(), gradient.begin() + static_cast<std::ptrdiff_t>(k * shape[1]),
                     [](double sum) { return static_cast<Real>(sum); });
    });
    return {{"grad_table", tensor_of(shape, gradient)}};
  });
}

}  // namespace

std::vector<routine> t5_bias_routines() {
  return {
      {"t5_bias/bucket", evaluate_bucket}, {"t5_bias/bias", evaluate_bias}, {"t5_bias/bias:vjp", evaluate_bias_vjp}};
}

}  // namespace assay::optimized
