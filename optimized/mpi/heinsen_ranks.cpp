// A middle rank finds the map of its tokens and then their states. The first and the last rank need no map. The map
// takes 1.6 to 2.4 times as long as the states (f32, AVX-512). It uses two scans whose states are not kept, in place of
// a kernel of its own.
#include "optimized/mpi/heinsen_ranks.hpp"

#include <algorithm>
#include <climits>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "reference/core/result.hpp"

namespace assay::optimized::heinsen {
namespace {

template <class Real>
constexpr Real lowest = -std::numeric_limits<Real>::infinity();

void check(int code) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw std::runtime_error("MPI: " + std::string(text, static_cast<std::size_t>(length)));
}

// The map s -> log(e^(log_p + s) + e^state).
template <class Carry>
struct state_map {
  Carry log_p = 0, state = lowest<Carry>;
  friend state_map then(const state_map& first, const state_map& second) {
    return {first.log_p + second.log_p, joined(second.log_p + first.state, second.state)};
  }
};

// The map lambda -> constant + e^log_weight lambda. The weight 0 of a reset ends every contribution of later tokens,
// also NaN. A weight that only underflows does not end it.
template <class Carry>
struct adjoint_map {
  Carry log_weight = 0, constant = 0;
  friend adjoint_map then(const adjoint_map& first, const adjoint_map& second) {
    const bool resets = second.log_weight == lowest<Carry>;
    return {resets || first.log_weight == lowest<Carry> ? lowest<Carry> : first.log_weight + second.log_weight,
            resets ? second.constant : second.constant + std::exp(second.log_weight) * first.constant};
  }
};

template <class Map>
// NOLINTNEXTLINE(readability-non-const-parameter): an MPI_User_function
void compose(void* first, void* second, int* count, MPI_Datatype*) {
  const Map* from = static_cast<const Map*>(first);
  Map* to = static_cast<Map*>(second);
  for (int k = 0; k < *count; ++k) to[k] = then(from[k], to[k]);
}

MPI_Datatype type_of(double) { return MPI_DOUBLE; }
MPI_Datatype type_of(long double) { return MPI_LONG_DOUBLE; }

// The composed maps of all ranks before this one. On the first rank, these are the maps that it gave.
template <template <class> class Map, class Carry>
std::vector<Map<Carry>> composed_before(MPI_Comm ranks, const std::vector<Map<Carry>>& own) {
  static_assert(sizeof(Map<Carry>) == 2 * sizeof(Carry));
  ASSAY_EXPECTS(own.size() <= INT_MAX);
  struct committed {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Op operation = MPI_OP_NULL;
    ~committed() {
      if (operation != MPI_OP_NULL) MPI_Op_free(&operation);
      if (type != MPI_DATATYPE_NULL) MPI_Type_free(&type);
    }
  } pair;
  check(MPI_Type_contiguous(2, type_of(Carry()), &pair.type));
  check(MPI_Type_commit(&pair.type));
  check(MPI_Op_create(compose<Map<Carry>>, /*commute=*/0, &pair.operation));
  std::vector<Map<Carry>> before = own;
  check(MPI_Exscan(own.data(), before.data(), static_cast<int>(own.size()), pair.type, pair.operation, ranks));
  return before;
}

// A [B, d] array whose numbers have two words.
template <class Real>
struct state_words {
  std::size_t batch, features;
  std::vector<Real> high, low;

  state_words(std::size_t b, std::size_t d, Real value = 0)
      : batch(b), features(d), high(b * d, value), low(b * d, Real(0)) {}

  template <class Array>
  [[nodiscard]] auto viewed(Array& words) const {
    return dense<std::remove_reference_t<decltype(*words.data())>, 2>(words.data(), {batch, features});
  }
  [[nodiscard]] carry_of<Real> carry_at(std::size_t k) const { return joined_words(high[k], low[k]); }
  void set(std::size_t k, carry_of<Real> x) { split_words(x, high[k], low[k]); }

