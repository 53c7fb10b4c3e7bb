// The C functions compute the same bits as the C++ functions. Tests empty arrays, special values, chunks and threads.
#include <thread>

#include "optimized/c_api/tests/support.hpp"

namespace assay::optimized::tests {

TEMPLATE_TEST_CASE("heinsen/scan/c_api_is_the_cpp_api", "[optimized][heinsen][c_api]", float, double) {
  int targets = 0;
  for (; assay_scan_target(targets) != nullptr; ++targets)
    for (const bool gated : {false, true}) {
      scan_problem<TestType> expected({2, 70, 37}, gated), p({2, 70, 37}, gated);
      REQUIRE(force_target(assay_scan_target(targets)));
      expected.run();
      run_in_c(p, assay_scan_target(targets));
      CHECK(same_results(p, expected));
    }
  REQUIRE(force_target(""));
  CHECK(static_cast<std::size_t>(targets) == supported_targets().size());
  CHECK(assay_scan_target(-1) == nullptr);
}

TEMPLATE_TEST_CASE("heinsen/scan/c_api_threads_agree", "[optimized][heinsen][c_api]", float, double) {
  for (const bool gated : {false, true}) {
    scan_problem<TestType> expected({1, 20, 2500}, gated);
    run_in_c(expected, "best", 1);
    for (const int threads : {-1, 0, 2, 3}) {
      scan_problem<TestType> p({1, 20, 2500}, gated);
      run_in_c(p, "best", threads);
      CHECK(same_results(p, expected));
    }
  }
}

// Two chunks that hand on both numbers of the state give the bits of one call.
TEMPLATE_TEST_CASE("heinsen/scan/c_api_chunks", "[optimized][heinsen][c_api]", float, double) {
  const std::size_t n = 50, d = 7;
  scan_problem<TestType> whole({1, n, d}, false);
  run_in_c(whole);
  for (const std::size_t cut : {std::size_t{0}, std::size_t{1}, std::size_t{23}, n}) {
    scan_problem<TestType> p({1, n, d}, false);
    c_call<TestType> first(p);
    const auto to_cut = [&](auto&... arrays) { ((arrays.size[1] = static_cast<std::int64_t>(cut)), ...); };
    to_cut(first.in.decay, first.in.h, first.out.s);
    REQUIRE(first.forward() == ASSAY_SCAN_OK);
    scan_problem<TestType> rest({1, n - cut, d}, false);
    rest.decay.assign(p.decay.begin() + static_cast<std::ptrdiff_t>(cut * d), p.decay.end());
    rest.h.assign(p.h.begin() + static_cast<std::ptrdiff_t>(cut * d), p.h.end());
    rest.s0 = p.s_n, rest.s0_low = p.s_n_low;
    REQUIRE(c_call<TestType>(rest).forward() == ASSAY_SCAN_OK);
    std::copy(rest.s.begin(), rest.s.end(), p.s.begin() + static_cast<std::ptrdiff_t>(cut * d));
    CAPTURE(cut);
    CHECK(same_bits(p.s, whole.s));
    CHECK(same_bits(rest.s_n, whole.s_n));
    CHECK(same_bits(rest.s_n_low, whole.s_n_low));
  }
}

TEST_CASE("heinsen/scan/c_api_absent_arrays_are_zeros", "[optimized][heinsen][c_api]") {
  scan_problem<float> zeros({2, 5, 9}, true), absent({2, 5, 9}, true);
  zeros.s0.assign(zeros.s0.size(), 0), zeros.grad_s_n.assign(zeros.grad_s_n.size(), 0);
  run_in_c(zeros);
  c_call<float> call(absent);
  call.in.s0 = {}, call.cotangents.grad_s_n = {}, call.out.s_n_low = {};
  REQUIRE(call.forward() == ASSAY_SCAN_OK);
  REQUIRE(call.backward() == ASSAY_SCAN_OK);
  absent.s_n_low = zeros.s_n_low;
  CHECK(same_results(absent, zeros));
}

TEST_CASE("heinsen/scan/c_api_empty_axes", "[optimized][heinsen][c_api]") {
  for (const scan_sizes shape : {scan_sizes{2, 0, 3}, {0, 4, 3}, {2, 4, 0}, {0, 0, 0}}) {
    scan_problem<double> p(shape, false);
    run_in_c(p);
    if (shape.tokens == 0) {
      CHECK(same_bits(p.s_n, p.s0));
      CHECK(same_bits(p.grad_s0, p.grad_s_n));
    }
  }
  // Arrays without elements whose other sizes are so large that no loop could walk them.
  scan_problem<double> p({0, 0, 0}, false);
  c_call<double> call(p);
  const auto resize = [&](std::array<std::int64_t, 3> size) {
    for (assay_const_array* a : {&call.in.decay, &call.in.h, &call.cotangents.s, &call.cotangents.grad_s})
      std::copy(size.begin(), size.end(), a->size);
    for (assay_array* a : {&call.out.s, &call.gradients.grad_decay, &call.gradients.grad_h})
      std::copy(size.begin(), size.end(), a->size);
    for (assay_const_array* a : {&call.in.s0, &call.cotangents.grad_s_n}) a->size[0] = size[0], a->size[1] = size[2];
    for (assay_array* a : {&call.out.s_n, &call.out.s_n_low, &call.gradients.grad_s0})
      a->size[0] = size[0], a->size[1] = size[2];
  };
  const std::int64_t huge = std::int64_t{1} << 62;
  for (const std::array<std::int64_t, 3> size : {std::array<std::int64_t, 3>{huge, huge, 0}, {0, huge, huge}}) {
    resize(size);
    CHECK(call.forward() == ASSAY_SCAN_OK);
    CHECK(call.backward() == ASSAY_SCAN_OK);
  }
  resize({huge, 0, 2});  // memory cannot hold these states
  double somewhere = 0;
  call.in.s0.data = &somewhere, call.in.s0.stride[0] = 2;
  CHECK(call.forward() == ASSAY_SCAN_SHAPE);
  CHECK(call.backward() == ASSAY_SCAN_SHAPE);
}

TEMPLATE_TEST_CASE("heinsen/scan/c_api_special_values", "[optimized][heinsen][c_api]", float, double) {
  scan_problem<TestType> p({1, 3, 1}, false);
  p.decay = {-1, -inf<TestType>, 0}, p.h = {2, TestType(0.5), -inf<TestType>}, p.s0 = {3};
  p.grad_s[0] = 0;  // p = 0 cuts off all later tokens
  run_in_c(p);
  CHECK(p.s[1] == TestType(0.5));
  CHECK(p.s[2] == TestType(0.5));
  CHECK(p.grad_decay[1] == 0);
  CHECK(p.grad_h[2] == 0);
  CHECK(p.grad_s0[0] == 0);
  p.h.assign(3, -inf<TestType>), p.s0 = {-inf<TestType>};
  run_in_c(p);
  CHECK(p.s == std::vector<TestType>(3, -inf<TestType>));
  CHECK(p.s_n_low == std::vector<TestType>{0});
  CHECK(p.grad_h == std::vector<TestType>(3, 0));
}

// Many threads call at once. Each thread has arrays, a target and a number of threads of its own.
TEST_CASE("heinsen/scan/c_api_calls_at_once", "[optimized][heinsen][c_api]") {
  constexpr int callers = 4, rounds = 20;
  std::array<bool, callers> right{};
  std::vector<std::thread> threads;
  threads.reserve(callers);
  for (int k = 0; k < callers; ++k)
    threads.emplace_back([k, &right] {
      const scan_sizes shape{1, 33, 1100};
      scan_problem<float> expected(shape, k % 2 == 0, static_cast<std::uint64_t>(k));
      c_call<float> alone(expected);
      right[k] = alone.forward() == ASSAY_SCAN_OK && alone.backward() == ASSAY_SCAN_OK;
      for (int round = 0; round < rounds; ++round) {
        scan_problem<float> p(shape, k % 2 == 0, static_cast<std::uint64_t>(k));
        c_call<float> call(p);
        call.on.threads = 1 + (k + round) % 3;
        right[k] = right[k] && call.forward() == ASSAY_SCAN_OK && call.backward() == ASSAY_SCAN_OK &&
                   same_results(p, expected);
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(right == std::array<bool, callers>{true, true, true, true});
}

}  // namespace assay::optimized::tests
