// Algorithms for the log-linear recurrence s_i = LSE(a_i + s_{i-1}, h_i), a_i = log p_i
// (Heinsen 2024, eq. (3)), each written once for every reading.
//
// All take one lane: a[n], h[n], s0, and write s[n]. Special values as the primitives define them:
// a_i = -inf cuts the past, h_i = -inf adds nothing, (0, -inf) is neutral. n = 0 writes nothing.
#pragma once

#include <algorithm>
#include <bit>
#include <optional>
#include <vector>

#include "reference/readings/reading.hpp"

namespace assay::reference {

/// The recurrence as written: one step after another. Error bound: the contraction forgets, E <- w E + own rounding.
template <class R>
void sequential_scan(const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
  R state = s0;
  for (std::size_t i = 0; i < s.size(); ++i) s[i] = state = log_sum_exp(a[i] + state, h[i]);
}

/// The map s -> LSE(decay + s, input). Composition is associative and not commutative; its identity is
/// (0, -inf). The earlier element stands on the left (Blelloch 1990).
template <class R>
struct affine_step {
  R decay, input;
  friend affine_step then(const affine_step& first, const affine_step& second) {
    return {first.decay + second.decay, log_sum_exp(first.input + second.decay, second.input)};
  }
};

/// s0 enters as an element before the first: the prefix products then hold the states themselves.
template <class R>
std::vector<affine_step<R>> elements_with_state(const_lane<R> a, const_lane<R> h, const R& s0) {
  std::vector<affine_step<R>> elements;
  elements.reserve(a.size() + 1);
  elements.push_back({R(0.0), s0});
  for (std::size_t i = 0; i < a.size(); ++i) elements.push_back({a[i], h[i]});
  return elements;
}

/// Inclusive prefix products by recursive halving: pairs, their prefixes, then the odd ones out.
/// Works on any associative `then`, in its order: 2m combines, depth 2 log2 m.
template <class Element>
std::vector<Element> balanced_prefixes(const std::vector<Element>& x) {
  if (x.size() < 2) return x;
  std::vector<Element> pairs;
  pairs.reserve(x.size() / 2);
  for (std::size_t i = 0; i + 1 < x.size(); i += 2) pairs.push_back(then(x[i], x[i + 1]));
  const std::vector<Element> prefixes_of_pairs = balanced_prefixes(pairs);
  std::vector<Element> prefixes;
  prefixes.reserve(x.size());
  prefixes.push_back(x[0]);
  for (std::size_t i = 1; i < x.size(); ++i)
    prefixes.push_back(i % 2 == 1 ? prefixes_of_pairs[i / 2] : then(prefixes_of_pairs[i / 2 - 1], x[i]));
  return prefixes;
}

/// Inclusive prefix products by doubling strides (Hillis and Steele 1986): m log2 m combines.
template <class Element>
std::vector<Element> doubling_prefixes(std::vector<Element> x) {
  for (std::size_t stride = 1; stride < x.size(); stride *= 2) {
    // Goes from the right, so that the elements on the left are still those of the round before.
    for (std::size_t i = x.size(); i-- > stride;) x[i] = then(x[i - stride], x[i]);
  }
  return x;
}

/// Inclusive prefix products by an up-sweep, which forms the products of aligned blocks, and a down-sweep, which gives
/// every block the product of all elements before it (Blelloch 1990): at most 3m combines, depth 2 log2 m.
template <class Element>
std::vector<Element> blelloch_prefixes(const std::vector<Element>& x) {
  using node = std::optional<Element>;  // an empty node is the identity
  const auto join = [](const node& l, const node& r) { return !l ? r : !r ? l : node(then(*l, *r)); };
  std::vector<node> tree(x.begin(), x.end());
  tree.resize(std::bit_ceil(x.size()));
  const std::size_t m = tree.size();
  for (std::size_t stride = 1; stride < m; stride *= 2)
    for (std::size_t i = 2 * stride - 1; i < m; i += 2 * stride) tree[i] = join(tree[i - stride], tree[i]);
  tree[m - 1].reset();
  for (std::size_t stride = m / 2; stride > 0; stride /= 2)
    for (std::size_t i = 2 * stride - 1; i < m; i += 2 * stride) {
      const node before = tree[i];
      tree[i] = join(before, tree[i - stride]);
      tree[i - stride] = before;
    }
  std::vector<Element> prefixes;
  for (std::size_t i = 0; i < x.size(); ++i) prefixes.push_back(*join(tree[i], x[i]));
  return prefixes;
}

/// Inclusive prefix products in any bracketing: split(m), between 1 and m - 1, says where m > 1 elements are divided.
/// The products of the right half are joined to the whole of the left one (Ladner and Fischer 1980).
template <class Element, class Split>
std::vector<Element> bracketed_prefixes(const std::vector<Element>& x, Split& split) {
  if (x.size() < 2) return x;
  const auto middle = x.begin() + static_cast<std::ptrdiff_t>(split(x.size()));
  std::vector<Element> prefixes = bracketed_prefixes(std::vector<Element>(x.begin(), middle), split);
  const Element left = prefixes.back();
  for (const Element& e : bracketed_prefixes(std::vector<Element>(middle, x.end()), split))
    prefixes.push_back(then(left, e));
  return prefixes;
}

/// Inclusive prefix products chunk by chunk: the first element, then a balanced tree over the prefix so far
/// and the next `chunk` elements. Precondition: chunk > 0.
template <class Element>
std::vector<Element> chunked_prefixes(const std::vector<Element>& x, std::size_t chunk) {
  if (x.empty()) return x;
  std::vector<Element> prefixes;
  prefixes.reserve(x.size());
  prefixes.push_back(x[0]);
  while (prefixes.size() < x.size()) {
    std::vector<Element> elements;
    elements.reserve(std::min(chunk, x.size() - prefixes.size()) + 1);
    elements.push_back(prefixes.back());
    for (std::size_t i = prefixes.size(); i < x.size() && elements.size() <= chunk; ++i) elements.push_back(x[i]);
    const auto prefixes_of_chunk = balanced_prefixes(elements);
    prefixes.insert(prefixes.end(), prefixes_of_chunk.begin() + 1, prefixes_of_chunk.end());
  }
  return prefixes;
}

template <class R>
void balanced_tree_scan(const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
  const auto prefixes = balanced_prefixes(elements_with_state(a, h, s0));
  for (std::size_t i = 0; i < s.size(); ++i) s[i] = prefixes[i + 1].input;
}

template <class R>
void doubling_tree_scan(const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
  const auto prefixes = doubling_prefixes(elements_with_state(a, h, s0));
  for (std::size_t i = 0; i < s.size(); ++i) s[i] = prefixes[i + 1].input;
}

/// A balanced tree in each chunk of `Chunk` tokens; the last state is carried to the next chunk.
template <std::size_t Chunk, class R>
void chunked_tree_scan(const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
  const auto prefixes = chunked_prefixes(elements_with_state(a, h, s0), Chunk);
  for (std::size_t i = 0; i < s.size(); ++i) s[i] = prefixes[i + 1].input;
}

/// The linear domain X_i = p_i X_{i-1} + e^{h_i} with a running shift (Heinsen 2024, eq. (1), rescaled).
template <class R>
void linear_scan(const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
  rescaled_sum<R> sum(s0);
  for (std::size_t i = 0; i < s.size(); ++i) {
    sum.step(a[i], h[i]);
    s[i] = sum.log_value();
  }
}

/// Two prefix sums, as published (Heinsen 2023), token by token: A = cumsum(a), s = A + logcumsumexp([s0, h - A]).
/// Exact in real arithmetic; in floating point it loses digits like |A|. No answer at a = -inf (NaN).
template <class R>
class prefix_sums {
 public:
  explicit prefix_sums(const R& s0) : relative_(s0) {}
  /// The next state.
  R step(const R& a, const R& h) {
    sum_.add(a);
    relative_ = log_sum_exp(sum_.carry(relative_), sum_.enter(h));
    return sum_.leave(relative_);
  }

 private:
  inclusive_sum<R> sum_;
  R relative_;
};

template <class R>
void cumsum_scan(const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
  prefix_sums<R> sums(s0);
  for (std::size_t i = 0; i < s.size(); ++i) s[i] = sums.step(a[i], h[i]);
}

}  // namespace assay::reference
