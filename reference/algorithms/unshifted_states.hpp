// The cost of underflow for code that holds X = e^s without a shift: X_i = p_i X_{i-1} + e^{h_i}. Much public code
// does so.
//
// Every weight p_i = e^{a_i}, every e^{h_i}, product and quotient loses up to eta, the smallest subnormal, in addition
// to its rounding. The bounds below carry these losses through the recurrence and its derivatives, including products
// of two losses (derived here).
//
// Code goes step by step, or by a tree, which multiplies gates first: P(a, b) = p_a ... p_b. Where P(a, b) lies below
// the smallest normal number, it loses up to eta more than its rounding. To first order the loss is multiplied by the
// factor of P(a, b). In X_b this factor is X_{a-1}; in lambda_{a-1}, the cotangent of X_{a-1}, it is lambda_b. From
// there on the other gates carry the loss as they carry X and lambda. No bracketing computes a product twice for one
// result. So in every bracketing the losses of products add at most
//
//   eta sum_a X_{a-1} to X_b,   eta sum_b |lambda_b| to lambda_{a-1},   a < b, P(a, b) below the smallest normal
//   number.
//
// The recurrences below include the loss of one gate, eta X_{i-1} and eta |lambda_i|. At most `joins` of the products
// with states end at one token where the tree is balanced, doubling or chunked: each loses eta.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "reference/algorithms/adjoint.hpp"
#include "reference/algorithms/forward_derivative.hpp"
#include "reference/readings/tracked.hpp"

namespace assay::reference {

/// Products of gates that lie below a number, and the states that they multiply. Gates come along the tokens, or in the
/// reverse direction.
class products_of_gates {
 public:
  explicit products_of_gates(double number) : log_number_(std::log(number)) {}

  /// Adds one more gate, and the state that it multiplies. Its products with earlier gates may lie below the number:
  /// returns the sum of the states that these products multiply.
  double next(double log_gate, double carried) {
    if (std::isinf(log_gate)) {  // a product with 0 is 0, and loses nothing
      *this = products_of_gates(log_number_, {});
      return 0.0;
    }
    log_product_ += std::max(log_gate, below_all_formats);
    for (; first_ < gates_.size() && log_product_ - gates_[first_].log_before < log_number_; ++first_)
      sum_ += gates_[first_].carried;
    gates_.push_back({log_product_ - std::max(log_gate, below_all_formats), carried});
    return sum_;
  }

 private:
  struct gate {
    double log_before, carried;  ///< the logarithm of the product of all gates before it, and the state
  };
  products_of_gates(double log_number, std::vector<gate> gates) : log_number_(log_number), gates_(std::move(gates)) {}
  static constexpr double below_all_formats = -2000.0;

  double log_number_, log_product_ = 0, sum_ = 0;
  std::vector<gate> gates_{};
  std::size_t first_ = 0;  // the first of the gates whose product with the last one does not lie below the number
};

class unshifted_states {
 public:
  /// The states of a tree, where X keeps half of its digits, or else of a loop step by step, where X keeps half of
  /// itself: the losses of the tree contain the losses of the loop. No value where such code is wrong: where e^h, e^s0
  /// or X leaves the exponent range of the working format, or X keeps less.
  static std::optional<unshifted_states> within_range(const_lane<tracked> a, const_lane<tracked> h, const tracked& s0,
                                                      const_lane<tracked> s) {
    // At most ceil(log2 m) + 1 joins of m = n + 1 elements end at one.
    auto x = held_by(static_cast<double>(std::bit_width(s.size())) + 1.0, a, h, s0, s);
    return x ? x : held_by(step_by_step, a, h, s0, s);
  }
  /// No tokens: X = e^s0 alone.
  static std::optional<unshifted_states> holding(const tracked& s0) {
    unshifted_states x(step_by_step);
    return x.add(0.0, -infinity, s0, s0) ? std::optional(x) : std::nullopt;
  }

