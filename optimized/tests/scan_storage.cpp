// Scans of 16-bit arrays give the rounded results of scans of floats.
#include "optimized/tests/support.hpp"
#include "reference/core/result.hpp"

namespace assay::optimized::tests {
namespace {

using heinsen::scan_cotangents;
using heinsen::scan_gradients;
using heinsen::scan_inputs;
using heinsen::scan_outputs;

// Numbers in the storage type, and the same numbers as floats.
template <class Storage>
struct stored_numbers {
  std::vector<Storage> stored;
  std::vector<float> wide;
  stored_numbers(std::size_t count, double low, double high, generator& random) : stored(count), wide(count) {
    for (std::size_t i = 0; i < count; ++i) {
      stored[i] = {Storage::rounded(static_cast<float>(random.uniform(low, high)))};
      wide[i] = Storage::widened(stored[i].bits);
    }
  }
};

// A call in 16 bits, and the same call in floats.
template <class Storage>
struct stored_problem {
  std::array<std::size_t, 3> shape;
  bool gated;
  generator random;
  std::size_t size, states;
  stored_numbers<Storage> decay, h, grad_s;
  std::vector<float> s0, s0_low, grad_s_n;

  stored_problem(std::array<std::size_t, 3> sizes, bool with_gates)
      : shape(sizes),
        gated(with_gates),
        random(sizes[0] + 10 * sizes[1] + 1000 * sizes[2]),
        size(sizes[0] * sizes[1] * sizes[2]),
        states(sizes[0] * sizes[2]),
        decay(size, gated ? -3 : -2, gated ? 5 : 0, random),
        h(size, -3, 3, random),
        grad_s(size, -1, 1, random) {
    for (std::size_t k = 0; k < states; ++k) {
      s0.push_back(static_cast<float>(random.uniform(-3, 3)));
      s0_low.push_back(static_cast<float>(random.uniform(-1e-8, 1e-8)));
      grad_s_n.push_back(static_cast<float>(random.uniform(-1, 1)));
    }
  }

  struct results {
    std::vector<float> s, s_n, s_n_low, grad_decay, grad_h, grad_s0, grad_s0_low;
    bool operator==(const results&) const = default;
  };

  template <class Real>
  results run(const execution& on, const std::vector<Real>& a, const std::vector<Real>& b,
              const std::vector<Real>& g) const {
    std::vector<Real> s(size), grad_decay(size), grad_h(size);
    results r{{}, zeros(), zeros(), {}, {}, zeros(), zeros()};
    const std::array<std::size_t, 2> state{shape[0], shape[2]};
    const auto tokens = [&](const std::vector<Real>& x) { return dense<const Real, 3>(x.data(), shape); };
    const auto row = [&](auto& x) { return dense<std::remove_reference_t<decltype(x[0])>, 2>(x.data(), state); };
    const scan_inputs<Real> in{tokens(a), tokens(b), row(s0), row(s0_low)};
    const scan_outputs<Real> out{dense<Real, 3>(s.data(), shape), row(r.s_n), row(r.s_n_low)};
    gated ? heinsen::gated_scan(on, in, out) : heinsen::scan(on, in, out);
    const scan_cotangents<Real> after{{}, tokens(g), row(grad_s_n), {}};
    const scan_gradients<Real> back{dense<Real, 3>(grad_decay.data(), shape), dense<Real, 3>(grad_h.data(), shape),
                                    row(r.grad_s0), row(r.grad_s0_low)};
    gated ? heinsen::gated_scan_vjp(on, in, after, back) : heinsen::scan_vjp(on, in, after, back);
    r.s = as_stored(s), r.grad_decay = as_stored(grad_decay), r.grad_h = as_stored(grad_h);
    return r;
  }
  [[nodiscard]] results in_16_bits(const execution& on) const { return run(on, decay.stored, h.stored, grad_s.stored); }
  [[nodiscard]] results in_floats(const execution& on) const { return run(on, decay.wide, h.wide, grad_s.wide); }

