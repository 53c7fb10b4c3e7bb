// The skeletons of the tree scans on free monoids, where any wrong order, gap or overlap shows, and all algorithms
// compared with one another at 100 digits.
#include <catch2/catch.hpp>
#include <functional>
#include <utility>

#include "reference/readings/tangent.hpp"
#include "reference/tests/lane_calculus.hpp"

using namespace assay;
using namespace assay::reference;
using namespace assay::reference::testing;

namespace {

template <class Element>
struct skeleton {
  std::string name;
  std::function<std::vector<Element>(const std::vector<Element>&)> prefixes;
  bool balanced = true;  ///< at most m log2 m combines, else m (m - 1) / 2
};

// Every way to compute inclusive prefix products. A new way needs one line here.
template <class Element>
std::vector<skeleton<Element>> skeletons() {
  using elements = std::vector<Element>;
  std::vector<skeleton<Element>> all{
      {"balanced (odd-even)", [](const elements& x) { return balanced_prefixes(x); }},
      {"doubling (Hillis-Steele)", [](const elements& x) { return doubling_prefixes(x); }},
      {"two sweeps (Blelloch)", [](const elements& x) { return blelloch_prefixes(x); }},
  };
  for (const std::uint64_t seed : {1u, 2u, 3u, 4u})
    all.push_back({"random bracketing " + std::to_string(seed),
                   [seed](const elements& x) {
                     core::counter_random random(seed);
                     const auto split = [&](std::size_t m) { return 1 + random.below(m - 1); };
                     return bracketed_prefixes(x, split);
                   },
                   false});
  for (const std::size_t chunk : {1u, 2u, 3u, 16u, 64u, 2000u})
    all.push_back(
        {"chunks of " + std::to_string(chunk), [chunk](const elements& x) { return chunked_prefixes(x, chunk); }});
  return all;
}

// 0 to 70, and the powers of two with their neighbours up to 1025.
std::vector<std::size_t> lengths() {
  std::vector<std::size_t> all;
  for (std::size_t n = 0; n <= 70; ++n) all.push_back(n);
  for (std::size_t power = 128; power <= 1024; power *= 2) all.insert(all.end(), {power - 1, power, power + 1});
  return all;
}

struct word {
  std::string letters;
  friend word then(const word& first, const word& second) { return {first.letters + second.letters}; }
};

// The product of elements first to last of an input of `size` elements. The trap springs if operands do not meet or lie
// outside the input, and it counts how often it was combined.
struct trap {
  std::size_t first, last, size;
  inline static std::size_t calls = 0, sprung = 0;
  friend trap then(const trap& x, const trap& y) {
    ++calls;
    const bool inside = x.first <= x.last && y.first <= y.last && y.last < y.size && x.size == y.size;
    if (!inside || x.last + 1 != y.first) ++sprung;
    return {x.first, y.last, x.size};
  }
};

}  // namespace

TEST_CASE("heinsen/skeletons/concatenate_words_in_order", "[property]") {
  for (const skeleton<word>& s : skeletons<word>())
    for (const std::size_t n : lengths()) {
      INFO(s.name << " n " << n);
      std::vector<word> letters;
      std::string all;
      for (std::size_t i = 0; i < n; ++i) {
        letters.push_back({std::string(1 + i % 2, static_cast<char>('!' + i % 89))});
        all += letters.back().letters;
      }
      const auto prefixes = s.prefixes(letters);
      REQUIRE(prefixes.size() == n);
      std::size_t length = 0;
      for (std::size_t i = 0; i < n; ++i) {
        length += letters[i].letters.size();
        REQUIRE(prefixes[i].letters == all.substr(0, length));
      }
    }
}

TEST_CASE("heinsen/skeletons/combine_adjacent_elements_of_the_input_only", "[property]") {
  for (const skeleton<trap>& s : skeletons<trap>())
    for (const std::size_t n : lengths()) {
      INFO(s.name << " n " << n);
      std::vector<trap> elements;
      for (std::size_t i = 0; i < n; ++i) elements.push_back({i, i, n});
      trap::calls = trap::sprung = 0;
      const auto prefixes = s.prefixes(elements);
      CHECK(trap::sprung == 0);
      REQUIRE(prefixes.size() == n);
      for (std::size_t i = 0; i < n; ++i) REQUIRE((prefixes[i].first == 0 && prefixes[i].last == i));
      // Every prefix but the first needs a combination; a balanced tree needs no more than log2 m for each.
      const double m = static_cast<double>(n);
      CHECK(trap::calls >= (n == 0 ? 0 : n - 1));
      CHECK(static_cast<double>(trap::calls) <= (s.balanced ? m * std::ceil(std::log2(m + 1)) : m * (m - 1) / 2));
      if (n < 2) CHECK(trap::calls == 0);
    }
}

