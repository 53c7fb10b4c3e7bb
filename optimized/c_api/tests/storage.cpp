// 16-bit arrays through the C functions: the results equal those of the C++ functions, and wrong arguments are refused.
#include "optimized/c_api/tests/support.hpp"

namespace assay::optimized::tests {
namespace {

template <class Storage>
struct stored_call {
  static constexpr std::size_t B = 2, n = 40, d = 37, size = B * n * d, states = B * d;
  std::vector<Storage> decay, h, grad_s, s, grad_decay, grad_h;
  std::vector<float> s0, grad_s_n, s_n, s_n_low, grad_s0;
  std::array<char, 200> message{};
  assay_scan_execution on{};
  assay_scan_inputs in{};
  assay_scan_outputs out{};
  assay_scan_cotangents cotangents{};
  assay_scan_gradients gradients{};

  stored_call() : s(size), grad_decay(size), grad_h(size), s_n(states), s_n_low(states), grad_s0(states) {
    generator random(7);
    for (std::size_t i = 0; i < size; ++i) {
      decay.push_back({Storage::rounded(static_cast<float>(random.uniform(-2, 0)))});
      h.push_back({Storage::rounded(static_cast<float>(random.uniform(-3, 3)))});
      grad_s.push_back({Storage::rounded(static_cast<float>(random.uniform(-1, 1)))});
    }
    for (std::size_t i = 0; i < states; ++i) {
      s0.push_back(static_cast<float>(random.uniform(-1, 1)));
      grad_s_n.push_back(static_cast<float>(random.uniform(-1, 1)));
    }
    const auto read = [](const auto& x) {
      return c_array<assay_const_array>(x.data(), x.size() == size ? std::vector{B, n, d} : std::vector{B, d});
    };
    const auto written = [](auto& x) {
      return c_array<assay_array>(x.data(), x.size() == size ? std::vector{B, n, d} : std::vector{B, d});
    };
    in = {read(decay), read(h), read(s0), {}};
    out = {written(s), written(s_n), written(s_n_low)};
    cotangents = {{}, read(grad_s), read(grad_s_n)};
    gradients = {written(grad_decay), written(grad_h), written(grad_s0)};
    on.message = message.data(), on.message_size = message.size();
  }
  int forward() { return assay_scan(&on, &in, &out); }
  int backward() { return assay_scan_vjp(&on, &in, &cotangents, &gradients); }
  // The call is refused with this code and for this reason, and not for another one.
  void refuses(int code, const std::string& beginning, bool is_forward = true) {
    CHECK((is_forward ? forward() : backward()) == code);
    INFO(message.data());
    CHECK(std::string(message.data()).starts_with(beginning));
  }
};

template <class Storage>
std::vector<std::uint16_t> bits_of(const std::vector<Storage>& x) {
  std::vector<std::uint16_t> bits;
  for (const Storage v : x) bits.push_back(v.bits);
  return bits;
}

}  // namespace

TEMPLATE_TEST_CASE("heinsen/scan/c_api_storage_is_that_of_cpp", "[optimized][heinsen][c_api]", bfloat16, float16) {
  using call = stored_call<TestType>;
  call in_c, in_cpp;
  REQUIRE(in_c.forward() == ASSAY_SCAN_OK);
  REQUIRE(in_c.backward() == ASSAY_SCAN_OK);
  const std::array<std::size_t, 3> tokens{call::B, call::n, call::d};
  const std::array<std::size_t, 2> states{call::B, call::d};
  const auto read = [&](auto& x) { return dense<const TestType, 3>(x.data(), tokens); };
  const auto written = [&](auto& x) { return dense<TestType, 3>(x.data(), tokens); };
  const auto state = [&](auto& x) { return dense<float, 2>(x.data(), states); };
  const execution on{find_kernels("best"), 1};
  const heinsen::scan_inputs<TestType> in{read(in_cpp.decay), read(in_cpp.h), state(in_cpp.s0)};
  heinsen::scan<TestType>(on, in, {written(in_cpp.s), state(in_cpp.s_n), state(in_cpp.s_n_low)});
  heinsen::scan_vjp<TestType>(on, in, {{}, read(in_cpp.grad_s), state(in_cpp.grad_s_n)},
                              {written(in_cpp.grad_decay), written(in_cpp.grad_h), state(in_cpp.grad_s0)});
  CHECK(bits_of(in_c.s) == bits_of(in_cpp.s));
  CHECK(in_c.s_n == in_cpp.s_n);
  CHECK(in_c.s_n_low == in_cpp.s_n_low);
  CHECK(bits_of(in_c.grad_decay) == bits_of(in_cpp.grad_decay));
  CHECK(bits_of(in_c.grad_h) == bits_of(in_cpp.grad_h));
  CHECK(in_c.grad_s0 == in_cpp.grad_s0);
}

// Rows whose features lie apart, in an array that holds each number twice.
TEMPLATE_TEST_CASE("heinsen/scan/c_api_storage_with_strides", "[optimized][heinsen][c_api]", bfloat16, float16) {
  stored_call<TestType> dense_call, spread;
  REQUIRE(dense_call.forward() == ASSAY_SCAN_OK);
  REQUIRE(dense_call.backward() == ASSAY_SCAN_OK);
  std::vector<TestType> twice;
  for (const TestType x : spread.h) twice.push_back(x), twice.push_back(x);
  spread.in.h.data = twice.data();
  for (std::int64_t& step : spread.in.h.stride) step *= 2;
  REQUIRE(spread.forward() == ASSAY_SCAN_OK);
  REQUIRE(spread.backward() == ASSAY_SCAN_OK);
  CHECK(bits_of(spread.s) == bits_of(dense_call.s));
  CHECK(bits_of(spread.grad_h) == bits_of(dense_call.grad_h));
}

TEST_CASE("heinsen/scan/c_api_storage_refusals", "[optimized][heinsen][c_api]") {
  using call = stored_call<bfloat16>;
  const auto refused = [](int code, const char* beginning, auto change, bool is_forward = true) {
    call c;
    change(c);
    c.refuses(code, beginning, is_forward);
  };
  refused(ASSAY_SCAN_DTYPE, "log_p: expected the dtype 4 of h but it is 3", [](call& c) { c.in.decay.dtype = 3; });
  refused(ASSAY_SCAN_DTYPE, "s0: expected the dtype 1 but it is 4", [](call& c) { c.in.s0.dtype = 4; });
  refused(ASSAY_SCAN_DTYPE, "s_n: expected the dtype 1 but it is 2", [](call& c) { c.out.s_n.dtype = 2; });
  refused(ASSAY_SCAN_ALIGNMENT, "s0: its data is no multiple of 4 bytes",
          [](call& c) { c.in.s0.data = static_cast<const char*>(c.in.s0.data) + 2; });
  refused(ASSAY_SCAN_ALIGNMENT, "h: its data is no multiple of 2 bytes",
          [](call& c) { c.in.h.data = static_cast<const char*>(c.in.h.data) + 1; });
  refused(
      ASSAY_SCAN_SHAPE, "s: expected to be absent", [](call& c) { c.cotangents.s = c.cotangents.grad_s; }, false);
  // Places a float of s_n in the memory of two numbers of h, in the memory of the last number of h alone, or directly
  // behind h.
  const auto with_states_at = [](call& c, std::ptrdiff_t element, std::vector<bfloat16>& memory) {
    std::copy(c.h.begin(), c.h.end(), memory.begin());
    c.in.h.data = memory.data();
    c.out.s_n.data = memory.data() + element;
  };
  std::vector<bfloat16> memory(call::size + 2 * call::states + 2);
  refused(ASSAY_SCAN_OVERLAP, "s_n: it shares memory with h", [&](call& c) { with_states_at(c, 100, memory); });
  refused(ASSAY_SCAN_OVERLAP, "s_n: it shares memory with h",
          [&](call& c) { with_states_at(c, call::size - 2, memory); });
  call beside;
  with_states_at(beside, call::size, memory);
  CHECK(beside.forward() == ASSAY_SCAN_OK);
  refused(ASSAY_SCAN_STRIDE, "s_n: its elements share memory", [](call& c) { c.out.s_n.stride[1] = 0; });
}

TEST_CASE("heinsen/scan/c_api_storage_has_no_workspace", "[optimized][heinsen][c_api]") {
  CHECK(assay_scan_workspace_size(ASSAY_SCAN_BF16, 2, 3) == 0);
  CHECK(assay_scan_workspace_size(ASSAY_SCAN_F32, 2, 3) > 0);
}

}  // namespace assay::optimized::tests
