// Tests that threads, instruction sets, the width of a row, strides and other lanes change no bit.
#include <algorithm>

#include "optimized/tests/support.hpp"

namespace assay::optimized::tests {

TEMPLATE_TEST_CASE("heinsen/scan/optimized_threads_agree", "[optimized][heinsen]", float, double) {
  // There are many groups of features and many blocks of rows; the last group and the last block are shorter.
  for (const scan_sizes& sizes : {scan_sizes{3, 9, 2500}, scan_sizes{1, 300, 650}})
    for (const bool gated : {false, true}) {
      on_every_target([&] {
        scan_problem<TestType> expected(sizes, gated);
        set_threads(1);
        expected.run();
        for (const int count : {1, 2, 3, 7}) {
          set_threads(count);
          REQUIRE(threads() == count);
          scan_problem<TestType> p(sizes, gated);
          p.run();
          CHECK(same_results(p, expected));
        }
      });
      set_threads(0);
    }
}

// Features 0 .. width-1 of a narrow problem equal those of the wide problem.
TEMPLATE_TEST_CASE("heinsen/scan/optimized_widths", "[optimized][heinsen]", float, double) {
  on_every_target([] {
    for (const bool gated : {false, true}) {
      scan_problem<TestType> wide({1, 6, 70}, gated);
      wide.run();
      for (std::size_t width = 1; width <= 70; ++width) {
        scan_problem<TestType> p({1, 6, width}, gated);
        for (std::size_t i = 0; i < 6; ++i)
          for (std::size_t j = 0; j < width; ++j) {
            p.decay[p.index(0, i, j)] = wide.decay[wide.index(0, i, j)];
            p.h[p.index(0, i, j)] = wide.h[wide.index(0, i, j)];
            p.grad_s[p.index(0, i, j)] = wide.grad_s[wide.index(0, i, j)];
            p.s0[j] = wide.s0[j], p.grad_s_n[j] = wide.grad_s_n[j];
          }
        p.run();
        bool equal = true;
        for (std::size_t j = 0; j < width; ++j) {
          equal = equal && p.s_n[j] == wide.s_n[j] && p.grad_s0[j] == wide.grad_s0[j];
          for (std::size_t i = 0; i < 6; ++i) {
            const std::size_t a = p.index(0, i, j), b = wide.index(0, i, j);
            equal =
                equal && p.s[a] == wide.s[b] && p.grad_decay[a] == wide.grad_decay[b] && p.grad_h[a] == wide.grad_h[b];
          }
        }
        CAPTURE(width, gated);
        CHECK(equal);
      }
    }
  });
}

// All memory around a row of `width` features in rows of `stride` keeps its value, and strides change no bit.
TEMPLATE_TEST_CASE("heinsen/scan/optimized_strides_and_guard_bands", "[optimized][heinsen]", float, double) {
  constexpr std::size_t batch = 2, tokens = 3, guard = 64;
  const TestType mark = TestType(-12345);
  on_every_target([&] {
    for (std::size_t width = 1; width <= 70; ++width) {
      const std::size_t input_stride = width + 5, state_stride = width + 9;
      scan_problem<TestType> dense_scan({batch, tokens, width}, false);
      dense_scan.run();
      const auto spread = [&](const std::vector<TestType>& from, std::size_t stride) {
        std::vector<TestType> to(guard + batch * tokens * stride + guard, mark);
        for (std::size_t row = 0; row < batch * tokens; ++row)
          std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(row * width), width,
                      to.begin() + static_cast<std::ptrdiff_t>(guard + row * stride));
        return to;
      };
      const auto inside = [&](auto& array, std::size_t stride) {
        auto v = dense<std::remove_reference_t<decltype(array[0])>, 3>(array.data() + guard, {batch, tokens, stride});
        v.shape[2] = width;
        return v;
      };
      const auto state = [&](auto& array, std::size_t skipped) {
        return dense<std::remove_reference_t<decltype(array[0])>, 2>(array.data() + skipped, {batch, width});
      };
      const auto decay = spread(dense_scan.decay, input_stride), h = spread(dense_scan.h, input_stride);
      const auto grad_s = spread(dense_scan.grad_s, state_stride);
      const std::vector<TestType> blank(dense_scan.s.size(), TestType(1));
      auto s = spread(blank, state_stride), grad_decay = spread(blank, input_stride), grad_h = grad_decay;
      std::vector<TestType> s_n(guard + batch * width + guard, mark), grad_s0 = s_n;

      const heinsen::scan_inputs<TestType> in{inside(decay, input_stride), inside(h, input_stride),
                                              state(dense_scan.s0, 0)};
      heinsen::scan<TestType>(process_execution(), in, {inside(s, state_stride), state(s_n, guard)});
      heinsen::scan_vjp<TestType>(
          process_execution(), in,
          {inside(s, state_stride), inside(grad_s, state_stride), state(dense_scan.grad_s_n, 0)},
          {inside(grad_decay, input_stride), inside(grad_h, input_stride), state(grad_s0, guard)});
      CAPTURE(width);
      CHECK(same_bits(s, spread(dense_scan.s, state_stride)));
      CHECK(same_bits(grad_decay, spread(dense_scan.grad_decay, input_stride)));
      CHECK(same_bits(grad_h, spread(dense_scan.grad_h, input_stride)));
      const auto framed = [&](const std::vector<TestType>& from) {
        std::vector<TestType> to(guard + from.size() + guard, mark);
        std::copy(from.begin(), from.end(), to.begin() + guard);
        return to;
      };
      CHECK(same_bits(s_n, framed(dense_scan.s_n)));
      CHECK(same_bits(grad_s0, framed(dense_scan.grad_s0)));
    }
  });
}

// A NaN reaches every later state of its lane and every gradient of its lane, and nothing else.
TEMPLATE_TEST_CASE("heinsen/scan/optimized_lane_independence", "[optimized][heinsen]", float, double) {
  constexpr std::size_t tokens = 5, width = 21;
  on_every_target([&] {
    for (const bool gated : {false, true}) {
      scan_problem<TestType> clean({1, tokens, width}, gated);
      clean.run();
      for (std::size_t lane = 0; lane < width; ++lane) {
        scan_problem<TestType> p({1, tokens, width}, gated);
        (lane % 2 == 0 ? p.decay : p.h)[p.index(0, 2, lane)] = nan<TestType>;
        p.run();
        bool as_expected = true;
        for (std::size_t i = 0; i < tokens; ++i)
          for (std::size_t j = 0; j < width; ++j) {
            const std::size_t index = p.index(0, i, j);
            as_expected = as_expected && (j == lane && i >= 2 ? std::isnan(p.s[index]) : p.s[index] == clean.s[index]);
            if (j == lane)
              as_expected = as_expected && std::isnan(p.grad_decay[index]);
            else
              as_expected = as_expected && p.grad_decay[index] == clean.grad_decay[index] &&
                            p.grad_h[index] == clean.grad_h[index];
          }
        CAPTURE(lane, gated);
        CHECK(as_expected);
      }
    }
  });
}

}  // namespace assay::optimized::tests