  /// s_i = log X_i, where X_i has lost the share q_i: q_i X_i = (p_i + eta) q_{i-1} X_{i-1} + eta X_{i-1} + 2 eta, and
  /// s_i has lost -log(1 - q_i). Trees also have the losses of products.
  void widen(lane<tracked> s) const {
    for (std::size_t i = 0; i < s.size(); ++i) s[i].error -= std::log1p(-share_[i + 1]) / tracked::u();
  }

  /// s0 after no tokens: log e^s0.
  void widen_kept(tracked& s) const { s.error -= std::log1p(-share_[0]) / tracked::u(); }
  /// A derivative after no tokens: (x / X) X or (x X) / X. The second loses more.
  void widen_kept_derivative(tracked& x) const {
    if (state_[0] == 0) return;
    const double size = std::fabs(x.number);
    const amount product = amount{size, 0}.times(state_[0], share_[0] * state_[0]);
    const amount back = quotient(size, 0).times(state_[0], share_[0] * state_[0]);
    const double divided = (product.error / state_[0] + share_[0] * size) / (1.0 - share_[0]) + eta();
    add({size, std::max(divided, back.error)}, x);
  }

  /// The adjoint lambda_i = gbar_i / X_i + p_{i+1} lambda_{i+1}, grad_h_i = e^{h_i} lambda_i and grad_a_i =
  /// p_i lambda_i X_{i-1}. Let L_i be the sum of magnitudes of lambda_i, and F_i its error:
  ///   F_i = |gbar_i| / X_i q_i / (1 - q_i) + eta + (p_{i+1} + eta) F_{i+1} + eta L_{i+1} + eta,
  /// and trees also have the losses of products. There X_{a-1} lambda_b reaches grad_a_i through the products of the
  /// gates beside p_i, twice `joins` at most: they are among the products of X_{i-1} and of lambda_i, and each loses
  /// eta.
  void widen(const_lane<tracked> grad_s, const tracked& grad_last, scan_gradients<tracked> grad) const {
    const std::size_t n = grad_s.size();
    products_of_gates products(smallest_normal());
    amount handed_back{};  // p_{i+1} lambda_{i+1}
    for (std::size_t i = n; i-- > 0;) {
      const double direct = std::fabs(grad_s[i].number) + (i + 1 == n ? std::fabs(grad_last.number) : 0.0);
      const amount lambda = quotient(direct, i + 1) + handed_back;
      handed_back = lambda.times(weight_[i + 1]);
      add(lambda.times(entering_[i + 1]), grad.h[i]);
      amount amount_of_a = handed_back.times(state_[i], share_[i] * state_[i]);
      if (amount_of_a.size > 0) amount_of_a.error += 2.0 * (joins_ - step_by_step) * eta();
      add(amount_of_a, grad.a[i]);
      lose_in_products(handed_back, products.next(log_weight_[i + 1], lambda.size));
      if (i == 0) add(handed_back.times(state_[0], share_[0] * state_[0]), grad.s0);
    }
  }

  /// dX_i = p_i (dX_{i-1} + X_{i-1} da_i) + e^{h_i} dh_i and ds_i = dX_i / X_i. Directions enter by magnitude. Trees
  /// have dP = P sum da beside P. It is made of two products, and each loses eta where P |da| lies below the smallest
  /// normal number: 2 eta X_{a-1} in dX_b, beside eta |dX_{a-1}|.
  void widen(scan_direction<tracked> d, lane<tracked> ds) const {
    double least = 1.0, moves = 0.0;  // the least |da| that is not 0; 1 if there is one, else 0
    for (std::size_t i = 0; i < ds.size(); ++i)
      if (const double da = std::fabs(d.a[i].number); da > 0) {
        least = std::min(least, da);
        moves = 1.0;
      }
    products_of_gates products(smallest_normal() / least);
    amount derivative = amount{std::fabs(d.s0.number), 0}.times(state_[0], share_[0] * state_[0]);
    for (std::size_t i = 0; i < ds.size(); ++i) {
      const amount entering = amount{std::fabs(d.h[i].number), 0}.times(entering_[i + 1]);
      const amount amount_of_weight = amount{std::fabs(d.a[i].number), 0}.times(state_[i], share_[i] * state_[i]);
      const double carried = derivative.size + 2.0 * moves * state_[i];
      derivative = (derivative + amount_of_weight).times(weight_[i + 1]) + entering;
      lose_in_products(derivative, products.next(log_weight_[i + 1], carried) + 2.0 * moves * state_[i]);
      if (state_[i + 1] == 0) continue;
      const double q = share_[i + 1], size = std::fabs(ds[i].number);
      add({size, (derivative.error / state_[i + 1] + q * size) / (1.0 - q) + eta()}, ds[i]);
    }
  }

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  static constexpr double step_by_step = 1.0;  // number of joins at a token
  static double eta() { return core::smallest_subnormal(arithmetic().type); }
  static double smallest_normal() { return core::smallest_normal(arithmetic().type); }

