// Arrays with any order of axes and any gaps give the bits of dense arrays. No call writes between the elements.
#include <rapidcheck.h>

#include <algorithm>
#include <numeric>

#include "optimized/c_api/tests/support.hpp"

namespace assay::optimized::tests {
namespace {

// A copy of a dense array with another layout in memory. Marks fill the memory between the elements.
template <class Real>
struct spread_array {
  static constexpr Real mark = Real(-12345);
  std::vector<std::int64_t> size, stride;
  std::vector<Real> memory;
  std::size_t first;

  spread_array(const std::vector<Real>& values, std::vector<std::int64_t> sizes) : size(std::move(sizes)) {
    const std::size_t rank = size.size();
    std::vector<std::size_t> order(rank);
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t k = rank; k > 1; --k) std::swap(order[k - 1], order[*rc::gen::inRange<std::size_t>(0, k)]);
    stride.resize(rank);
    std::int64_t step = 1;
    for (const std::size_t k : order) {
      step *= *rc::gen::element(1, 1, 2, 3);
      stride[k] = step;
      step *= std::max<std::int64_t>(1, size[k]);
    }
    first = *rc::gen::inRange<std::size_t>(0, 5);
    memory.assign(first + static_cast<std::size_t>(step) + 5, mark);
    for (std::size_t i = 0; i < values.size(); ++i) memory[place(i)] = values[i];
  }
  // The place of element number i in row-major order.
  [[nodiscard]] std::size_t place(std::size_t i) const {
    std::size_t offset = first;
    for (std::size_t k = size.size(); k-- > 0;) {
      const auto extent = static_cast<std::size_t>(size[k]);
      offset += i % extent * static_cast<std::size_t>(stride[k]);
      i /= extent;
    }
    return offset;
  }
  template <class Array>
  void use_in(Array& a) {
    a.data = memory.data() + first;
    std::copy(stride.begin(), stride.end(), a.stride);
  }
  // Whether the elements equal `values` and all other memory is unchanged.
  [[nodiscard]] bool holds(const std::vector<Real>& values) const {
    std::vector<Real> expected(memory.size(), mark);
    for (std::size_t i = 0; i < values.size(); ++i) expected[place(i)] = values[i];
    return same_bits(memory, expected);
  }
};

}  // namespace

TEMPLATE_TEST_CASE("heinsen/scan/c_api_strides", "[optimized][heinsen][c_api]", float, double) {
  using Real = TestType;
  CHECK(rc::check("strides change no bit", [] {
    const scan_sizes shape{*rc::gen::inRange<std::size_t>(1, 4), *rc::gen::inRange<std::size_t>(0, 40),
                           *rc::gen::inRange<std::size_t>(1, 40)};
    scan_problem<Real> p(shape, *rc::gen::arbitrary<bool>());
    c_call<Real> call(p);
    RC_ASSERT(call.forward() == ASSAY_SCAN_OK && call.backward() == ASSAY_SCAN_OK);

    const std::vector<std::int64_t> elements(call.in.h.size, call.in.h.size + 3), states{elements[0], elements[2]};
    spread_array<Real> decay(p.decay, elements), h(p.h, elements), s0(p.s0, states), grad_s(p.grad_s, elements),
        grad_s_n(p.grad_s_n, states);
    const std::vector<Real> blank(p.s.size(), Real(7)), blank_states(p.s0.size(), Real(7));
    spread_array<Real> s(blank, elements), grad_decay(blank, elements), grad_h(blank, elements);
    spread_array<Real> s_n(blank_states, states), s_n_low(blank_states, states), grad_s0(blank_states, states);
    c_call<Real> strided(p);
    decay.use_in(strided.in.decay), h.use_in(strided.in.h), s0.use_in(strided.in.s0);
    s.use_in(strided.out.s), s_n.use_in(strided.out.s_n), s_n_low.use_in(strided.out.s_n_low);
    s.use_in(strided.cotangents.s), grad_s.use_in(strided.cotangents.grad_s);
    grad_s_n.use_in(strided.cotangents.grad_s_n);
    grad_decay.use_in(strided.gradients.grad_decay), grad_h.use_in(strided.gradients.grad_h);
    grad_s0.use_in(strided.gradients.grad_s0);
    RC_ASSERT(strided.forward() == ASSAY_SCAN_OK);
    RC_ASSERT(strided.backward() == ASSAY_SCAN_OK);
    RC_ASSERT(s.holds(p.s) && s_n.holds(p.s_n) && s_n_low.holds(p.s_n_low));
    RC_ASSERT(grad_decay.holds(p.grad_decay) && grad_h.holds(p.grad_h) && grad_s0.holds(p.grad_s0));
    RC_ASSERT(decay.holds(p.decay) && h.holds(p.h) && grad_s.holds(p.grad_s));
  }));
}

// One gate for all sequences and one cotangent for all tokens: these arrays have strides of 0.
TEST_CASE("heinsen/scan/c_api_repeated_inputs", "[optimized][heinsen][c_api]") {
  scan_problem<float> p({3, 6, 4}, false);
  for (std::size_t i = 0; i < p.decay.size(); ++i) p.decay[i] = p.decay[i % 24], p.grad_s[i] = p.grad_s[i % 4];
  run_in_c(p);
  scan_problem<float> repeated = p;
  c_call<float> call(repeated);
  call.in.decay.stride[0] = 0;
  call.cotangents.grad_s.stride[0] = call.cotangents.grad_s.stride[1] = 0;
  REQUIRE(call.forward() == ASSAY_SCAN_OK);
  REQUIRE(call.backward() == ASSAY_SCAN_OK);
  CHECK(same_results(repeated, p));
}

}  // namespace assay::optimized::tests
