// The log-linear recurrence over the ranks of MPI: each holds some of the tokens, in the order of time.
//
// For sequences that are longer than one machine's memory, or already split, as in sequence-parallel training. Ranks
// may have different numbers of tokens, none among them; batch and features are those of all. What a call takes and
// gives, its special values and its errors are those of heinsen.hpp, each array being this rank's part.
//
// What tokens make of the state s before them is s -> log(e^(A + s) + e^H), where A sums their log p and H is what they
// make of the state -inf. Such maps compose as
//   (A_1, H_1) then (A_2, H_2) = (A_1 + A_2, log(e^(A_2 + H_1) + e^H_2)),
// which is associative and not commutative [Blelloch 1990, section 1.4]. A rank finds (A, H) of its tokens, one
// MPI_Exscan gives it the state before them, and it scans from there. The first rank scans at once, and hands on the
// state that it reached; the last has nobody to hand on to.
//
// The adjoint of a rank's tokens is affine in lambda, what later tokens give to their last state: it gives
//   C + W lambda to the state before them,  W = d s_n / d s_0 = e^(A + s_0 - s_n).
// These maps compose alike, backwards in time: an MPI_Exscan over the ranks in reversed order.
//
// Bound of the states: that of one rank (../README.md). H of a rank has the error of any state, at most E. The sum of
// two maps gives each of its terms the weight of that term, so it is off by at most the larger of their errors; a sum
// itself is off by a few units of carry_of (2^-53 for f32, 2^-64 for f64) of the magnitudes of A_2, H_1 and H_2 that
// have weight. So the state that a rank begins with is off by at most E again, however many ranks there are.
//
// Bound of the gradients, beyond that of one rank: W is off by a factor e^x, |x| <= |E(s_n) - E(s_0)| + sum v_i r_i,
// where r_i are the errors of the states as they are given, and the first is at most 2 (1 - W) E, since the tokens
// themselves forget W of the error of s_0. Where ranks follow one another, the weights W ... W (1 - W) of these errors
// sum to at most 1. So what crosses ranks is off by at most 2 E + r <= 9 ulp of max(1, |s|) of the contributions'
// magnitudes, E being 2.7 ulp and r half an ulp more.
//
// Calls are collective: all ranks make the same ones in the same order, with the same batch and features. A rank that
// throws leaves the others waiting: a program that catches should call MPI_Abort. The bits are the same for every
// number of threads, and in every run in which the library sums in the same order. They depend on the number of ranks.
#pragma once

#include <mpi.h>

#include <vector>

#include "optimized/encodings/heinsen.hpp"
#include "optimized/encodings/heinsen/carry.hpp"

namespace assay::optimized::heinsen {

/// The ranks that share sequences: rank 0 has the first tokens. To make one and to destroy it are collective; it has
/// communicators of its own. Precondition: MPI is initialized, and is finalized later.
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

/// What the adjoint needs of a scan beside its states: [B, d] each, row-major.
template <class Real>
struct rank_carries {
  std::vector<Real> before;                ///< the state before this rank's tokens
  std::vector<carry_of<Real>> log_weight;  ///< log W of this rank; on the first and on the last, who need none, -inf
};

/// The recurrence for log p. in.s0 and in.s0_low are those of the first rank, and elsewhere not read. out.s_n is the
/// state after this rank's tokens. Throws std::runtime_error where MPI fails.
template <class Real>
rank_carries<Real> scan(const time_ranks& ranks, const execution& on, const scan_inputs<Real>& in,
                        const scan_outputs<Real>& out);

/// The recurrence for log p = log sigmoid(g).
template <class Real>
rank_carries<Real> gated_scan(const time_ranks& ranks, const execution& on, const scan_inputs<Real>& in,
                              const scan_outputs<Real>& out);

/// The vector-Jacobian products. `carries` is what the forward pass gave, in.s0 is not read. cotangents.grad_s_n is
/// that of this rank's s_n, and out.grad_s0 what this and all later ranks give to the state before this rank's tokens:
/// on the first rank the gradient in s0. +inf in a state makes gradients of earlier ranks NaN, and so does NaN in a
/// decay.
template <class Real>
void scan_vjp(const time_ranks& ranks, const execution& on, const scan_inputs<Real>& in,
              const rank_carries<Real>& carries, const scan_cotangents<Real>& cotangents,
              const scan_gradients<Real>& out);
template <class Real>
void gated_scan_vjp(const time_ranks& ranks, const execution& on, const scan_inputs<Real>& in,
                    const rank_carries<Real>& carries, const scan_cotangents<Real>& cotangents,
                    const scan_gradients<Real>& out);

}  // namespace assay::optimized::heinsen
