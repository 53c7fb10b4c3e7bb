#include "tools/explore/heinsen/scans.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "reference/algorithms/scans.hpp"
#include "reference/readings/rounded.hpp"

namespace assay::explore {
namespace {

using R = reference::rounded;
using element = reference::affine_step<R>;

// An algorithm that needs only the last state: State::step(a, h) gives the next state.
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

// Prefixes within a chunk; the last state of a chunk is carried on.
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
template <class Scan>
std::unique_ptr<streaming_scan> start(const storage_format& stored) {
  return std::make_unique<Scan>(stored);
}

struct sequential {
  R s{0.0};
  explicit sequential(const storage_format&) {}
  R step(R a, R h) { return s = log_sum_exp(a + s, h); }
};

// Holds the aligned blocks that make up the prefix, the largest first, each with the prefix up to its end. Prefix m of
// balanced_prefixes joins the prefix before the last aligned block to that block, too, so the bits are the same.
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
    // e^h may lie outside the format, so it is e^(h - k ln 2) 2^k with k = round(h / ln 2).
    const double k = std::isfinite(h.number) ? std::nearbyint(h.number / std::log(2.0)) : 0.0;
    const R e = exp(std::isfinite(h.number) ? R(h.number - k * std::log(2.0)) : h);
    const int input_exponent = static_cast<int>(k),
              top = e.number == 0.0 ? exponent : std::max(exponent, input_exponent);
    const R x = p * R(std::ldexp(mantissa, exponent - top)) + R(std::ldexp(e.number, input_exponent - top));
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

// The sums are kept in the working format, as in accumulators; A, h - A and the log-sum-exp are stored.
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
      {"chunked_cumsum", "two prefix sums in every 64 tokens", start<stepping<chunked_cumsum>>}};
  return all;
}

const scan_algorithm* find_scan(std::string_view name) {
  for (const scan_algorithm& a : scan_algorithms())
    if (a.name == name) return &a;
  return nullptr;
}

}  // namespace assay::explore