  void read(const view<const Real, 2>& from, std::vector<Real>& words) const {
    if (from.absent()) return;
    ASSAY_EXPECTS(from.shape[0] == batch && from.shape[1] == features);
    for (std::size_t k = 0; k < words.size(); ++k) words[k] = *from.at(k / features, k % features);
  }
  void write(const std::vector<Real>& words, const view<Real, 2>& to) const {
    if (to.absent()) return;
    ASSAY_EXPECTS(to.shape[0] == batch && to.shape[1] == features);
    for (std::size_t k = 0; k < words.size(); ++k) *to.at(k / features, k % features) = words[k];
  }
};

template <class Real>
using forward_of = void (*)(const execution&, const scan_inputs<Real>&, const scan_outputs<Real>&);
template <class Real>
using adjoint_of = void (*)(const execution&, const scan_inputs<Real>&, const scan_cotangents<Real>&,
                            const scan_gradients<Real>&);

template <class T>
view<T, 3> tokens_of(view<T, 3> v, std::size_t first, std::size_t count) {
  v.data = v.at(0, first, 0);
  v.shape[1] = count;
  return v;
}

// The maps of this rank's tokens. One scan starts from -inf; another scan has no inputs and sums log p. Their states go
// to memory that stays in the caches.
template <class Real>
std::vector<state_map<carry_of<Real>>> maps_of(forward_of<Real> forward, const execution& on,
                                               const scan_inputs<Real>& in) {
  const auto [batch, tokens, features] = in.h.shape;
  constexpr std::size_t elements_of_piece = 1 << 15;
  const std::size_t states = batch * features;
  const std::size_t most = std::max<std::size_t>(
      16, elements_of_piece * static_cast<std::size_t>(on.threads) / std::max<std::size_t>(1, states));
  const std::size_t length = std::min(most, tokens);
  const std::vector<Real> no_input(length * states, lowest<Real>);
  std::vector<Real> scratch(length * states);
  state_words<Real> sum(batch, features), state(batch, features, lowest<Real>), next(batch, features);
  for (std::size_t first = 0; first < tokens; first += length) {
    const std::size_t count = std::min(length, tokens - first);
    const auto decay = tokens_of(in.decay, first, count);
    const view<Real, 3> s = dense<Real, 3>(scratch.data(), {batch, count, features});
    const auto go_on = [&](state_words<Real>& x, const view<const Real, 3>& h) {
      forward(on, {decay, h, x.viewed(std::as_const(x.high)), x.viewed(std::as_const(x.low))},
              {s, next.viewed(next.high), next.viewed(next.low)});
      std::swap(x, next);
    };
    go_on(state, tokens_of(in.h, first, count));
    go_on(sum, dense<const Real, 3>(no_input.data(), {batch, count, features}));
  }
  std::vector<state_map<carry_of<Real>>> maps(states);
  for (std::size_t k = 0; k < states; ++k) maps[k] = {sum.carry_at(k), state.carry_at(k)};
  return maps;
}

template <class Real>
rank_carries<Real> run(forward_of<Real> forward, const time_ranks& ranks, const execution& on,
                       const scan_inputs<Real>& in, const scan_outputs<Real>& out) {
  using carry = carry_of<Real>;
  const auto [batch, tokens, features] = out.s.shape;
  const std::size_t states = batch * features;
  state_words<Real> before(batch, features), after(batch, features);
  const auto scan_from = [&](const scan_inputs<Real>& from) {
    forward(on, from, {out.s, after.viewed(after.high), after.viewed(after.low)});
  };
  std::vector<state_map<carry>> own(states);
  if (ranks.is_first()) {
    before.read(in.s0, before.high);
    scan_from(in);
    // The map gives the state after the tokens, whatever the state before them is.
    for (std::size_t k = 0; k < states; ++k) own[k] = {lowest<carry>, after.carry_at(k)};
  } else if (!ranks.is_last()) {
    own = maps_of(forward, on, in);
  }
  const auto earlier = composed_before(ranks.forwards(), own);
  rank_carries<Real> y{std::move(before.high), std::vector<carry>(states, lowest<carry>)};
  if (!ranks.is_first()) {
    state_words<Real> from(batch, features);
    for (std::size_t k = 0; k < states; ++k) from.set(k, earlier[k].state);
    scan_from({in.decay, in.h, from.viewed(std::as_const(from.high)), from.viewed(std::as_const(from.low))});
    for (std::size_t k = 0; k < states && !ranks.is_last(); ++k) {
      const carry past = own[k].log_p + earlier[k].state;
      y.log_weight[k] = tokens == 0 ? 0 : past == lowest<carry> ? past : past - after.carry_at(k);
    }
    y.before = std::move(from.high);
  }
  after.write(after.high, out.s_n);
  after.write(after.low, out.s_n_low);
  return y;
}

template <class Real>
void run_vjp(adjoint_of<Real> adjoint, const time_ranks& ranks, const execution& on, const scan_inputs<Real>& in,
             const rank_carries<Real>& carries, const scan_cotangents<Real>& cotangents,
             const scan_gradients<Real>& out) {
  using carry = carry_of<Real>;
  const std::size_t batch = out.grad_h.shape[0], features = out.grad_h.shape[2], states = batch * features;
  ASSAY_EXPECTS(carries.before.size() == states && carries.log_weight.size() == states);
  state_words<Real> given(batch, features), back(batch, features);
  given.read(cotangents.grad_s_n, given.high);
  given.read(cotangents.grad_s_n_low, given.low);
  const auto go_back = [&] {
    adjoint(on, {in.decay, in.h, back.viewed(carries.before)},
            {cotangents.s, cotangents.grad_s, given.viewed(std::as_const(given.high)),
             given.viewed(std::as_const(given.low))},
            {out.grad_decay, out.grad_h, back.viewed(back.high), back.viewed(back.low)});
  };
  std::vector<adjoint_map<carry>> own(states);
  if (!ranks.is_first() || ranks.is_last()) go_back();  // on all ranks but the last, later tokens give nothing yet
  for (std::size_t k = 0; k < states; ++k) own[k] = {carries.log_weight[k], back.carry_at(k)};
  const auto later = composed_before(ranks.backwards(), own);
  if (!ranks.is_last()) {
    for (std::size_t k = 0; k < states; ++k) given.set(k, given.carry_at(k) + later[k].constant);
    go_back();
  }
  back.write(back.high, out.grad_s0);
  back.write(back.low, out.grad_s0_low);
}

}  // namespace

