// With a direction, the C functions compute the same bits as the C++ functions, and they refuse wrong arguments.
#include <functional>

#include "optimized/c_api/tests/tangent_call.hpp"

namespace assay::optimized::tests {
namespace {

using along = c_tangent_call<float>;

struct wrong_tangent {
  const char* name;  // the message begins with this name
  int code;
  std::function<void(along&)> make;
};

const std::vector<wrong_tangent> tangent_faults = {
    {"h", ASSAY_SCAN_DTYPE, [](along& c) { c.in.h.dtype = ASSAY_SCAN_F16; }},
    {"h", ASSAY_SCAN_DTYPE, [](along& c) { c.in.h.dtype = ASSAY_SCAN_BF16; }},
    {"log_p", ASSAY_SCAN_NULL, [](along& c) { c.in.decay.data = nullptr; }},
    {"tangent_log_p", ASSAY_SCAN_SHAPE, [](along& c) { c.direction.tangent_decay = {}; }},
    {"tangent_log_p", ASSAY_SCAN_DTYPE, [](along& c) { c.direction.tangent_decay.dtype = ASSAY_SCAN_F64; }},
    {"tangent_h", ASSAY_SCAN_SHAPE, [](along& c) { c.direction.tangent_h.size[2] = 1; }},
    {"tangent_h", ASSAY_SCAN_STRIDE, [](along& c) { c.direction.tangent_h.stride[1] = -3; }},
    {"tangent_s0", ASSAY_SCAN_SHAPE, [](along& c) { c.direction.tangent_s0.size[0] = 5; }},
    {"tangent_s0_low", ASSAY_SCAN_SHAPE, [](along& c) { c.direction.tangent_s0_low = c.direction.tangent_h; }},
    {"s", ASSAY_SCAN_NULL, [](along& c) { c.out.s.data = nullptr; }},
    {"s_n", ASSAY_SCAN_SHAPE, [](along& c) { c.out.s_n = {}; }},
    {"tangent_s", ASSAY_SCAN_OVERLAP, [](along& c) { c.tangents.tangent_s.data = c.out.s.data; }},
    {"tangent_s", ASSAY_SCAN_OVERLAP,
     [](along& c) { c.tangents.tangent_s.data = const_cast<void*>(c.direction.tangent_h.data); }},
    {"tangent_s_n", ASSAY_SCAN_SHAPE, [](along& c) { c.tangents.tangent_s_n.rank = 0; }},
    {"tangent_s_n", ASSAY_SCAN_STRIDE, [](along& c) { c.tangents.tangent_s_n.stride[0] = 1; }},
    {"tangent_s_n_low", ASSAY_SCAN_OVERLAP, [](along& c) { c.tangents.tangent_s_n_low = c.tangents.tangent_s_n; }},
    {"threads", ASSAY_SCAN_EXECUTION, [](along& c) { c.on.threads = -2; }},
};

}  // namespace

TEMPLATE_TEST_CASE("heinsen/scan:jvp/c_api_is_the_cpp_api", "[optimized][heinsen][c_api]", float, double) {
  for (int k = 0; assay_scan_target(k) != nullptr; ++k)
    for (const bool gated : {false, true})
      for (const scan_sizes& sizes : {scan_sizes{2, 70, 37}, scan_sizes{1, 3000, 1}, scan_sizes{2, 0, 3}}) {
        tangent_problem<TestType> expected(sizes, gated), p(sizes, gated);
        generator random(3);
        expected.s0_low = p.s0_low = uniform<TestType>(random, p.s0.size(), -1e-9, 1e-9);
        expected.ds0_low = p.ds0_low = p.s0_low;
        REQUIRE(force_target(assay_scan_target(k)));
        expected.push();
        c_tangent_call<TestType> call(p);
        call.on.target = assay_scan_target(k);
        REQUIRE(call.push() == ASSAY_SCAN_OK);
        CHECK(same_tangents(p, expected));
      }
  REQUIRE(force_target(""));
}

TEMPLATE_TEST_CASE("heinsen/scan:jvp/c_api_threads_agree", "[optimized][heinsen][c_api]", float, double) {
  tangent_problem<TestType> expected({1, 20, 2500}, true);
  REQUIRE(c_tangent_call<TestType>(expected).push() == ASSAY_SCAN_OK);
  for (const int threads : {-1, 2, 3}) {
    tangent_problem<TestType> p({1, 20, 2500}, true);
    c_tangent_call<TestType> call(p);
    call.on.threads = threads;
    REQUIRE(call.push() == ASSAY_SCAN_OK);
    CHECK(same_tangents(p, expected));
  }
}

TEST_CASE("heinsen/scan:jvp/c_api_absent_arrays_are_zeros", "[optimized][heinsen][c_api]") {
  tangent_problem<float> zeros({2, 5, 9}, true);
  zeros.s0.assign(zeros.s0.size(), 0), zeros.ds0.assign(zeros.ds0.size(), 0);
  tangent_problem<float> absent = zeros;
  REQUIRE(c_tangent_call<float>(zeros).push() == ASSAY_SCAN_OK);
  c_tangent_call<float> call(absent);
  call.in.s0 = {}, call.direction.tangent_s0 = {}, call.out.s_n_low = {}, call.tangents.tangent_s_n_low = {};
  REQUIRE(call.push() == ASSAY_SCAN_OK);
  absent.s_n_low = zeros.s_n_low, absent.ds_n_low = zeros.ds_n_low;
  CHECK(same_tangents(absent, zeros));
}

// Arrays with tokens side by side and arrays with features side by side: every array [B, n, d] is copied, or none is.
TEMPLATE_TEST_CASE("heinsen/scan:jvp/c_api_strides", "[optimized][heinsen][c_api]", float, double) {
  const std::size_t B = 2, n = 7, d = 5;
  tangent_problem<TestType> p({B, n, d}, false);
  REQUIRE(c_tangent_call<TestType>(p).push() == ASSAY_SCAN_OK);
  const auto turned = [&](const std::vector<TestType>& x) {
    std::vector<TestType> y(x.size());
    for (std::size_t b = 0; b < B; ++b)
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < d; ++j) y[(b * d + j) * n + i] = x[(b * n + i) * d + j];
    return y;
  };
  tangent_problem<TestType> q({B, n, d}, false);
  for (auto* x : {&q.decay, &q.h, &q.d_decay, &q.dh}) *x = turned(*x);
  c_tangent_call<TestType> call(q);
  const auto turn = [&](auto&... arrays) {
    ((arrays.stride[1] = 1, arrays.stride[2] = static_cast<std::int64_t>(n)), ...);
  };
  turn(call.in.decay, call.in.h, call.direction.tangent_decay, call.direction.tangent_h, call.out.s,
       call.tangents.tangent_s);
  REQUIRE(call.push() == ASSAY_SCAN_OK);
  CHECK(same_bits(q.s, turned(p.s)));
  CHECK(same_bits(q.ds, turned(p.ds)));
  CHECK(same_bits(q.ds_n, p.ds_n));
}

