// Biases of pairs of a query and a key, for all heads at once. The part that does not depend on the head is found once
// for each query.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "optimized/dispatch.hpp"
#include "optimized/numbers.hpp"
#include "optimized/views.hpp"
#include "reference/core/result.hpp"

namespace assay::optimized {

/// Fills bias, [heads, n, m]. numbers_of_row(position of the query, positions of the keys, numbers_of_keys) fills, for
/// every key, the number that all heads share. bias_of_head(k)(numbers_of_keys[j]) is the bias of head k. Threads share
/// the queries.
template <class KeyNumber, class Real, class NumbersOfRow, class BiasOfHead>
void write_biases(const execution& on, const view<const double, 1>& query, const view<const double, 1>& key,
                  const view<Real, 3>& bias, NumbersOfRow numbers_of_row, BiasOfHead bias_of_head) {
  const std::size_t heads = bias.shape[0], n = query.shape[0], m = key.shape[0];
  ASSAY_EXPECTS(has_shape(query, {n}) && has_shape(key, {m}) && has_shape(bias, {heads, n, m}));
  const std::vector<double> keys = numbers_of(key);
  for_each_task(on.threads, n, [&](std::size_t i) {
    std::vector<KeyNumber> numbers_of_keys(m);
    numbers_of_row(*query.at(i), keys, numbers_of_keys);
    for (std::size_t k = 0; k < heads; ++k) {
      const auto element = bias_of_head(k);
      const view<Real, 1> row = part(bias, k, i);
      with_step(row, [&](auto step) {
        for (std::size_t j = 0; j < m; ++j)
          row.data[static_cast<std::ptrdiff_t>(j) * step] = element(numbers_of_keys[j]);
      });
    }
  });
}

/// Returns sums over all pairs, `count` sums for each head. add(sums of the head, numbers_of_keys, cotangents) adds the
/// pairs of one query. Blocks of queries are added in their order, which gives the same bits for any number of threads.
template <class KeyNumber, class Real, class NumbersOfRow, class Add>
std::vector<double> sums_of_pairs(const execution& on, const view<const double, 1>& query,
                                  const view<const double, 1>& key, const view<const Real, 3>& grad_bias,
                                  std::size_t count, NumbersOfRow numbers_of_row, Add add) {
  constexpr std::size_t queries_of_block = 64;
  const std::size_t heads = grad_bias.shape[0], n = query.shape[0], m = key.shape[0];
  ASSAY_EXPECTS(has_shape(query, {n}) && has_shape(key, {m}) && has_shape(grad_bias, {heads, n, m}));
  const std::vector<double> keys = numbers_of(key);
  const std::size_t blocks = (n + queries_of_block - 1) / queries_of_block;
  std::vector<double> parts(blocks * heads * count), sums(heads * count);
  for_each_task(on.threads, blocks, [&](std::size_t block) {
    std::vector<KeyNumber> numbers_of_keys(m);
    double* const sums_of_block = parts.data() + block * sums.size();
    for (std::size_t i = block * queries_of_block; i < std::min((block + 1) * queries_of_block, n); ++i) {
      numbers_of_row(*query.at(i), keys, numbers_of_keys);
      for (std::size_t k = 0; k < heads; ++k) add(sums_of_block + k * count, numbers_of_keys, part(grad_bias, k, i));
    }
  });
  for (std::size_t k = 0; k < parts.size(); ++k) sums[k % sums.size()] += parts[k];
  return sums;
}

}  // namespace assay::optimized