 private:
  [[nodiscard]] std::vector<float> zeros() const { return std::vector<float>(states); }
  // Returns the numbers after rounding to 16 bits.
  static std::vector<float> as_stored(const std::vector<float>& x) {
    std::vector<float> y;
    for (const float v : x) y.push_back(Storage::widened(Storage::rounded(v)));
    return y;
  }
  static std::vector<float> as_stored(const std::vector<Storage>& x) {
    std::vector<float> y;
    for (const Storage v : x) y.push_back(Storage::widened(v.bits));
    return y;
  }
};

// Counts the elements that differ, and those that differ by more than one rounding in the other direction.
struct comparison {
  std::size_t different = 0, far = 0;
  void add(const std::vector<float>& x, const std::vector<float>& y, float ulp) {
    REQUIRE(x.size() == y.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      different += x[i] != y[i];
      far += !(std::fabs(x[i] - y[i]) <= ulp * std::max(0.25f, std::fabs(y[i])));
    }
  }
};

}  // namespace

// With more than 32 features, rows are walked one after the other, in blocks of any size. With fewer features, rows are
// walked in chunks that depend on the length of a call. Floats then differ in their last bits, and some of them are
// rounded in the other direction.
TEMPLATE_TEST_CASE("heinsen/scan/optimized_storage_is_that_of_floats_rounded", "[optimized][heinsen]", bfloat16,
                   float16) {
  constexpr float ulp = std::is_same_v<TestType, float16> ? 0x1p-10f : 0x1p-7f;
  on_every_target([] {
    const execution on{&active_kernels(), 1};
    for (const bool gated : {false, true})
      for (const std::array<std::size_t, 3> shape : {std::array<std::size_t, 3>{1, 1, 40},
                                                     {3, 2100, 40},
                                                     {2, 150, 700},
                                                     {70, 33, 45},
                                                     {2, 0, 50},
                                                     {1, 70000, 1},
                                                     {2, 20000, 3},
                                                     {65, 1, 8}}) {
        CAPTURE(gated, shape[0], shape[1], shape[2]);
        const stored_problem<TestType> p(shape, gated);
        const auto narrow = p.in_16_bits(on), wide = p.in_floats(on);
        if (shape[2] > 32) {
          CHECK(narrow == wide);
          continue;
        }
        comparison c;
        c.add(narrow.s, wide.s, ulp), c.add(narrow.grad_decay, wide.grad_decay, ulp);
        c.add(narrow.grad_h, wide.grad_h, ulp);
        CHECK(c.different <= 3 * p.size / 1000);
        CHECK(c.far == 0);
        comparison states;
        states.add(narrow.s_n, wide.s_n, 0x1p-21f), states.add(narrow.grad_s0, wide.grad_s0, 0x1p-21f);
        CHECK(states.far == 0);
      }
  });
}

TEMPLATE_TEST_CASE("heinsen/scan/optimized_storage_and_threads", "[optimized][heinsen]", bfloat16, float16) {
  on_every_target([] {
    for (const std::array<std::size_t, 3> shape :
         {std::array<std::size_t, 3>{1, 3000, 300}, {9, 500, 100}, {1, 90000, 2}}) {
      const stored_problem<TestType> p(shape, true);
      const auto expected = p.in_16_bits({&active_kernels(), 1});
      std::vector<std::byte> workspace(std::size_t{1} << 22);
      CHECK(p.in_16_bits({&active_kernels(), 1, workspace}) == expected);
      for (const int threads : {2, 3}) CHECK(p.in_16_bits({&active_kernels(), threads}) == expected);
    }
  });
}

// Rounded states do not determine the weights of an adjoint.
TEST_CASE("heinsen/scan/optimized_storage_takes_no_saved_states", "[unit][optimized][heinsen]") {
  std::vector<bfloat16> x(4), y(4);
  std::vector<float> state(2);
  const std::array<std::size_t, 3> shape{1, 2, 2};
  const auto tokens = dense<const bfloat16, 3>(x.data(), shape);
  const auto to = dense<bfloat16, 3>(y.data(), shape);
  const execution on{&active_kernels(), 1};
  CHECK_THROWS_AS(heinsen::scan_vjp<bfloat16>(on, {tokens, tokens}, {tokens, tokens},
                                              {to, to, dense<float, 2>(state.data(), {1, 2})}),
                  core::contract_violation);
}

}  // namespace assay::optimized::tests