time_ranks::time_ranks(MPI_Comm ranks) {
  check(MPI_Comm_size(ranks, &size_));
  check(MPI_Comm_rank(ranks, &rank_));
  check(MPI_Comm_dup(ranks, &forwards_));
  check(MPI_Comm_split(ranks, 0, size_ - rank_, &backwards_));
  // Errors then come back as codes, and `check` throws.
  for (MPI_Comm own : {forwards_, backwards_}) check(MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN));
}

time_ranks::~time_ranks() {
  MPI_Comm_free(&forwards_);
  MPI_Comm_free(&backwards_);
}

template <class Real>
rank_carries<Real> scan(const time_ranks& ranks, const execution& on, const scan_inputs<Real>& in,
                        const scan_outputs<Real>& out) {
  return run<Real>(&heinsen::scan<Real>, ranks, on, in, out);
}

template <class Real>
rank_carries<Real> gated_scan(const time_ranks& ranks, const execution& on, const scan_inputs<Real>& in,
                              const scan_outputs<Real>& out) {
  return run<Real>(&heinsen::gated_scan<Real>, ranks, on, in, out);
}

template <class Real>
void scan_vjp(const time_ranks& ranks, const execution& on, const scan_inputs<Real>& in,
              const rank_carries<Real>& carries, const scan_cotangents<Real>& cotangents,
              const scan_gradients<Real>& out) {
  run_vjp<Real>(&heinsen::scan_vjp<Real>, ranks, on, in, carries, cotangents, out);
}

template <class Real>
void gated_scan_vjp(const time_ranks& ranks, const execution& on, const scan_inputs<Real>& in,
                    const rank_carries<Real>& carries, const scan_cotangents<Real>& cotangents,
                    const scan_gradients<Real>& out) {
  run_vjp<Real>(&heinsen::gated_scan_vjp<Real>, ranks, on, in, carries, cotangents, out);
}

#define ASSAY_INSTANTIATE(Real)                                                                                    \
  template rank_carries<Real> scan(const time_ranks&, const execution&, const scan_inputs<Real>&,                  \
                                   const scan_outputs<Real>&);                                                     \
  template rank_carries<Real> gated_scan(const time_ranks&, const execution&, const scan_inputs<Real>&,            \
                                         const scan_outputs<Real>&);                                               \
  template void scan_vjp(const time_ranks&, const execution&, const scan_inputs<Real>&, const rank_carries<Real>&, \
                         const scan_cotangents<Real>&, const scan_gradients<Real>&);                               \
  template void gated_scan_vjp(const time_ranks&, const execution&, const scan_inputs<Real>&,                      \
                               const rank_carries<Real>&, const scan_cotangents<Real>&, const scan_gradients<Real>&);
ASSAY_INSTANTIATE(float)
ASSAY_INSTANTIATE(double)
#undef ASSAY_INSTANTIATE

}  // namespace assay::optimized::heinsen
