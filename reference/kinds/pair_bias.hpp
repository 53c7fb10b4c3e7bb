// The kind of encodings that add a bias to the logit of query i and key j: B_hij = f_h(i, j; parameters).
//
// Shapes: query_position [n] and key_position [m], i64, exact, without gradient; parameters as declared; bias [h, n,
// m], or [B, h, n, m] where it depends on the scores. A hidden pair has the bias -inf, a constant: its cotangent goes
// nowhere. NaN reaches the elements that are computed from it.
#pragma once

#include <functional>
#include <optional>

#include "reference/kinds/pair_declarations.hpp"
#include "reference/kinds/recorded_call.hpp"

namespace assay::reference {

/// Queries and keys as arrays that broadcast to the axes of the output, [h, n, m] or [B, h, n, m].
class recorded_pairs : public recorded_call {
 public:
  explicit recorded_pairs(const formula::program_sizes& call);

  /// An input: one with a single axis, such as [h], as [h, 1, 1]; others in their declared shape.
  [[nodiscard]] formula::traced operator[](const char* input) const;
  /// The positions of queries [n, 1] and of keys [1, m].
  [[nodiscard]] formula::traced_integer query() const { return query_; }
  [[nodiscard]] formula::traced_integer key() const { return key_; }
  /// The distance |i - j|; 0 for keys after the query, unless the setting `future` is "symmetric".
  [[nodiscard]] formula::traced_integer distance() const;
  /// Finishes the program; the bias is -inf where the setting `future` hides a key.
  formula::program finish(const formula::traced& bias);

 private:
  [[nodiscard]] bool has_future(future_keys::rule rule) const { return future_ && future_->treatment == rule; }
  std::optional<future_keys> future_{};
  formula::traced_integer query_, key_;
};

/// The steps of a bias with a logarithm of 1 + x. log1p is of class sequential; log(1 + x), which loses x beside 1, is
/// of class linear.
struct logarithm_scheme : recorded_scheme<logarithm_scheme> {
  std::function<formula::traced(const formula::traced&)> log_of_one_plus = formula::log1p;
};
logarithm_scheme algorithm_of_logarithm(accuracy_class c);

/// y where it is above 0; elsewhere slope times y, or 0 where `vanishes` is true. At y = 0 programs may have the slope
/// of either side.
formula::traced leaky_relu(const formula::traced& y, const formula::traced& slope, bool vanishes);

}  // namespace assay::reference
