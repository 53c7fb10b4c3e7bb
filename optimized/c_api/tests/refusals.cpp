// Every wrong argument is refused with its code and its name, and nothing is written.
#include <functional>
#include <set>

#include "optimized/c_api/tests/support.hpp"

namespace assay::optimized::tests {
namespace {

using call = c_call<float>;

struct wrong {
  const char* name;  // the message begins with this name
  int code;
  std::function<void(call&)> make;
};

const std::vector<wrong> forward_faults = {
    {"h", ASSAY_SCAN_SHAPE, [](call& c) { c.in.h.rank = 2; }},
    {"h", ASSAY_SCAN_SHAPE, [](call& c) { c.in.h.size[1] = -1; }},
    {"h", ASSAY_SCAN_DTYPE, [](call& c) { c.in.h.dtype = 5; }},
    {"log_p", ASSAY_SCAN_DTYPE, [](call& c) { c.in.h.dtype = 3; }},
    {"h", ASSAY_SCAN_NULL, [](call& c) { c.in.h.data = nullptr; }},
    {"h", ASSAY_SCAN_STRIDE, [](call& c) { c.in.h.stride[1] = -5; }},
    {"log_p", ASSAY_SCAN_SHAPE, [](call& c) { c.in.decay.size[1] = 5; }},
    {"log_p", ASSAY_SCAN_SHAPE, [](call& c) { c.in.decay = {}; }},
    {"log_p", ASSAY_SCAN_DTYPE, [](call& c) { c.in.decay.dtype = ASSAY_SCAN_F64; }},
    {"log_p", ASSAY_SCAN_ALIGNMENT, [](call& c) { c.in.decay.data = static_cast<const char*>(c.in.decay.data) + 2; }},
    {"log_p", ASSAY_SCAN_SHAPE, [](call& c) { c.in.decay.stride[0] = std::int64_t{1} << 62; }},
    {"log_p", ASSAY_SCAN_SHAPE, [](call& c) { c.in.decay.stride[0] = std::numeric_limits<std::int64_t>::max(); }},
    {"s0", ASSAY_SCAN_SHAPE, [](call& c) { c.in.s0.rank = 3; }},
    {"s0", ASSAY_SCAN_SHAPE, [](call& c) { c.in.s0.size[1] = 4; }},
    {"s0", ASSAY_SCAN_NULL, [](call& c) { c.in.s0.data = nullptr; }},
    {"s0_low", ASSAY_SCAN_SHAPE, [](call& c) { c.in.s0_low = c.in.s0, c.in.s0_low.size[0] = 1; }},
    {"s", ASSAY_SCAN_NULL, [](call& c) { c.out.s.data = nullptr; }},
    {"s", ASSAY_SCAN_STRIDE, [](call& c) { c.out.s.stride[1] = 0; }},
    {"s", ASSAY_SCAN_STRIDE, [](call& c) { c.out.s.stride[1] = 2; }},
    {"s", ASSAY_SCAN_OVERLAP, [](call& c) { c.out.s.data = const_cast<void*>(c.in.h.data); }},
    {"s_n", ASSAY_SCAN_SHAPE, [](call& c) { c.out.s_n = {}; }},
    {"s_n", ASSAY_SCAN_STRIDE, [](call& c) { c.out.s_n.stride[0] = -1; }},
    {"s_n", ASSAY_SCAN_OVERLAP, [](call& c) { c.out.s_n.data = static_cast<float*>(c.out.s.data) + 10; }},
    {"s_n_low", ASSAY_SCAN_OVERLAP, [](call& c) { c.out.s_n_low = c.out.s_n; }},
    {"s_n_low", ASSAY_SCAN_DTYPE, [](call& c) { c.out.s_n_low.dtype = 0; }},
    {"target", ASSAY_SCAN_EXECUTION, [](call& c) { c.on.target = "unknown"; }},
    {"target", ASSAY_SCAN_EXECUTION, [](call& c) { c.on.target = ""; }},
    {"threads", ASSAY_SCAN_EXECUTION, [](call& c) { c.on.threads = -2; }},
};

const std::vector<wrong> backward_faults = {
    {"log_p", ASSAY_SCAN_NULL, [](call& c) { c.in.decay.data = nullptr; }},
    {"s", ASSAY_SCAN_SHAPE, [](call& c) { c.cotangents.s = {}; }},
    {"grad_s", ASSAY_SCAN_SHAPE, [](call& c) { c.cotangents.grad_s.size[2] = 1; }},
    {"grad_s_n", ASSAY_SCAN_DTYPE, [](call& c) { c.cotangents.grad_s_n.dtype = 2; }},
    {"grad_log_p", ASSAY_SCAN_NULL, [](call& c) { c.gradients.grad_decay.data = nullptr; }},
    {"grad_log_p", ASSAY_SCAN_OVERLAP, [](call& c) { c.gradients.grad_decay.data = const_cast<void*>(c.in.h.data); }},
    {"grad_h", ASSAY_SCAN_OVERLAP, [](call& c) { c.gradients.grad_h = c.gradients.grad_decay; }},
    {"grad_s0", ASSAY_SCAN_SHAPE, [](call& c) { c.gradients.grad_s0.size[0] = 5; }},
    {"grad_s0", ASSAY_SCAN_ALIGNMENT,
     [](call& c) { c.gradients.grad_s0.data = static_cast<char*>(c.gradients.grad_s0.data) + 1; }},
};

void check_refusals(const std::vector<wrong>& faults, int (call::*function)()) {
  for (const wrong& fault : faults) {
    scan_problem<float> p({2, 4, 3}, false);
    const scan_problem<float> before = p;
    call c(p);
    REQUIRE((c.*function)() == ASSAY_SCAN_OK);
    p = before;  // copies into the same memory
    fault.make(c);
    const int code = (c.*function)();
    INFO(fault.name << ": " << c.said());
    CHECK(code == fault.code);
    CHECK(c.said().rfind(std::string(fault.name) + ":", 0) == 0);
    CHECK(same_results(p, before));
    CHECK(same_bits(p.h, before.h));
    c.on.message = nullptr;
    CHECK((c.*function)() == fault.code);
  }
}

}  // namespace

TEST_CASE("heinsen/scan/c_api_refusals", "[optimized][heinsen][c_api]") {
  check_refusals(forward_faults, &call::forward);
  check_refusals(backward_faults, &call::backward);
}

TEST_CASE("heinsen/scan/c_api_null_pointers", "[optimized][heinsen][c_api]") {
  scan_problem<float> p({2, 4, 3}, true);
  call c(p);
  CHECK(assay_scan(&c.on, nullptr, &c.out) == ASSAY_SCAN_NULL);
  CHECK(c.said() == "in: a null pointer");
  CHECK(assay_gated_scan(nullptr, &c.in, nullptr) == ASSAY_SCAN_NULL);
  CHECK(assay_scan_vjp(&c.on, &c.in, nullptr, &c.gradients) == ASSAY_SCAN_NULL);
  CHECK(c.said() == "cotangents: a null pointer");
  CHECK(assay_gated_scan_vjp(nullptr, nullptr, nullptr, nullptr) == ASSAY_SCAN_NULL);
  CHECK(assay_gated_scan(nullptr, &c.in, &c.out) == ASSAY_SCAN_OK);
}

TEST_CASE("heinsen/scan/c_api_messages", "[optimized][heinsen][c_api]") {
  std::set<std::string> messages;
  for (int code = ASSAY_SCAN_OK; code <= ASSAY_SCAN_INTERNAL; ++code) messages.insert(assay_scan_message(code));
  CHECK(messages.size() == ASSAY_SCAN_INTERNAL + 1);
  CHECK(messages.count(assay_scan_message(-1)) == 0);
  CHECK(std::string(assay_scan_message(-1)) == assay_scan_message(12345));
  CHECK(assay_scan_abi() == ASSAY_SCAN_ABI);

  scan_problem<float> p({2, 4, 3}, true);
  call c(p);
  c.in.decay.size[0] = 7;
  REQUIRE(c.forward() == ASSAY_SCAN_SHAPE);
  CHECK(c.said() == "g: expected [2, 4, 3] but it is [7, 4, 3]");
  c.message.fill('x');
  c.on.message_size = 5;
  REQUIRE(c.forward() == ASSAY_SCAN_SHAPE);
  CHECK(c.said() == "g: e");
  CHECK(c.message[5] == 'x');
  c.on.message_size = 0;
  c.message[0] = 'x';
  REQUIRE(c.forward() == ASSAY_SCAN_SHAPE);
  CHECK(c.message[0] == 'x');
}

}  // namespace assay::optimized::tests
