// Compares scans over ranks with scans on one rank and with the long double oracles. mpirun runs this program with any
// number of ranks. All ranks have the whole problem; each computes its part, and the first rank judges the parts of
// all.
//
// A failed check does not end a test case, so that ranks stay in step.
#include "optimized/mpi/heinsen_ranks.hpp"

#include <mpi.h>

#include <catch2/catch.hpp>

#include "optimized/tests/support.hpp"

namespace assay::optimized::tests {
namespace {

int rank_here() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}
int ranks_there() {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

// The tokens of each rank: rank r has the tokens first[r] to first[r + 1].
using split = std::vector<std::size_t>;

split equal_parts(std::size_t tokens) {
  const auto ranks = static_cast<std::size_t>(ranks_there());
  split first;
  for (std::size_t r = 0; r <= ranks; ++r) first.push_back(tokens * r / ranks);
  return first;
}
split uneven_parts(std::size_t tokens, std::uint64_t seed) {
  split first = equal_parts(tokens);
  generator random(seed);
  for (std::size_t r = 1; r + 1 < first.size(); ++r)
    first[r] = static_cast<std::size_t>(random.uniform(0, static_cast<double>(tokens + 1)));
  std::sort(first.begin(), first.end());
  return first;
}
// One rank has all tokens.
split all_on(std::size_t owner, std::size_t tokens) {
  split first = equal_parts(tokens);
  for (std::size_t r = 0; r < first.size(); ++r) first[r] = r <= owner ? 0 : tokens;
  return first;
}

// Joins the parts that the ranks wrote into arrays of zeros.
template <class Real>
void assemble(std::vector<Real>& part) {
  MPI_Allreduce(MPI_IN_PLACE, part.data(), static_cast<int>(part.size() * sizeof(Real)), MPI_BYTE, MPI_BOR,
                MPI_COMM_WORLD);
}

// Runs forward and backward over ranks, with strides: each rank's part is a view of the arrays of the whole.
// Afterwards, all ranks have all results in `p`. Gradients of s0 come from the first rank, and states after the last
// token come from the last rank.
template <class Real>
void run_over_ranks(scan_problem<Real>& p, const split& first, int threads = 1) {
  const heinsen::time_ranks ranks(MPI_COMM_WORLD);
  const auto here = static_cast<std::size_t>(rank_here());
  const execution on{find_kernels("best"), threads};
  for (auto* results : {&p.s, &p.s_n, &p.s_n_low, &p.grad_decay, &p.grad_h, &p.grad_s0})
    std::fill(results->begin(), results->end(), Real(0));
  const auto part = [&](auto& array) {
    auto v = p.elements(array);
    v.data = v.at(0, first[here], 0), v.shape[1] = first[here + 1] - first[here];
    return v;
  };
  // Only the first and the last rank read and write the states at the ends.
  std::vector<Real> zeros(p.s0.size(), Real(0)), unread(p.s0.size(), nan<Real>), s_n(zeros), s_n_low(zeros),
      grad_s0(zeros);
  const heinsen::scan_inputs<Real> in{part(std::as_const(p.decay)), part(std::as_const(p.h)),
                                      p.states(ranks.is_first() ? std::as_const(p.s0) : std::as_const(unread))};
  const heinsen::scan_outputs<Real> out{part(p.s), p.states(s_n), p.states(s_n_low)};
  const auto carries =
      p.gated ? heinsen::gated_scan<Real>(ranks, on, in, out) : heinsen::scan<Real>(ranks, on, in, out);
  const heinsen::scan_cotangents<Real> cotangents{
      part(std::as_const(p.s)), part(std::as_const(p.grad_s)),
      p.states(ranks.is_last() ? std::as_const(p.grad_s_n) : std::as_const(zeros))};
  const heinsen::scan_gradients<Real> back{part(p.grad_decay), part(p.grad_h), p.states(grad_s0)};
  p.gated ? heinsen::gated_scan_vjp<Real>(ranks, on, in, carries, cotangents, back)
          : heinsen::scan_vjp<Real>(ranks, on, in, carries, cotangents, back);
  if (ranks.is_last()) p.s_n = s_n, p.s_n_low = s_n_low;
  if (ranks.is_first()) p.grad_s0 = grad_s0;
  for (auto* results : {&p.s, &p.s_n, &p.s_n_low, &p.grad_decay, &p.grad_h, &p.grad_s0}) assemble(*results);
}

template <class Real>
void check_errors(scan_problem<Real>& p, const split& first, int threads = 1) {
  run_over_ranks(p, first, threads);
  if (rank_here() != 0) return;
  CAPTURE(ranks_there(), first, p.shape.batch, p.shape.tokens, p.shape.features, p.gated);
  CHECK(largest_error(p) < 2);
  CHECK(worst_gradient_error(p) < 16);
}

constexpr scan_sizes shapes[] = {{1, 3000, 1}, {2, 999, 3}, {3, 100, 37}, {2, 1500, 8}};

}  // namespace

TEMPLATE_TEST_CASE("heinsen/scan/ranks_have_the_error_of_one", "[optimized][heinsen]", float, double) {
  for (const bool gated : {false, true})
    for (const scan_sizes& sizes : shapes) {
      scan_problem<TestType> p(sizes, gated, 3);
      check_errors(p, equal_parts(sizes.tokens));
      check_errors(p, uneven_parts(sizes.tokens, sizes.features), 2);
    }
}

// Most ranks have no tokens, or all ranks but one have none.
TEMPLATE_TEST_CASE("heinsen/scan/ranks_without_tokens", "[optimized][heinsen]", float, double) {
  for (const std::size_t tokens : {0u, 1u, 2u, 3u, 200u})
    for (std::size_t owner = 0; owner < static_cast<std::size_t>(ranks_there()); ++owner) {
      scan_problem<TestType> p({2, tokens, 5}, false, tokens);
      p.s0[0] = -inf<TestType>;
      check_errors(p, all_on(owner, tokens));
      check_errors(p, equal_parts(tokens));
      if (tokens == 0) CHECK((p.s_n == p.s0 && p.grad_s0 == p.grad_s_n));
    }
}

// Decays near 1 carry every contribution across all ranks. The states are near 0.
TEMPLATE_TEST_CASE("heinsen/scan/ranks_with_long_memory", "[optimized][heinsen]", float, double) {
  for (const std::size_t features : {1u, 8u, 40u})
    for (const double decay : {-1e-7, -1e-3}) {
      scan_problem<TestType> p({1, 20000 / features, features}, false, 5);
      generator random(6);
      for (TestType& x : p.decay) x = static_cast<TestType>(decay * random.uniform(0.5, 1.5));
      const double gathered = std::log(std::min(static_cast<double>(p.shape.tokens), -1 / decay));
      for (TestType& x : p.h) x -= static_cast<TestType>(gathered);
      for (TestType& x : p.grad_s) x = x > TestType(0.99) ? x : TestType(0);
      check_errors(p, uneven_parts(p.shape.tokens, 7));
    }
}

// The sum of log p over a rank and the state before the rank cancel. Both are far larger than the result.
TEMPLATE_TEST_CASE("heinsen/scan/ranks_keep_a_large_past", "[optimized][heinsen]", float, double) {
  for (const std::size_t features : {1u, 40u}) {
    scan_problem<TestType> p({1, 20000, features}, false, 2);
    p.decay.assign(p.decay.size(), TestType(-1)), p.s0.assign(features, TestType(15000));
    p.h[p.index(0, 11000, 0)] = 20000;
    run_over_ranks(p, equal_parts(20000));
    if (rank_here() == 0) CHECK(largest_error(p) < 2);
  }
}

// Weights are as uncertain as the states. The bound for contributions that cross ranks is 9 ulp of these; no error
// comes near it.
TEMPLATE_TEST_CASE("heinsen/scan/ranks_with_large_states", "[optimized][heinsen]", float, double) {
  for (const std::size_t features : {1u, 40u}) {
    scan_problem<TestType> p({1, 4000, features}, false, 5);
    generator random(6);
    p.decay = uniform<TestType>(random, p.decay.size(), -2e-3, 0), p.h = uniform<TestType>(random, p.h.size(), 90, 100);
    run_over_ranks(p, uneven_parts(4000, features));
    if (rank_here() != 0) continue;
    CHECK(largest_error(p) < 2);
    CHECK(worst_gradient_error(p) < 16 + 128);  // an ulp of 100 is 128 units; 65 are found, and as many on one rank
  }
}

// Tests resets, tokens without input, and ranks without any input.
TEMPLATE_TEST_CASE("heinsen/scan/ranks_with_infinite_inputs", "[optimized][heinsen]", float, double) {
  using T = TestType;
  for (const bool gated : {false, true})
    for (const std::size_t features : {1u, 5u, 40u}) {
      scan_problem<T> p({2, 200, features}, gated, 3);
      for (std::size_t k = 0; k < p.h.size(); ++k) {
        if (k % 47 == 0) p.decay[k] = -inf<T>;
        if (k % 11 == 0 || (k / features % 200 >= 40 && k / features % 200 < 160)) p.h[k] = -inf<T>;
      }
      p.s0[0] = -inf<T>;
      check_errors(p, equal_parts(200));
      check_errors(p, uneven_parts(200, features));
      p.decay.assign(p.decay.size(), -inf<T>);  // every token forgets all earlier ones
      check_errors(p, equal_parts(200));
      p.h.assign(p.h.size(), -inf<T>);  // and gives nothing
      check_errors(p, equal_parts(200));
    }
}

// As on one rank, NaN and +inf stay in their lanes, and NaN stays from its token on. In the backward pass, a reset ends
// it.
TEMPLATE_TEST_CASE("heinsen/scan/ranks_with_nan", "[optimized][heinsen]", float, double) {
  using T = TestType;
  scan_problem<T> p({1, 100, 4}, false, 3);
  p.h[p.index(0, 60, 1)] = nan<T>;
  p.decay[p.index(0, 30, 2)] = nan<T>;
  p.h[p.index(0, 20, 3)] = inf<T>, p.decay[p.index(0, 40, 3)] = -1000;
  p.decay[p.index(0, 45, 1)] = -inf<T>;
  scan_problem<T> one = p;
  one.run();
  for (const split& first : {equal_parts(100), uneven_parts(100, 4), all_on(0, 100)}) {
    run_over_ranks(p, first);
    CAPTURE(first);
    CHECK(largest_error(p) < 2);
    for (std::size_t i = 0; i < 100; ++i)
      for (const std::size_t j : {0u, 1u}) {
        CAPTURE(i, j);
        CHECK(std::isnan(p.grad_h[p.index(0, i, j)]) == std::isnan(one.grad_h[p.index(0, i, j)]));
        CHECK(std::isnan(p.grad_decay[p.index(0, i, j)]) == std::isnan(one.grad_decay[p.index(0, i, j)]));
      }
    for (std::size_t i = 0; i < 100; ++i)
      for (const std::size_t j : {2u, 3u})  // more of these may be NaN
        if (std::isnan(one.grad_h[p.index(0, i, j)])) CHECK(std::isnan(p.grad_h[p.index(0, i, j)]));
  }
}

// Neither threads nor repeated runs change a bit. One rank gives the bits of the scan without ranks.
TEMPLATE_TEST_CASE("heinsen/scan/ranks_repeat_their_bits", "[optimized][heinsen]", float, double) {
  for (const scan_sizes& sizes : shapes) {
    scan_problem<TestType> p(sizes, false, 8), again = p, alone = p;
    run_over_ranks(p, uneven_parts(sizes.tokens, 1));
    run_over_ranks(again, uneven_parts(sizes.tokens, 1), 3);
    CHECK(same_results(p, again));
    alone.run();
    CHECK((ranks_there() > 1 || same_results(p, alone)));
  }
}

// Wrong shapes are found before the ranks exchange any data.
TEST_CASE("heinsen/scan/ranks_check_shapes", "[optimized][heinsen]") {
  const heinsen::time_ranks ranks(MPI_COMM_SELF);
  scan_problem<float> p({2, 4, 3}, false);
  const execution on{find_kernels("best")};
  auto in = p.inputs();
  in.s0.shape[1] = 2;
  const heinsen::scan_outputs<float> out{p.elements(p.s), p.states(p.s_n)};
  CHECK_THROWS_AS(heinsen::scan<float>(ranks, on, in, out), core::contract_violation);
  const auto carries = heinsen::scan<float>(ranks, on, p.inputs(), out);
  heinsen::scan_cotangents<float> cotangents{p.elements(p.s), p.elements(p.grad_s), p.states(p.grad_s_n)};
  cotangents.grad_s_n.shape[0] = 3;
  const heinsen::scan_gradients<float> back{p.elements(p.grad_decay), p.elements(p.grad_h), p.states(p.grad_s0)};
  CHECK_THROWS_AS(heinsen::scan_vjp<float>(ranks, on, p.inputs(), carries, cotangents, back), core::contract_violation);
}

}  // namespace assay::optimized::tests

int assay_run_tests(int argc, char** argv);  // Catch2's

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int failed = assay_run_tests(argc, argv);
  MPI_Finalize();
  return failed;
}
