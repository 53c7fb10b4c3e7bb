// Tests products by OpenBLAS: values, special values, calls at the same time, and every set of kernels that the
// processor has.
#include "optimized/matrix_product.hpp"

#include <cblas.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "optimized/tests/support.hpp"

namespace openmp {
extern "C" {
int omp_get_max_threads();
void omp_set_num_threads(int count);
}
}  // namespace openmp

namespace assay::optimized::tests {
namespace {

template <class Real>
struct product {
  std::size_t rows, columns, depth, gap;
  bool a_transposed, b_transposed;
  std::vector<Real> a, b, c;

  product(std::size_t m, std::size_t n, std::size_t k, bool ta, bool tb, std::size_t between = 0)
      : rows(m), columns(n), depth(k), gap(between), a_transposed(ta), b_transposed(tb) {
    generator random(m + 10 * n + 100 * k);
    a = uniform<Real>(random, (ta ? k * (m + gap) : m * (k + gap)) + gap, -1, 1);
    b = uniform<Real>(random, (tb ? n * (k + gap) : k * (n + gap)) + gap, -1, 1);
    c = uniform<Real>(random, m * (n + gap) + gap, -1, 1);
  }
  std::size_t index_in_a(std::size_t i, std::size_t k) const {
    return a_transposed ? k * (rows + gap) + i : i * (depth + gap) + k;
  }
  std::size_t index_in_b(std::size_t k, std::size_t j) const {
    return b_transposed ? j * (depth + gap) + k : k * (columns + gap) + j;
  }
  std::size_t index_in_c(std::size_t i, std::size_t j) const { return i * (columns + gap) + j; }
  void run() {
    const matrix<const Real> left{a.data(), rows, depth, (a_transposed ? rows : depth) + gap, a_transposed};
    const matrix<const Real> right{b.data(), depth, columns, (b_transposed ? depth : columns) + gap, b_transposed};
    add_product(left, right, {c.data(), rows, columns, columns + gap});
  }
};

// Calls visit(rows, columns, depth, a transposed, b transposed).
template <class Visit>
void for_each_kind(Visit visit) {
  for (const auto& [m, n, k] : {std::array<std::size_t, 3>{1, 1, 1},
                                {1, 7, 5},
                                {7, 1, 5},
                                {1, 70, 300},
                                {5, 3, 2},
                                {17, 33, 9},
                                {64, 65, 66},
                                {9, 2, 1000},
                                {130, 20, 31}})
    for (const int transposed : {0, 1, 2, 3}) visit(m, n, k, (transposed & 1) != 0, (transposed & 2) != 0);
}

}  // namespace

TEMPLATE_TEST_CASE("optimized/matrix_product/values", "[optimized][on_every_processor]", float, double) {
  for_each_kind([](auto m, auto n, auto k, bool ta, bool tb) {
    for (const std::size_t gap : {0u, 3u}) {
      product<TestType> p(m, n, k, ta, tb, gap);
      const product<TestType> before = p;
      p.run();
      const long double unit = unit_roundoff<TestType>, terms = static_cast<long double>(k + 1);
      bool within = true, untouched = true;
      std::vector<bool> written(p.c.size());
      for (std::size_t i = 0; i < m; ++i)
        for (std::size_t j = 0; j < n; ++j) {
          const long double given = before.c[p.index_in_c(i, j)];
          long double exact = given, size = std::fabs(given);
          for (std::size_t l = 0; l < k; ++l) {
            const long double term = static_cast<long double>(p.a[p.index_in_a(i, l)]) * p.b[p.index_in_b(l, j)];
            exact += term, size += std::fabs(term);
          }
          within = within && std::fabs(p.c[p.index_in_c(i, j)] - exact) <= terms * unit / (1 - terms * unit) * size;
          written[p.index_in_c(i, j)] = true;
        }
      for (std::size_t i = 0; i < p.c.size(); ++i) untouched = untouched && (written[i] || p.c[i] == before.c[i]);
      CAPTURE(m, n, k, ta, tb, gap);
      CHECK(within);
      CHECK(untouched);
    }
  });
}

// Every element has the same class - NaN, an infinity or finite - as in plain loops: no product with 0 is left out.
TEMPLATE_TEST_CASE("optimized/matrix_product/special_values", "[optimized][on_every_processor]", float, double) {
  using T = TestType;
  for_each_kind([](auto m, auto n, auto k, bool ta, bool tb) {
    for (const T special : {nan<T>, inf<T>, -inf<T>})
      for (const bool in_a : {false, true})
        for (const T other : {T(0), T(1)}) {
          product<T> p(m, n, k, ta, tb);
          const std::size_t row = m / 2, column = n / 2, place = k - 1;
          (in_a ? p.a[p.index_in_a(row, place)] : p.b[p.index_in_b(place, column)]) = special;
          (in_a ? p.b[p.index_in_b(place, column)] : p.a[p.index_in_a(row, place)]) = other;
          p.run();
          bool as_loops = true;
          for (std::size_t i = 0; i < m; ++i)
            for (std::size_t j = 0; j < n; ++j) {
              T sum = 0;
              for (std::size_t l = 0; l < k; ++l) sum += p.a[p.index_in_a(i, l)] * p.b[p.index_in_b(l, j)];
              const T c = p.c[p.index_in_c(i, j)];
              as_loops = as_loops && (std::isfinite(sum) ? std::isfinite(c) : same(c, sum));
            }
          CAPTURE(m, n, k, ta, tb, special, in_a, other);
          CHECK(as_loops);
        }
  });
}

// Many threads call at once, more than OpenBLAS has buffers for. All of them get the bits of a single call.
TEST_CASE("optimized/matrix_product/callers_at_once", "[optimized][on_every_processor]") {
  product<float> expected(60, 50, 70, false, true);
  const product<float> given = expected;
  expected.run();
  for (const auto& [callers, calls] : {std::pair{8, 500}, std::pair{200, 4}}) {
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < callers; ++t)
      threads.emplace_back([&, calls = calls] {
        for (int i = 0; i < calls; ++i) {
          product<float> p = given;
          p.run();
          if (!same_bits(p.c, expected.c)) ++wrong;
        }
      });
    for (std::thread& t : threads) t.join();
    CHECK(wrong == 0);
  }
}

