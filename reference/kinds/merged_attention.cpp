#include "reference/kinds/merged_attention.hpp"

#include "reference/primitives/exponential.hpp"
#include "reference/primitives/logistic.hpp"

namespace assay::reference {

using formula::traced;
using formula::traced_truth;

namespace {

/// x after `roundings` more roundings.
traced rounded_times(const traced& x, const traced& roundings) { return off_by(x, roundings * magnitude_of(x)); }

/// The errors of programs that merge two parts at a time, in any order: a result goes through `merges` merges at most.
/// Each merge rounds the lse that it stores, which is at most the largest lse plus the logarithm of the number of
/// parts. It multiplies the lse by log2 e or its inverse, a constant and a product. It also has an exponential, a sum,
/// a quotient, and the product and the sum of o. The update of ring attention, o - sigmoid(lse_2 - lse_1) (o - o_2),
/// loses numbers that are small beside o and o_2. Its gradient has 1 - sigmoid as the weight of all parts so far, and
/// loses numbers that are small beside 1. Its lse_1 - log sigmoid(lse_1 - lse_2) loses numbers that are small beside
/// their difference.
struct merge_roundings {
  traced merges, error_of_lse, error_of_sum, error_of_weight, error_of_difference;
  /// The roundings for this number of parts with keys.
  explicit merge_roundings(const traced& parts)
      : merges(larger(parts - traced(1.0), traced(0.0))),
        error_of_lse(traced(3.0) * merges),
        error_of_sum(error_of_lse * (log(larger(parts, traced(1.0))) / log(traced(2.0)))),
        error_of_weight(traced(accuracy::exp + 4.0) * merges),
        error_of_difference(traced(accuracy::sigmoid + 2.0) * merges) {}
};

/// b^x of a part. Its slope has an error of `error_of_difference` u of the whole: a gradient may lose numbers that are
/// small beside 1.
traced power_of_part(const merge_rule& rule, const traced& x, const traced& error_of_difference,
                     const recorded_call& in) {
  const traced power = rule.power(x);
  if (in.is_truth() || !in.is_of_gradient()) return power;
  const traced whole_power = off_by(power, error_of_difference), unit = log(traced(2.0));
  return with_slope(whole_power, x, rule.base_two ? whole_power * unit : whole_power);
}

}  // namespace

traced_truth merge_rule::has_keys(const traced& lse) const {
  const traced infinite(std::numeric_limits<double>::infinity());
  const traced_truth is_none = equal(lse, -infinite);
  return plus_infinity ? !(is_none || equal(lse, infinite)) : !is_none;
}
traced merge_rule::power(const traced& x) const { return base_two ? exp(x * log(traced(2.0))) : exp(x); }
traced merge_rule::logarithm(const traced& x) const { return base_two ? log(x) / log(traced(2.0)) : log(x); }

merged_parts merge_by_shift(const attention_parts& parts, const merge_rule& rule, const recorded_call& in) {
  constexpr std::int64_t axis = 3;
  const core::shape all = shape_of(parts.lses), query{all[0], all[1], all[2]}, column{all[0], all[1], all[2], 1};
  if (all[axis] == 0) return {traced(0.0), rule.lse_of_no_keys()};
  const traced zero(0.0), one(1.0), infinite(std::numeric_limits<double>::infinity());
  const auto beside = [&](const traced& x) { return reshaped(x, column); };
  const traced_truth has_keys = rule.has_keys(parts.lses), has_any = any_along(has_keys, axis);
  const traced masked = either(has_keys, parts.lses, -infinite),
               count = summed(either(has_keys, broadcast(one, all), zero), {axis});
  const merge_roundings each(count), each_part(beside(count));
  const traced shift = detach(largest_along(masked, axis)),
               least = smallest_along(either(has_keys, parts.lses, infinite), axis);
  const traced exponent =
      off_by(rounded_times(masked, each_part.error_of_lse) - beside(rounded_times(shift, each.error_of_lse)),
             each_part.error_of_sum);
  const traced powers = either(has_keys, power_of_part(rule, exponent, each_part.error_of_difference, in), zero),
               total = either(has_any, summed(powers, {axis}), one);
  traced weights = rounded_times(powers / beside(total), each_part.error_of_weight);
  if (in.is_truth()) {
    const traced unit = rule.base_two ? log(traced(2.0)) : one;
    const traced_truth is_alone =
        has_keys && reshaped(equal(count, one), column) && less(magnitude_of(parts.lses), infinite);
    weights = either(is_alone, one, either(has_keys, softmax_along(masked * unit, axis), zero));
  }
  core::shape shape_of_values = all;
  shape_of_values.push_back(1);
  const traced magnitudes = either(reshaped(has_keys, shape_of_values), magnitude_of(parts.values), zero);
  const traced o = off_by(contracted_where(has_keys, weights, parts.values, "bhnp,bhnpe->bhne"),
                          traced(2.0) * beside(each.error_of_difference) * largest_along(magnitudes, axis));
  const traced lse = off_by(rounded_times(shift + rule.logarithm(total), each.error_of_lse), each.error_of_sum);
  return {either(reshaped(has_any, column), o, zero),
          either(has_any, off_by(lse, each.error_of_difference * (shift - least)), rule.lse_of_no_keys())};
}

}  // namespace assay::reference