TEST_CASE("heinsen/skeletons/the_trap_springs", "[unit]") {
  trap::sprung = 0;
  then(trap{0, 0, 3}, trap{2, 2, 3});  // a gap
  then(trap{1, 1, 3}, trap{0, 0, 3});  // swapped
  then(trap{2, 2, 3}, trap{3, 3, 3});  // beyond the input
  CHECK(trap::sprung == 3);
}

TEST_CASE("heinsen/scan/all_algorithms_agree", "[property][heinsen]") {
  const auto shapes = skeletons<affine_step<value>>();
  for (const filling f : fillings)
    for (const std::size_t n : lengths()) {
      // All lengths once with finite and once with infinite fillings; some short lengths with the other fillings.
      const bool all_lengths = f == filling::slow_decay || f == filling::infinite_inside;
      if (!all_lengths && (n > 70 || n % 4 != 0)) continue;
      const value_lane x = make_lane(f, n, 9);
      INFO(x.name);
      const auto expected = states_of(x);
      std::vector<value> s(n);
      for (const auto& shape : shapes) {
        INFO(shape.name);
        const auto prefixes = shape.prefixes(elements_with_state(read(x.a), read(x.h), x.s0));
        for (std::size_t i = 0; i < n; ++i) s[i] = prefixes[i + 1].input;
        CHECK(deviation(s, expected) < 1e-90);
      }
      linear_scan<value>(read(x.a), read(x.h), x.s0, write(s));
      CHECK(deviation(s, expected) < 1e-90);
      if (!is_finite(f)) continue;
      cumsum_scan<value>(read(x.a), read(x.h), x.s0, write(s));
      CHECK(deviation(s, expected) < 1e-90);
    }
}

TEST_CASE("heinsen/scan/every_chunk_size", "[property][heinsen]") {
  for (const filling f : fillings)
    for (const std::size_t n : {1u, 8u, 17u, 33u}) {
      const value_lane x = make_lane(f, n, 10);
      const auto expected = states_of(x);
      for (std::size_t chunk = 1; chunk <= n; ++chunk) {
        INFO(x.name << " chunk " << chunk);
        const auto prefixes = chunked_prefixes(elements_with_state(read(x.a), read(x.h), x.s0), chunk);
        std::vector<value> s;
        for (std::size_t i = 0; i < n; ++i) s.push_back(prefixes[i + 1].input);
        CHECK(deviation(s, expected) < 1e-90);
      }
    }
}

TEST_CASE("heinsen/scan/two_ways_to_inject_the_state", "[property][heinsen]") {
  // The state enters as an element before the first, or by the action of the product at the end: s_i = LSE(A_i + s_0,
  // B_i).
  for (const auto& shape : skeletons<affine_step<value>>())
    for (const filling f : fillings)
      for (const std::size_t n : {0u, 1u, 2u, 21u}) {
        const value_lane x = make_lane(f, n, 11);
        INFO(shape.name << " " << x.name);
        std::vector<affine_step<value>> tokens;
        for (std::size_t i = 0; i < n; ++i) tokens.push_back({x.a[i], x.h[i]});
        const auto products = shape.prefixes(tokens);
        const auto states = shape.prefixes(elements_with_state(read(x.a), read(x.h), x.s0));
        for (std::size_t i = 0; i < n; ++i) {
          const value acted = log_sum_exp(products[i].decay + x.s0, products[i].input);
          CHECK(deviation(acted, states[i + 1].input) < 1e-95);
        }
      }
}

TEST_CASE("heinsen/scan/tree_shape_does_not_change_the_gradient", "[property][heinsen]") {
  // Dual numbers through every skeleton, and through the trees of duals and of the recurrence of ds.
  for (const auto& shape : skeletons<affine_step<tangent>>())
    for (const filling f : fillings)
      for (const std::size_t n : {1u, 2u, 13u, 40u}) {
        const value_lane x = make_lane(f, n, 12);
        INFO(shape.name << " " << x.name);
        core::counter_random random(n + 600);
        const value_vector v = random_vector(n, random);
        const auto s = states_of(x);
        std::vector<value> ds(n);
        scan_tangent<sigmoid_form, value>(read(x.a), read(x.h), x.s0, read(s), v.as_direction(), write(ds));
        std::vector<affine_step<tangent>> elements{{tangent(0.0), tangent(x.s0, v.s0)}};
        for (std::size_t i = 0; i < n; ++i) elements.push_back({tangent(x.a[i], v.a[i]), tangent(x.h[i], v.h[i])});
        const auto prefixes = shape.prefixes(elements);
        for (std::size_t i = 0; i < n; ++i)
          if (!is_minus_infinity(s[i])) CHECK(deviation(prefixes[i + 1].input.derivative, ds[i]) < 1e-90);
      }
}
