#include "tools/explore/scans.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "reference/algorithms/scans.hpp"
#include "reference/readings/rounded.hpp"

namespace assay::explore {
namespace {

using R = reference::rounded;
using element = reference::affine_step<R>;

// An algorithm that needs nothing but the last state: State::step(a, h) gives the next one.
template <class State>
class stepping : public streaming_scan {
 public:
  explicit stepping(const storage_format& stored) : state_(stored) {}
  void run(std::span<const double> a, std::span<const double> h, std::span<double> s) override {
    for (std::size_t i = 0; i < s.size(); ++i) s[i] = state_.step(R(a[i]), R(h[i])).number;
  }

 private:
  State state_;
};

struct sequential {
  R s{0.0};
  explicit sequential(const storage_format&) {}
  R step(R a, R h) { return s = log_sum_exp(a + s, h); }
};

// The aligned blocks that make up the prefix, the largest first, each with the prefix up to its end. Prefix m of
// balanced_prefixes is the prefix before the last aligned block, joined to that block: the same bits.
class balanced_tree {
 public:
  explicit balanced_tree(const storage_format&) { push({R(0.0), R(0.0)}); }
  R step(R a, R h) { return push({a, h}).input; }

 private:
  struct block {
    element product, prefix;
    std::size_t size;
  };
  element push(element x) {
    std::size_t size = 1;
    for (; !blocks_.empty() && blocks_.back().size == size; size *= 2) {
      x = then(blocks_.back().product, x);
      blocks_.pop_back();
    }
    const element prefix = blocks_.empty() ? x : then(blocks_.back().prefix, x);
    blocks_.push_back({x, prefix, size});
    return prefix;
  }
  std::vector<block> blocks_;
};

// Prefixes within a chunk, the last state of which is carried on.
template <std::size_t Chunk, std::vector<element> (*Prefixes)(std::vector<element>)>
class chunked : public streaming_scan {
 public:
  explicit chunked(const storage_format&) {}
  void run(std::span<const double> a, std::span<const double> h, std::span<double> s) override {
    for (std::size_t first = 0; first < s.size(); first += Chunk) {
      const std::size_t last = std::min(first + Chunk, s.size());
      std::vector<element> elements{{R(0.0), state_}};
      for (std::size_t i = first; i < last; ++i) elements.push_back({R(a[i]), R(h[i])});
      const std::vector<element> prefixes = Prefixes(std::move(elements));
      for (std::size_t i = first; i < last; ++i) s[i] = prefixes[i - first + 1].input.number;
      state_ = prefixes.back().input;
    }
  }

 private:
  R state_{0.0};
};
std::vector<element> by_balanced_tree(std::vector<element> x) { return reference::balanced_prefixes(x); }
std::vector<element> by_doubling(std::vector<element> x) { return reference::doubling_prefixes(std::move(x)); }

struct linear {
  reference::rescaled_sum<R> sum{R(0.0)};
  explicit linear(const storage_format&) {}
  R step(R a, R h) {
    sum.step(a, h);
    return sum.log_value();
  }
};

// X = mantissa 2^exponent: the scaling is exact.
struct scaled_linear {
  double mantissa = 0.5;
  int exponent = 1;
  explicit scaled_linear(const storage_format&) {}
  R step(R a, R h) {
    const R p = exp(a);
    // e^h may lie outside the format: e^(h - k ln 2) 2^k, k = h / ln 2.
    const double k = std::isfinite(h.number) ? std::nearbyint(h.number / std::log(2.0)) : 0.0;
    const R e = exp(std::isfinite(h.number) ? R(h.number - k * std::log(2.0)) : h);
    const int of_input = static_cast<int>(k), top = e.number == 0.0 ? exponent : std::max(exponent, of_input);
    const R x = p * R(std::ldexp(mantissa, exponent - top)) + R(std::ldexp(e.number, of_input - top));
    int moved = 0;
    mantissa = std::frexp(x.number, &moved);
    exponent = top + moved;
    return log(R(mantissa)) + R(static_cast<double>(exponent)) * R(std::log(2.0));
  }
};

struct bare_linear {
  R x{1.0};
  explicit bare_linear(const storage_format&) {}
  R step(R a, R h) { return log(x = exp(a) * x + exp(h)); }
};

// The sums are kept in the working format, as accumulators are; A, h - A and the log-sum-exp are stored.
class cumsum {
 public:
  explicit cumsum(const storage_format& stored) : stored_(&stored) {}
  R step(R a, R h) {
    sum_ = sum_ + a;
    const R kept(store(sum_)), entered(store(R(h - kept)));
    relative_ = log_sum_exp(relative_, entered);
    return R(store(relative_)) + kept;
  }

 private:
  [[nodiscard]] double store(R x) const { return stored_->round(x.number); }
  const storage_format* stored_;
  R sum_{0.0}, relative_{0.0};
};

struct chunked_cumsum {
  static constexpr std::size_t chunk = 64;
  std::optional<reference::prefix_sums<R>> sums;
  R state{0.0};
  std::size_t done = 0;
  explicit chunked_cumsum(const storage_format&) {}
  R step(R a, R h) {
    if (done++ % chunk == 0) sums.emplace(state);
    return state = sums->step(a, h);
  }
};

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

template <class Scan>
std::unique_ptr<streaming_scan> start(const storage_format& stored) {
  return std::make_unique<Scan>(stored);
}

}  // namespace

const std::vector<scan_algorithm>& scan_algorithms() {
  static const std::vector<scan_algorithm> all{
      {"sequential", "step by step", start<stepping<sequential>>},
      {"balanced_tree", "a balanced tree over all tokens", start<stepping<balanced_tree>>},
      {"chunked_tree", "a balanced tree in every 64 tokens", start<chunked<64, by_balanced_tree>>},
      {"chunked_doubling", "doubling strides in every 256 tokens", start<chunked<256, by_doubling>>},
      {"linear", "X = e^s with a running shift", start<stepping<linear>>},
      {"scaled_linear", "X = e^s as mantissa and exponent", start<stepping<scaled_linear>>},
      {"bare_linear", "X = e^s without a shift", start<stepping<bare_linear>>},
      {"cumsum", "two prefix sums", start<stepping<cumsum>>},
      {"chunked_cumsum", "two prefix sums in every 64 tokens", start<stepping<chunked_cumsum>>},
      {"naive_exp", "log(exp(a + s) + exp(h))", start<stepping<naive_exp>>, true},
      {"block_maximum", "exponentials relative to the largest of 64 tokens", start<block_maximum>, true},
      {"plain_log", "log(1 + e) in place of log1p(e)", start<stepping<plain_log>>, true},
      {"threshold", "no log1p where the terms are more than 4 apart", start<stepping<threshold>>, true},
      {"floored_log", "log(X + 1e-6)", start<stepping<floored_log>>, true},
      {"one_sided", "t + log1p(exp(h - t)), t = a + s", start<stepping<one_sided>>, true},
      {"stale_shift", "X = e^s with a shift that follows every 64 tokens", start<stepping<stale_shift>>, true},
      {"narrow_state", "step by step, the state stored in bf16", start<stepping<narrow_state>>, true},
      {"clamped_decay", "step by step, log p no smaller than -4", start<stepping<clamped_decay>>, true}};
  return all;
}

const scan_algorithm* find_scan(std::string_view name) {
  for (const scan_algorithm& a : scan_algorithms())
    if (a.name == name) return &a;
  return nullptr;
}

}  // namespace assay::explore