// OpenBLAS stays on the calling thread, whatever OpenMP allows, and it does not change what OpenMP allows.
TEST_CASE("optimized/matrix_product/starts_no_threads", "[optimized]") {
  REQUIRE(openblas_get_parallel() == OPENBLAS_OPENMP);
  const auto running = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator());
  };
  std::thread([&] {
    openmp::omp_set_num_threads(4);
    const auto before = running();
    product<double> p(300, 300, 300, false, false);
    p.run();
    CHECK(running() == before);
    CHECK(openmp::omp_get_max_threads() == 4);
  }).join();
}

TEST_CASE("optimized/matrix_product/wrong_shapes", "[optimized]") {
  float x[6] = {};
  const matrix<const float> a{x, 2, 3, 3};
  CHECK_THROWS_AS(add_product(a, a, matrix<float>{x, 2, 3, 3}), core::contract_violation);
  CHECK_THROWS_AS(add_product(a, transpose_of(a), matrix<float>{x, 2, 2, 1}), core::contract_violation);
  CHECK_THROWS_AS(add_product(a, transpose_of(a), matrix<float>{x, 3, 2, 2}), core::contract_violation);
}

#if defined(__x86_64__)
// OpenBLAS chooses its set of kernels once for a process. For each set that this processor can run, a process repeats
// the tests above and those of embed_position.
TEST_CASE("optimized/matrix_product/every_processor", "[optimized]") {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  struct kernels_of {
    const char* name;
    bool supported;
  };
  const bool fma = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  for (const auto& [name, supported] : {kernels_of{"Prescott", true}, kernels_of{"Haswell", fma},
                                        kernels_of{"SkylakeX", fma && __builtin_cpu_supports("avx512vl") != 0}}) {
    if (!supported) continue;
    const std::string command =
        std::string("OPENBLAS_CORETYPE=") + name + " '" + program + "' [on_every_processor] >&2";
    CAPTURE(command);
    CHECK(std::system(command.c_str()) == 0);
  }
}
TEST_CASE("environment/openblas_kernels", "[.][on_every_processor]") {
  const char* wanted = std::getenv("OPENBLAS_CORETYPE");
  REQUIRE(wanted != nullptr);
  CHECK(std::string(openblas_get_corename()) == wanted);
}
#endif

}  // namespace assay::optimized::tests
