// OpenBLAS must run on the calling thread, whatever the process has told it. This code must not tell it anything that
// others would notice. OpenBLAS built with OpenMP asks OpenMP for its number of threads, and that number belongs to the
// calling thread. (The build with threads of its own has one number for the whole process. The serial build gives wrong
// results if two threads call at once: Debian's 0.3.21 takes its buffers without a lock.) OpenBLAS is linked
// statically, because the administrator chooses which build has the name libopenblas.so.0.
#include "optimized/matrix_product.hpp"

#include <cblas.h>

#include <algorithm>
#include <semaphore>

#include "reference/core/result.hpp"

// Functions of OpenMP. Not every compiler has the header of OpenMP.
extern "C" {
int omp_get_max_threads();
void omp_set_num_threads(int count);
}

namespace assay::optimized {
namespace {

// The right to call OpenBLAS. It has a fixed number of buffers, half of them for calls, and it crashes if many more
// calls run at once (700 in 0.3.21).
class turn {
 public:
  turn() : threads_before_(omp_get_max_threads()) {
    free_buffers().acquire();
    if (threads_before_ != 1) omp_set_num_threads(1);
  }
  ~turn() {
    if (threads_before_ != 1) omp_set_num_threads(threads_before_);
    free_buffers().release();
  }
  turn(const turn&) = delete;

 private:
  static std::counting_semaphore<>& free_buffers() {
    static std::counting_semaphore<> buffers(64);
    return buffers;
  }
  int threads_before_;
};

template <class Real>
void check(const matrix<Real>& m) {
  ASSAY_EXPECTS(std::max({m.rows, m.columns, m.step}) <= matrix_limit);
  ASSAY_EXPECTS(m.step >= (m.transposed ? m.rows : m.columns));
}

CBLAS_TRANSPOSE order_of(bool transposed) { return transposed ? CblasTrans : CblasNoTrans; }

template <class Real, class Products, class VectorProducts>
void add(const matrix<const Real>& a, const matrix<const Real>& b, const matrix<Real>& c, Products gemm,
         VectorProducts gemv) {
  ASSAY_EXPECTS(a.columns == b.rows && c.rows == a.rows && c.columns == b.columns && !c.transposed);
  check(a), check(b), check(c);
  if (c.rows == 0 || c.columns == 0 || a.columns == 0) return;
  const auto count = [](std::size_t n) { return static_cast<int>(n); };
  const turn mine;
  if (c.rows > 1)
    gemm(CblasRowMajor, order_of(a.transposed), order_of(b.transposed), count(c.rows), count(c.columns),
         count(a.columns), Real(1), a.data, count(a.step), b.data, count(b.step), Real(1), c.data, count(c.step));
  else  // this does not copy b
    gemv(CblasRowMajor, order_of(!b.transposed), count(b.transposed ? b.columns : b.rows),
         count(b.transposed ? b.rows : b.columns), Real(1), b.data, count(b.step), a.data,
         a.transposed ? count(a.step) : 1, Real(1), c.data, 1);
}

}  // namespace

void add_product(const matrix<const float>& a, const matrix<const float>& b, const matrix<float>& c) {
  add(a, b, c, cblas_sgemm, cblas_sgemv);
}
void add_product(const matrix<const double>& a, const matrix<const double>& b, const matrix<double>& c) {
  add(a, b, c, cblas_dgemm, cblas_dgemv);
}

}  // namespace assay::optimized
