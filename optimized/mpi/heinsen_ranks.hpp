// The log-linear recurrence over MPI ranks. Each rank holds some of the tokens, in the order of time.
//
// This is for sequences that are longer than the memory of one machine, or that are already split, as in
// sequence-parallel training. Ranks may have different numbers of tokens, also none; they all have the same batch and
// features. The arguments, results, special values and errors of a call are those of heinsen.hpp. Each array is this
// rank's part.
//
// The effect of some tokens on the state s before them is the map s -> log(e^(A + s) + e^H). A is the sum of their log
// p, and H is the state that they make of the state -inf. Such maps compose as
//   (A_1, H_1) then (A_2, H_2) = (A_1 + A_2, log(e^(A_2 + H_1) + e^H_2)),
// This composition is associative and not commutative [Blelloch 1990, section 1.4]. A rank finds (A, H) of its tokens,
// one MPI_Exscan gives it the state before them, and it scans from there. The first rank scans at once and hands on the
// state that it reached. The last rank hands on nothing.
//
// The adjoint of a rank's tokens is affine in lambda, the gradient that later tokens give to the rank's last state. It
// gives
//   C + W lambda to the state before them,  W = d s_n / d s_0 = e^(A + s_0 - s_n).
// These maps compose in the same way, backwards in time, by an MPI_Exscan over the ranks in reversed order.
//
// Bound of the states: the bound of one rank (../README.md). H of a rank has the error of any state, at most E. The sum
// of two maps gives each of its terms the weight of that term, so its error is at most the larger of their errors. The
// sum itself adds an error of a few units of carry_of (2^-53 for f32, 2^-64 for f64) of those magnitudes of A_2, H_1
// and H_2 that have weight. The state at the start of a rank therefore has again an error of at most E, for any number
// of ranks.
//
// Bound of the gradients, beyond the bound of one rank: W has the error factor e^x, |x| <= |E(s_n) - E(s_0)| + sum v_i
// r_i, where r_i are the errors of the given states. The first part is at most 2 (1 - W) E, because the tokens
// themselves keep only W of the error of s_0. If ranks follow one another, the weights W ... W (1 - W) of these errors
// sum to at most 1. Contributions that cross ranks therefore have an error of at most 2 E + r <= 9 ulp of max(1, |s|),
// times their magnitudes, where E is 2.7 ulp and r is half an ulp more.
//
// Calls are collective: all ranks make the same calls in the same order, with the same batch and features. If a rank
// throws, the others keep waiting; a program that catches the exception should call MPI_Abort. The bits are the same
// for every number of threads, and in every run in which the MPI library sums in the same order. They depend on the
// number of ranks.
#pragma once

#include <mpi.h>

#include <vector>

#include "optimized/encodings/heinsen.hpp"
#include "optimized/encodings/heinsen/carry.hpp"

namespace assay::optimized::heinsen {

/// The ranks that share sequences. Rank 0 has the first tokens. Construction and destruction are collective calls; the
/// object has communicators of its own. Precondition: MPI is initialized, and is finalized later.
///
///     const heinsen::time_ranks ranks(MPI_COMM_WORLD);  // rank 0 has the first tokens
class time_ranks {
 public:
  explicit time_ranks(MPI_Comm ranks);
  ~time_ranks();
  time_ranks(const time_ranks&) = delete;
  time_ranks& operator=(const time_ranks&) = delete;

  [[nodiscard]] MPI_Comm forwards() const { return forwards_; }
  [[nodiscard]] MPI_Comm backwards() const { return backwards_; }
  [[nodiscard]] bool is_first() const { return rank_ == 0; }
  [[nodiscard]] bool is_last() const { return rank_ + 1 == size_; }

 private:
  MPI_Comm forwards_ = MPI_COMM_NULL, backwards_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
};

/// The numbers of a scan that the adjoint needs beside the states: [B, d] each, row-major.
template <class Real>
struct rank_carries {
  std::vector<Real> before;                ///< the state before this rank's tokens
  std::vector<carry_of<Real>> log_weight;  ///< log W of this rank; the first and the last rank need none and have -inf
};

/// The recurrence for log p. in.s0 and in.s0_low are those of the first rank; other ranks do not read them. out.s_n is
/// the state after this rank's tokens. Throws std::runtime_error if MPI fails.
///
///     const auto carries = heinsen::scan<float>(ranks, process_execution(), in, out);
template <class Real>
rank_carries<Real> scan(const time_ranks& ranks, const execution& on, const scan_inputs<Real>& in,
                        const scan_outputs<Real>& out);

/// The recurrence for log p = log sigmoid(g).
///
///     const auto carries = heinsen::gated_scan<float>(ranks, process_execution(), in, out);
template <class Real>
rank_carries<Real> gated_scan(const time_ranks& ranks, const execution& on, const scan_inputs<Real>& in,
                              const scan_outputs<Real>& out);

/// The vector-Jacobian products. `carries` is the result of the forward pass; in.s0 is not read. cotangents.grad_s_n is
/// the cotangent of this rank's s_n. out.grad_s0 is the gradient of the state before this rank's tokens, from this rank
/// and all later ranks; on the first rank it is the gradient of s0. +inf in a state makes gradients of earlier ranks
/// NaN, and so does NaN in a decay.
///
///     heinsen::scan_vjp<float>(ranks, process_execution(), in, carries, cotangents, gradients);
template <class Real>
void scan_vjp(const time_ranks& ranks, const execution& on, const scan_inputs<Real>& in,
              const rank_carries<Real>& carries, const scan_cotangents<Real>& cotangents,
              const scan_gradients<Real>& out);
template <class Real>
void gated_scan_vjp(const time_ranks& ranks, const execution& on, const scan_inputs<Real>& in,
                    const rank_carries<Real>& carries, const scan_cotangents<Real>& cotangents,
                    const scan_gradients<Real>& out);

}  // namespace assay::optimized::heinsen
