// Candidate: the log-linear recurrence step by step in C++, in the dtype itself.
//
// Heinsen, "Encoding Position by Decaying and Updating Different Exponentiated States Differently" (2024),
// equations (1)-(3). Build and run it with:
//   c++ -O2 -shared -fPIC -I tools/adapters/c -o libcpp_step_loop.so tools/examples/cpp_step_loop.cpp
//   assay gate --candidate library:./libcpp_step_loop.so --operation heinsen/scan
#include <algorithm>
#include <cmath>
#include <cstring>

#include "assay_candidate.h"

namespace {

template <class Real>
Real log_add_exp(Real a, Real b) {
  // The difference of equal infinities is NaN. A NaN in a or b comes through the second term.
  return a == b ? a + std::log(Real(2)) : std::fmax(a, b) + std::log1p(std::exp(-std::fabs(a - b)));
}

template <class Real>
int scan(assay_call* call) {
  const auto input = [&](const char* name) { return static_cast<const Real*>(assay_input(call, name)); };
  const auto output = [&](const char* name) { return static_cast<Real*>(assay_output(call, name)); };
  const Real *log_p = input("log_p"), *h = input("h"), *s0 = input("s0");
  Real *s = output("s"), *s_n = output("s_n");
  const std::size_t* shape = call->inputs[0].shape;
  const std::size_t B = shape[0], n = shape[1], d = shape[2];
  for (std::size_t b = 0; b < B; ++b) {
    const Real* before = s0 + b * d;
    for (std::size_t i = b * n; i < (b + 1) * n; ++i) {
      for (std::size_t k = 0; k < d; ++k)  // equation (3)
        s[i * d + k] = log_add_exp(log_p[i * d + k] + before[k], h[i * d + k]);
      before = s + i * d;
    }
    std::copy(before, before + d, s_n + b * d);
  }
  return ASSAY_OK;
}

int scan_of_dtype(assay_call* call) {
  return std::strcmp(call->dtype, "f64") == 0 ? scan<double>(call) : scan<float>(call);
}

const assay_operation operations[] = {{"heinsen/scan", "f32 f64", scan_of_dtype}, {nullptr, nullptr, nullptr}};
const assay_candidate me = {ASSAY_CANDIDATE_ABI, "cpp-step-loop", "1", operations,
                            R"({"properties": {"deterministic": true}})"};

}  // namespace

const assay_candidate* assay_candidate_v1(void) { return &me; }
