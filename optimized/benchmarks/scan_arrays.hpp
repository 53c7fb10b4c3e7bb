// Code that the benchmarks of scans share: arrays, inputs, the memory floor and a plain loop.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "optimized/dispatch.hpp"
#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace assay::optimized::benchmarks {

/// Arrays in pages of 2 MiB. Numerical libraries also ask for such pages for large arrays.
struct array {
  explicit array(std::size_t count)
      : data(static_cast<float*>(std::aligned_alloc(page, (count * sizeof(float) + page - 1) / page * page))) {
#ifdef MADV_HUGEPAGE
    madvise(data, (count * sizeof(float) + page - 1) / page * page, MADV_HUGEPAGE);
#endif
    std::fill_n(data, count, 0.0f);
  }
  array(const array&) = delete;
  ~array() { std::free(data); }
  static constexpr std::size_t page = std::size_t{1} << 21;
  float* data;
};

#ifdef __x86_64__
template <bool PastCaches>
inline __attribute__((target("avx2"))) void add_arrays(const std::vector<const float*>& from,
                                                       const std::vector<float*>& to, std::size_t first,
                                                       std::size_t last) {
  const float *a = from[0], *b = from[1], *c = from[from.size() - 2], *d = from[from.size() - 1];
  float *x = to[0], *y = to[to.size() - 1];
  const bool four = from.size() == 4;
  for (std::size_t i = first; i < last; i += 8) {
    __m256 sum = _mm256_add_ps(_mm256_loadu_ps(a + i), _mm256_loadu_ps(b + i));
    if (four) sum = _mm256_add_ps(sum, _mm256_add_ps(_mm256_loadu_ps(c + i), _mm256_loadu_ps(d + i)));
    PastCaches ? _mm256_stream_ps(x + i, sum) : _mm256_storeu_ps(x + i, sum);
    if (four) PastCaches ? _mm256_stream_ps(y + i, sum) : _mm256_storeu_ps(y + i, sum);
  }
  _mm_sfence();
}
#else
template <bool PastCaches>
inline void add_arrays(const std::vector<const float*>& from, const std::vector<float*>& to, std::size_t first,
                       std::size_t last) {
  for (std::size_t i = first; i < last; ++i) {
    float sum = 0;
    for (const float* array : from) sum += array[i];
    for (float* array : to) array[i] = sum;
  }
}
#endif

/// Adds the arrays of `from` and writes the sum to each array of `to`.
template <bool PastCaches>
inline void floor(int threads, const std::vector<const float*>& from, const std::vector<float*>& to,
                  std::size_t count) {
  const std::size_t part = count / static_cast<std::size_t>(threads) / 8 * 8;
  for_each_task(threads, static_cast<std::size_t>(threads), [&](std::size_t i) {
    add_arrays<PastCaches>(from, to, i * part,
                           i + 1 == static_cast<std::size_t>(threads) ? count / 8 * 8 : (i + 1) * part);
  });
}

/// A plain loop over tokens and features.
inline void scalar_scan(const float* log_p, const float* h, float* s, std::size_t tokens, std::size_t features) {
  for (std::size_t i = 0; i < tokens; ++i)
    for (std::size_t j = 0; j < features; ++j) {
      const float past = log_p[i * features + j] + (i == 0 ? 0.0f : s[(i - 1) * features + j]), x = h[i * features + j];
      s[i * features + j] = std::max(past, x) + std::log1p(std::exp(-std::fabs(past - x)));
    }
}

/// Fills the inputs of scans. With `long_memory`, decays are near 1, so that a state depends on all tokens before it.
inline void fill_scan_inputs(bool long_memory, array& log_p, array& g, array& h, array& grad_s, std::size_t count) {
  std::uint64_t state = 7;
  const auto uniform = [&] {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return static_cast<double>(state >> 11) * 0x1p-53;
  };
  for (std::size_t i = 0; i < count; ++i) {
    const double normal = uniform() + uniform() + uniform() + uniform() - 2;  // a number with variance 1/3
    const double logit = long_memory ? 14 + normal : 1.7 * normal;
    g.data[i] = static_cast<float>(logit);
    log_p.data[i] = static_cast<float>(-std::log1p(std::exp(-logit)));
    h.data[i] = static_cast<float>(3.4 * (uniform() - 0.5));
    grad_s.data[i] = static_cast<float>(uniform() - 0.5);
  }
}

}  // namespace assay::optimized::benchmarks
