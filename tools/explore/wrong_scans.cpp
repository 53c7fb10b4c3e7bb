// Wrong algorithms: each loses digits, or all of them, on some inputs. A sweep shows on which.
#include <cmath>

#include "tools/explore/scan_skeletons.hpp"

namespace assay::explore {
namespace {

struct naive_exp {
  R s{0.0};
  explicit naive_exp(const storage_format&) {}
  R step(R a, R h) { return s = log(exp(a + s) + exp(h)); }
};

// One maximum for a whole block: X relative to it is a prefix sum of exponentials.
class block_maximum : public streaming_scan {
 public:
  explicit block_maximum(const storage_format&) {}
  void run(std::span<const double> a, std::span<const double> h, std::span<double> s) override {
    constexpr std::size_t chunk = 64;
    for (std::size_t first = 0; first < s.size(); first += chunk) {
      const std::size_t last = std::min(first + chunk, s.size());
      R sum(0.0), largest = state_;
      std::vector<R> sums, inputs;
      for (std::size_t i = first; i < last; ++i) {
        sums.push_back(sum = sum + R(a[i]));
        inputs.push_back(R(h[i]) - sum);
        largest = larger(largest, inputs.back());
      }
      R x = exp(state_ - largest);
      for (std::size_t i = first; i < last; ++i) {
        x = x + exp(inputs[i - first] - largest);
        s[i] = (state_ = log(x) + largest + sums[i - first]).number;
      }
    }
  }

 private:
  R state_{0.0};
};

// max + f(e^-|x - y|) with another f than log1p.
template <class F>
R with_softplus(R x, R y, F f) {
  const R m = larger(x, y);
  if (is_minus_infinity(x) || is_minus_infinity(y) || std::isinf(m.number)) return m;
  return m + f(R(std::fabs((x - y).number)));
}

struct plain_log {
  R s{0.0};
  explicit plain_log(const storage_format&) {}
  R step(R a, R h) {
    return s = with_softplus(a + s, h, [](R d) { return log(R(1.0) + exp(-d)); });
  }
};

struct threshold {
  R s{0.0};
  explicit threshold(const storage_format&) {}
  R step(R a, R h) {
    return s = with_softplus(a + s, h, [](R d) { return d.number > 4.0 ? R(0.0) : log1p(exp(-d)); });
  }
};

struct floored_log {
  R x{1.0};
  explicit floored_log(const storage_format&) {}
  R step(R a, R h) { return log((x = exp(a) * x + exp(h)) + R(1e-6)); }
};

struct one_sided {
  R s{0.0};
  explicit one_sided(const storage_format&) {}
  R step(R a, R h) {
    const R t = a + s;
    return s = t + log1p(exp(h - t));
  }
};

struct stale_shift {
  R shift{0.0}, x{1.0};
  std::size_t done = 0;
  explicit stale_shift(const storage_format&) {}
  R step(R a, R h) {
    if (done++ % 64 == 0) {
      const R s = log(x) + shift;
      if (std::isfinite(s.number)) shift = s, x = R(1.0);
    }
    x = exp(a) * x + exp(h - shift);
    return log(x) + shift;
  }
};

struct narrow_state {
  R s{0.0};
  explicit narrow_state(const storage_format&) {}
  R step(R a, R h) { return s = R(core::round_to(core::dtype::bf16, log_sum_exp(a + s, h).number)); }
};

struct clamped_decay {
  R s{0.0};
  explicit clamped_decay(const storage_format&) {}
  R step(R a, R h) { return s = log_sum_exp(larger(a, R(-4.0)) + s, h); }
};

// Doubling strides, but for those of 32 and more.
std::vector<element> by_cut_doubling(std::vector<element> x) {
  for (std::size_t stride = 1; stride <= 16; stride *= 2)
    for (std::size_t i = x.size(); i-- > stride;) x[i] = then(x[i - stride], x[i]);
  return x;
}

struct narrow_sum {
  R sum{0.0}, relative{0.0};
  explicit narrow_sum(const storage_format&) {}
  R step(R a, R h) {
    sum = R(core::round_to(core::dtype::f16, (sum + a).number));
    return (relative = log_sum_exp(relative, h - sum)) + sum;
  }
};

}  // namespace

std::vector<scan_algorithm> wrong_scans() {
  return {
      {"naive_exp", "log(exp(a + s) + exp(h))", start<stepping<naive_exp>>, true},
      {"block_maximum", "exponentials relative to the largest of 64 tokens", start<block_maximum>, true},
      {"plain_log", "log(1 + e) in place of log1p(e)", start<stepping<plain_log>>, true},
      {"threshold", "no log1p where the terms are more than 4 apart", start<stepping<threshold>>, true},
      {"floored_log", "log(X + 1e-6)", start<stepping<floored_log>>, true},
      {"one_sided", "t + log1p(exp(h - t)), t = a + s", start<stepping<one_sided>>, true},
      {"stale_shift", "X = e^s with a shift that follows every 64 tokens", start<stepping<stale_shift>>, true},
      {"narrow_state", "step by step, the state stored in bf16", start<stepping<narrow_state>>, true},
      {"clamped_decay", "step by step, log p no smaller than -4", start<stepping<clamped_decay>>, true},
      {"early_cut_off", "doubling strides up to 16 in every 256 tokens", start<chunked<256, by_cut_doubling>>, true},
      {"narrow_sum", "two prefix sums, that of log p stored in f16", start<stepping<narrow_sum>>, true}};
}

}  // namespace assay::explore