  explicit unshifted_states(double joins) : joins_(joins), products_(smallest_normal()) {}

  static std::optional<unshifted_states> held_by(double joins, const_lane<tracked> a, const_lane<tracked> h,
                                                 const tracked& s0, const_lane<tracked> s) {
    unshifted_states x(joins);
    bool inside = x.add(0.0, -infinity, s0, s0);
    for (std::size_t i = 0; inside && i < s.size(); ++i) inside = x.add(a[i].number, h[i].number, h[i], s[i]);
    return inside ? std::optional(std::move(x)) : std::nullopt;
  }

  // Keeps a number that underflows different from 0: an exact 0 alone loses nothing.
  static double not_zero(double x) { return std::max(x, std::numeric_limits<double>::denorm_min()); }
  static double exponential(double x) { return x == -infinity ? 0.0 : not_zero(std::exp(x)); }

  /// A sum of magnitudes, and its loss.
  struct amount {
    double size = 0, error = 0;
    friend amount operator+(const amount& x, const amount& y) { return {x.size + y.size, x.error + y.error}; }
    /// The amount times a factor that has lost `lost`. 0 times anything is 0.
    [[nodiscard]] amount times(double factor, double lost) const {
      if (size == 0 || factor == 0) return {};
      return {not_zero(size * factor), (factor + lost) * error + lost * size + eta()};
    }
    /// The amount times an exponential.
    [[nodiscard]] amount times(double factor) const { return times(factor, eta()); }
  };

  [[nodiscard]] amount quotient(double x, std::size_t i) const {
    if (x == 0 || state_[i] == 0) return {};
    return {not_zero(x / state_[i]), x / state_[i] * share_[i] / (1.0 - share_[i]) + eta()};
  }
  /// The additional loss of a tree at a token: in products of gates, which multiply `carried`, and where it joins.
  void lose_in_products(amount& x, double carried) const {
    if (joins_ > step_by_step && x.size > 0) x.error += eta() * (carried + joins_ - step_by_step);
  }
  static void add(const amount& x, tracked& to) {
    if (std::isfinite(x.error)) to.error += x.error / tracked::u();
  }

  // Adds the next X. Returns false where X has no digits, or no exponent.
  bool add(double a, double h, const tracked& input, const tracked& s) {
    const double most = std::log(core::largest_finite(arithmetic().type)), least = std::log(eta());
    for (const double x : {input.number, s.number})
      if (!(x < most) || (x <= least && x != -infinity)) return false;
    const bool first = state_.empty();
    const double p = exponential(a), e = exponential(h), x = exponential(s.number);
    amount past = first ? amount{} : amount{state_.back(), share_.back() * state_.back()}.times(p);
    if (!first) lose_in_products(past, products_.next(a, state_.back()));
    const bool enters = first ? x > 0 : e > 0;
    const double share = x > 0 ? (past.error + (enters ? eta() : 0.0)) / x : 0.0;
    log_weight_.push_back(a);
    weight_.push_back(p);
    entering_.push_back(e);
    state_.push_back(x);
    share_.push_back(share);
    return share <= (joins_ > step_by_step ? std::sqrt(tracked::u()) : 0.5);
  }

  double joins_;
  products_of_gates products_;  // along the tokens
  // From s_0 on: a = log p, p, e^h, X, and the share that X has lost.
  std::vector<double> log_weight_, weight_, entering_, state_, share_;
};

}  // namespace assay::reference