TEST_CASE("heinsen/scan:jvp/c_api_refusals", "[optimized][heinsen][c_api]") {
  for (const wrong_tangent& fault : tangent_faults) {
    tangent_problem<float> p({2, 4, 3}, false);
    const tangent_problem<float> before = p;
    along c(p);
    REQUIRE(c.push() == ASSAY_SCAN_OK);
    p = before;  // copies into the same memory
    fault.make(c);
    const int code = c.push();
    INFO(fault.name << ": " << c.said());
    CHECK(code == fault.code);
    CHECK(c.said().rfind(std::string(fault.name) + ":", 0) == 0);
    CHECK(same_tangents(p, before));
  }
  tangent_problem<float> p({2, 4, 3}, true);
  along c(p);
  CHECK(assay_scan_jvp(&c.on, nullptr, &c.direction, &c.out, &c.tangents) == ASSAY_SCAN_NULL);
  CHECK(assay_scan_jvp(&c.on, &c.in, nullptr, &c.out, &c.tangents) == ASSAY_SCAN_NULL);
  CHECK(c.said() == "direction: a null pointer");
  CHECK(assay_gated_scan_jvp(&c.on, &c.in, &c.direction, nullptr, &c.tangents) == ASSAY_SCAN_NULL);
  CHECK(assay_gated_scan_jvp(nullptr, &c.in, &c.direction, &c.out, nullptr) == ASSAY_SCAN_NULL);
  CHECK(assay_gated_scan_jvp(nullptr, &c.in, &c.direction, &c.out, &c.tangents) == ASSAY_SCAN_OK);
}

}  // namespace assay::optimized::tests
