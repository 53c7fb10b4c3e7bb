// The decay of the recurrence: a = log p itself, or log p = log sigmoid(g) = min(g, 0) - log(1 + e^-|g|) of a gate
// logit g, with the slope sigmoid(-g).
//
// In both log p and the slope, e^-|g| counts as 0 where |g| is at least 600, with an error of 2^-865 > e^-600. A weight
// that small vanishes for |g| above 800 (weights.ipp). Nothing is left out where g is infinite: log p is g, or 0, and
// the slope is 1 or 0.
//
// min(g, 0) - sum is exact as two doubles. In two doubles the low part of the logarithm is added to it, and the
// rounding error of that sum goes to the radius. Radii that are not 0 are at least 2^-92 2^-867: none underflows.

constexpr double far_logit = 600.0, error_of_far_logit = 0x1p-865;

template <class Arithmetic>
struct log_decay {
  static constexpr bool is_exact = true;
  pack a;

  ASSAY_INLINE bounded_pack log_p() const { return {a, broadcast(0.0), broadcast(0.0), no_lanes(), no_lanes()}; }
  // Turns a derivative in a, or along a, into one in or along the given input. It vanishes where the derivative
  // vanishes.
  ASSAY_INLINE bounded_pack through(const bounded_pack& derivative) const { return derivative; }
};

template <class Arithmetic>
struct gate_logit {
  static constexpr bool is_exact = false;
  pack g, size;
  masks near, far;
  softplus_parts plus;

  ASSAY_INLINE explicit gate_logit(const pack& logit)
      : g(logit),
        size(magnitude(logit)),
        near(size < far_logit),
        far(~near & (size < __builtin_inf())),
        plus(Arithmetic::softplus(select(near, -size, broadcast(-far_logit)), broadcast(0.0))) {}

  ASSAY_INLINE bounded_pack log_p() const {
    const exact_sum sum = exactly(where(is_negative(g), g), where(near, -plus.sum));
    exact_sum low{sum.error, broadcast(0.0)};
    if constexpr (Arithmetic::has_low_parts) low = exactly(sum.error, -plus.low);
    const pack radius = where(near, plus.error + magnitude(low.error)) + where(far, broadcast(error_of_far_logit));
    return {sum.sum, where(near, low.sum), radius, no_lanes(), no_lanes()};
  }

  ASSAY_INLINE bounded_pack through(const bounded_pack& derivative) const {
    const two_doubles weight = Arithmetic::weight(plus.power, plus.power_low);
    const pack s = where(near, weight.high);
    const pack beyond = select(size > vanishing_exponent, broadcast(error_of_vanishing), broadcast(error_of_far_logit));
    const pack error = s * (Arithmetic::error_of_weight * (1.0 + 0x1p-47)) + where(far, beyond);
    const parts_of_number parts =
        divide<Arithmetic>({{s, where(near, weight.low)}, error}, {derivative.high, derivative.low}, derivative.radius);
    const masks is_larger = is_negative(g);
    return {select(is_larger, parts.larger.high, parts.smaller.high),
            select(is_larger, parts.larger.low, parts.smaller.low),
            select(is_larger, parts.larger.radius, parts.smaller.radius), no_lanes(),
            derivative.vanishes | (~is_larger & parts.smaller.vanishes)};
  }
};
