#include "reference/kinds/rotation.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "reference/kinds/relative_scores.hpp"

namespace assay::reference {

using formula::traced;

traced_rotation::traced_rotation(const traced& angle) : cosine(cosine_of(angle)), sine(sine_of(angle)) {}

traced_rotation rotation_at(const traced& position, const traced& theta) {
  const traced angle = in_stage<traced>(rotary_stage::angle, [&] { return position * theta; });
  return in_stage<traced>(rotary_stage::table, [&] { return traced_rotation(angle); });
}
traced_pairs turned(const traced_pairs& x, const traced_rotation& by) {
  return {x.first * by.cosine - x.second * by.sine, x.first * by.sine + x.second * by.cosine};
}
traced_rotation scaled_rotation(traced_rotation by, const traced& magnitude) {
  for (traced* wave : {&by.cosine, &by.sine})
    *wave = in_stage<traced>(rotary_stage::table, [&] { return *wave * magnitude; });
  return by;
}

traced geometric_frequencies(const traced& base, std::size_t pairs, std::size_t divisor) {
  return formula::geometric_frequencies(base, 0, pairs, std::max<std::size_t>(divisor, 1));
}

traced or_products_of_factors(const traced& theta, const traced& base, std::size_t divisor) {
  const std::size_t pairs = shape_of(theta)[0];
  if (pairs < 2) return theta;
  return covering(theta, [&] {
    traced products = reshaped(power(base, ratio(-1, static_cast<long>(divisor))), {1});  // of 1, 2, 3, ... factors
    for (std::size_t count = 1; count < pairs - 1; count *= 2)
      products = formula::joined({products, products * between(products, 0, count - 1, count)}, 0);
    return formula::joined({broadcast(traced(1.0), {1}), between(products, 0, 0, pairs - 1)}, 0);
  });
}

traced position_of(const recorded_call& in, const char* called) {
  const auto position = in.integers(called);
  core::shape s = shape_of(position);
  if (s.size() == 2) s.push_back(1);
  s.insert(s.begin() + 2, 1);
  return in_stage<traced>(rotary_stage::angle, [&] { return reshaped(to_real(position), s); });
}

traced turned_features(const rotation_scheme& steps, const traced& x, const rotary_layout& layout,
                       const traced_rotation& by) {
  const std::size_t r = layout.pairs, d = layout.features;
  if (r == 0) return x;
  // The order: first coordinates of pairs, second coordinates, and the rest.
  std::vector<std::int64_t> order;
  std::vector<bool> turns(d, false);
  for (std::size_t k = 0; k < 2 * r; ++k) {
    const std::size_t feature = k < r ? layout.first(k) : layout.second(k - r);
    order.push_back(static_cast<std::int64_t>(feature));
    turns[feature] = true;
  }
  for (std::size_t k = 0; k < d; ++k)
    if (!turns[k]) order.push_back(static_cast<std::int64_t>(k));
  std::vector<std::int64_t> places(d);
  for (std::size_t k = 0; k < d; ++k) places[static_cast<std::size_t>(order[k])] = static_cast<std::int64_t>(k);
  const auto in_order = [&](const traced& y, const std::vector<std::int64_t>& indices) {
    return std::ranges::is_sorted(indices) ? y : gathered(y, formula::known_integers({d}, indices), 3);
  };
  const traced sorted = in_order(x, order);
  const traced_pairs y = steps.turn({between(sorted, 3, 0, r), between(sorted, 3, r, 2 * r)}, by);
  std::vector<traced> parts{y.first, y.second};
  if (2 * r < d) parts.push_back(between(sorted, 3, 2 * r, d));
  return in_order(formula::joined(parts, 3), places);
}
traced turned_vectors_of(const rotation_scheme& steps, const traced& x, const rotary_layout& layout,
                         const traced_rotation& by) {
  return in_stage<traced>(rotary_stage::product, [&] { return turned_features(steps, x, layout, by); });
}

traced scores_of_turned(const recorded_call& in, const traced& q, const traced& k) {
  const traced factor = in_stage<traced>(rotary_stage::angle, [&] {
    const traced scale = factor_of_logits(in.setting<std::string>("scale"), in.size("d"));
    return in.setting<double>("logit_factor") == 1.0 ? scale : scale * in.number("logit_factor");
  });
  const std::size_t rows = in.size("B"), heads = in.size("h"), group = in.size("u"), n = in.size("n");
  return in_stage<traced>(rotary_stage::scores, [&] {
    const traced by_group = reshaped(q, {rows, n, heads, group, in.size("d")});
    const traced s = factor * contracted(by_group, k, "bnhud,bmhd->bhunm");
    return reshaped(s, {rows, heads * group, n, in.size("m")});
  });
}

}  // namespace assay::reference
