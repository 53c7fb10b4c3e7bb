#include "properties/kinds/rotation.hpp"

#include <algorithm>
#include <limits>
#include <string>

namespace assay::properties {
namespace {

using core::counter_random;
using core::dtype;

struct rotary_extents {
  std::size_t batch, n, heads, features, axes = 1;
  [[nodiscard]] std::size_t elements() const { return batch * n * heads * features; }
};

rotary_extents draw_extents(const core::attributes& settings, counter_random& random, extent size) {
  const std::size_t least = 2 * reference::turning_pairs(0, settings);
  if (size.is_given())
    return {size.axis("B", 1), size.axis("n", 3), size.axis("h", 1), std::max(least, size.axis("d", 4))};
  if (size.range == lengths::exactly) return {1, size.tokens, 1, std::max<std::size_t>(least, 4)};
  rotary_extents s{1, 0, 1, std::max<std::size_t>(least, 2 + random.below(4))};
  if (size.range == lengths::long_ones) {
    s.n = 40 + random.below(20);
  } else if (size.range == lengths::around_blocks) {
    s.n = (std::size_t{1} << (3 + random.below(3))) - 1 + random.below(3);
  } else {
    s.n = random.one_in(12) ? 0 : 1 + random.below(6);
    s.heads = random.one_in(60) ? 0 : 1 + random.below(3);
    s.batch = 1 + random.below(2);
    if (random.one_in(3)) s.features = std::max<std::size_t>(least, 1 + random.below(9));
  }
  return s;
}

// With positions on several axes, each axis has its share of the pairs.
void draw_axes(rotary_extents& s, const core::operation& op, const core::attributes& settings, counter_random& random,
               const extent& size) {
  std::size_t least = 1;
  for (std::size_t k = 0; k < 3; ++k)
    if (const auto set = settings.find("section_" + std::to_string(k));
        set != settings.end() && std::get<std::int64_t>(set->second) > 0)
      least = k + 1;
  const std::size_t drawn = random.below(3) == 0 ? 2 : 3, pairs = s.features / 2;
  const std::size_t dividing = !size.is_given() ? drawn : pairs % 3 == 0 ? 3 : pairs % 2 == 0 ? 2 : 1;
  s.axes = std::max(least, size.axis("a", dividing));
  if (op.input("theta") || reference::turning_pairs(0, settings) > 0) return;
  // The new width is a multiple of the old one: declared multiples stay.
  if (s.axes > 0 && pairs % s.axes != 0) s.features = 2 * pairs * s.axes + s.features % 2;
}

/// The index of an axis, and the number of axes.
struct axis_of_positions {
  std::size_t number, axes;
};
/// The positions of one row on one axis.
using row_filler = void (*)(std::vector<double>& row, axis_of_positions on, dtype type, counter_random& random);
/// Fills all of x.
using x_filler = void (*)(std::vector<double>& x, std::size_t features, dtype type, counter_random& random);

// Coordinates on a grid with different sides, 3, 2 and as many as needed: the first axis varies fastest. Axes begin at
// 0, 1, 2.
double grid_place(std::size_t token, axis_of_positions on) {
  constexpr std::size_t sides[] = {3, 2};
  for (std::size_t k = 0; k < on.number && k < 2; ++k) token /= sides[k];
  const bool is_last = on.number + 1 == on.axes || on.number > 1;
  return static_cast<double>(on.number % 3 + (is_last ? token : token % sides[on.number]));
}
// A single token gets position 1: at position 0 nothing turns.
void counted(std::vector<double>& row, axis_of_positions on, dtype, counter_random&) {
  for (std::size_t i = 0; i < row.size(); ++i)
    row[i] = row.size() == 1 ? 1.0 + static_cast<double>(on.number % 3) : grid_place(i, on);
}
// A class token at position 0, two tokens of text, then an image.
void behind_text(std::vector<double>& row, axis_of_positions on, dtype, counter_random&) {
  for (std::size_t i = 0; i < row.size(); ++i)
    row[i] = i == 0 ? 0.0 : i < 3 ? 254.0 + static_cast<double>(i) : 257.0 + grid_place(i - 3, on);
}
// Text has equal positions on all axes.
void alike(std::vector<double>& row, axis_of_positions, dtype, counter_random&) {
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = 1000.0 + static_cast<double>(i);
}
// Tokens move along the second axis only.
void along_one(std::vector<double>& row, axis_of_positions on, dtype, counter_random&) {
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = on.number == 1 ? 1.0 + static_cast<double>(i) : 0.0;
}
// Positions where formats end: 2^8 (bf16), 2^11 (f16), 2^16, 2^24 (f32), 2^31. In f16 only up to its largest number: a
// program that counts in f16 has no answer beyond.
void at_hard_positions(std::vector<double>& row, axis_of_positions, dtype type, counter_random& random) {
  constexpr double hard[] = {0,      255,     256,      257,      258,      2047,      2048,       2049,
                             2050,   4095,    15962,    32767,    65503,    65535,     65536,      65537,
                             131071, 1048576, 16777215, 16777217, 33554431, 268435455, 2147483646, 2147483647};
  for (double& m : row) do {
      m = hard[random.below(std::size(hard))];
    } while (m > core::largest_finite(type));
}
// Every row has its own padding on the left.
void padded(std::vector<double>& row, axis_of_positions, dtype, counter_random& random) {
  const std::size_t padding = random.below(row.size() + 1);
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = i < padding ? 0.0 : static_cast<double>(i - padding);
}
// A chunk or a single token behind the content of a cache.
void decoded(std::vector<double>& row, axis_of_positions, dtype type, counter_random& random) {
  // 1001 is not representable in bf16; 4001 and 16003 are not representable in f16.
  constexpr double starts[] = {1, 17, 100, 1000, 1001, 4000, 4001, 16000, 16003, 131000, 131071, 1000000};
  const double start = starts[random.below(core::largest_finite(type) < 1e5 ? 9 : std::size(starts))];
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = start + static_cast<double>(i);
}
// Positions with gaps, as a cache has them after eviction.
void evicted(std::vector<double>& row, axis_of_positions, dtype, counter_random& random) {
  double m = static_cast<double>(random.below(4));
  for (double& position : row) {
    position = m;
    m += 1.0 + (random.one_in(3) ? static_cast<double>(random.below(60)) : 0.0);
  }
}
void real_positions(std::vector<double>& row, axis_of_positions, dtype, counter_random& random) {
  for (double& m : row) m = random.one_in(6) ? 0.0 : std::ldexp(random.normal(), static_cast<int>(random.below(11)));
}

// As `evicted`, without position 0: at angle 0 a NaN is a matter of convention (has_special_value_at_angle_0).
void evicted_from_one(std::vector<double>& row, axis_of_positions on, dtype type, counter_random& random) {
  evicted(row, on, type, random);
  for (double& m : row) m += 1.0;
}
// Positions where no rounding of the angle changes a sign: otherwise infinities would show nothing.
void at_first_positions(std::vector<double>& row, axis_of_positions, dtype, counter_random& random) {
  for (double& m : row) m = 1.0 + static_cast<double>(random.below(2));
}

void normal(std::vector<double>& x, std::size_t, dtype, counter_random& random) {
  for (double& v : x) v = random.normal();
}
void one_hot(std::vector<double>& x, std::size_t features, dtype, counter_random& random) {
  for (std::size_t k = 0; k + features <= x.size() && features > 0; k += features)
    x[k + random.below(features)] = random.sign();
}
// For scores: a query equals the key of its token.
void each_its_own_key(std::vector<double>& x, std::size_t features, dtype type, counter_random& random) {
  normal(x, features, type, random);
}
// Numbers from the smallest of the format to 2^-8 of the largest: sums of gradients must not overflow.
void wide(std::vector<double>& x, std::size_t, dtype type, counter_random& random) {
  const int low = std::ilogb(core::smallest_subnormal(type)), high = std::ilogb(core::largest_finite(type)) - 8;
  for (double& v : x)
    v = random.one_in(3) ? random.normal()
                         : std::ldexp(random.normal() / 4, low + static_cast<int>(random.below(high - low)));
}
// Numbers that are large compared with the differences that rotation leaves when they cancel.
void large(std::vector<double>& x, std::size_t, dtype type, counter_random& random) {
  for (double& v : x) v = std::ldexp(random.normal(), 4 + static_cast<int>(random.below(type == dtype::f16 ? 2 : 8)));
}
void with_infinities(std::vector<double>& x, std::size_t features, dtype type, counter_random& random) {
  normal(x, features, type, random);
  for (double& v : x)
    if (random.one_in(6)) v = random.sign() * std::numeric_limits<double>::infinity();
}
void with_nan(std::vector<double>& x, std::size_t features, dtype type, counter_random& random) {
  normal(x, features, type, random);
  for (double& v : x)
    if (random.one_in(8)) v = std::numeric_limits<double>::quiet_NaN();
}

// The published frequencies times 1/2 to 1. One in four is negative. One in twelve is 0, unless all must move.
std::vector<double> draw_theta(std::size_t pairs, bool moving, counter_random& random) {
  std::vector<double> theta(pairs);
  for (std::size_t t = 0; t < pairs; ++t) {
    theta[t] = random.uniform(0.5, 1) * std::pow(10000.0, -static_cast<double>(t) / static_cast<double>(pairs));
    if (random.one_in(4)) theta[t] = -theta[t];
    if (random.one_in(12) && !moving) theta[t] = 0.0;
  }
  return theta;
}

bool has_axes(const core::operation& op) { return op.input("position")->axes.size() > 2; }
// With the frequencies of all pairs, published code turns the rest of the coordinates by the angle 0: what becomes of a
// NaN there is a matter of convention (has_special_value_at_angle_0).
void keep_rest_finite(std::vector<double>& x, const core::attributes& settings, std::size_t features) {
  if (!reference::rotary_layout::has(settings, "partial", "proportional")) return;
  const reference::rotary_layout layout(settings, features, reference::turning_pairs(features, settings));
  std::vector<bool> turns(features);
  for (std::size_t t = 0; t < layout.pairs; ++t) turns[layout.first(t)] = turns[layout.second(t)] = true;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!turns[i % features] && !std::isfinite(x[i])) x[i] = 0.5;
}

core::tensors draw_rotation(const core::operation& op, dtype type, const core::attributes& settings,
                            counter_random& random, extent size, row_filler positions, x_filler fill) {
  rotary_extents s = draw_extents(settings, random, size);
  const bool has_pairs = op.input("theta") || op.input("factors");
  if (has_pairs) s.features = std::max(s.features, 2 * size.axis("r", 0));
  const bool on_axes = has_axes(op);
  if (on_axes) draw_axes(s, op, settings, random, size);
  std::vector<double> x(s.elements()), position(s.batch * s.n * s.axes), row(s.n);
  fill(x, s.features, type, random);
  keep_rest_finite(x, settings, s.features);
  for (std::size_t b = 0; b < s.batch; ++b)
    for (std::size_t k = 0; k < s.axes; ++k) {
      positions(row, {k, s.axes}, type, random);
      // The gradient of a frequency sums positions times torques; at large positions f16 cannot hold such sums.
      if (type == dtype::f16 && op.input("theta"))
        for (double& m : row)
          if (std::fabs(m) > 40.0) m = std::fmod(m, 40.0) + std::copysign(1.0, m);
      for (std::size_t i = 0; i < s.n; ++i) position[(b * s.n + i) * s.axes + k] = row[i];
    }
  core::shape position_shape{s.batch, s.n};
  if (on_axes) position_shape.push_back(s.axes);
  core::tensors inputs{{"x", core::make_tensor(type, {s.batch, s.n, s.heads, s.features}, x)},
                       {"position", core::make_tensor(op.input("position")->type_in(type), position_shape, position)}};
  if (has_pairs) {
    const std::size_t pairs = size.is_given()    ? size.axis("r", s.features / 2)
                              : random.one_in(4) ? random.below(s.features / 2 + 1)
                                                 : s.features / 2;
    if (op.input("factors")) {
      std::vector<double> factors(pairs);
      for (double& f : factors) f = std::exp2(random.uniform(0, 6));
      inputs.emplace("factors", core::make_tensor(type, {pairs}, factors));
      return inputs;
    }
    const core::shape theta_shape = on_axes ? core::shape{s.heads, s.axes, pairs} : core::shape{pairs};
    std::vector<double> theta;
    for (std::size_t k = 0; k < (on_axes ? s.heads * s.axes : 1); ++k)
      for (const double t : draw_theta(pairs, fill == with_infinities || fill == with_nan, random)) theta.push_back(t);
    inputs.emplace("theta", core::make_tensor(type, theta_shape, theta));
  }
  return inputs;
}

// Keys begin at the first token and queries end at the last; the number of tokens is the larger of the two counts.
core::tensors draw_scores(const core::operation&, dtype type, const core::attributes& settings, counter_random& random,
                          extent size, row_filler positions, x_filler fill) {
  const rotary_extents s = draw_extents(settings, random, size);
  const auto group = static_cast<std::size_t>(core::setting<std::int64_t>(settings, "group"));
  const std::size_t more = size.range == lengths::short_ones ? random.below(5) : 0;
  const bool has_no_keys = size.range == lengths::short_ones && random.one_in(12);
  const std::size_t keys = size.axis("m", size.is_given() ? 5 : has_no_keys ? 0 : s.n + more);
  const std::size_t queries = size.range == lengths::long_ones ? std::min<std::size_t>(s.n, 4) : s.n;
  std::vector<double> row(std::max(queries, keys)), query_positions, key_positions;
  for (std::size_t b = 0; b < s.batch; ++b) {
    positions(row, {0, 1}, type, random);
    key_positions.insert(key_positions.end(), row.begin(), row.begin() + static_cast<std::ptrdiff_t>(keys));
    query_positions.insert(query_positions.end(), row.end() - static_cast<std::ptrdiff_t>(queries), row.end());
  }
  const auto vectors = [&](std::size_t tokens, std::size_t heads) {
    std::vector<double> x(s.batch * tokens * heads * s.features);
    fill(x, s.features, type, random);
    if (fill == large && type == dtype::f16)
      for (double& v : x) v /= 16;  // their products are stored before they are scaled
    return core::make_tensor(type, {s.batch, tokens, heads, s.features}, x);
  };
  core::tensors inputs{{"q", vectors(queries, s.heads * group)}, {"k", vectors(keys, s.heads)}};
  inputs.emplace("query_position", core::make_tensor(dtype::i64, {s.batch, queries}, query_positions));
  inputs.emplace("key_position", core::make_tensor(dtype::i64, {s.batch, keys}, key_positions));
  if (fill == each_its_own_key && group == 1) {
    const std::size_t both = std::min(queries, keys) * s.heads * s.features;
    for (std::size_t b = 0; b < s.batch; ++b) {
      auto &q = inputs.at("q").values.storage(), &k = inputs.at("k").values.storage();
      std::copy_n(k.begin() + static_cast<std::ptrdiff_t>((b + 1) * keys * s.heads * s.features - both), both,
                  q.begin() + static_cast<std::ptrdiff_t>((b + 1) * queries * s.heads * s.features - both));
    }
  }
  return inputs;
}

family rotated(std::string name, std::string summary, row_filler positions, x_filler fill) {
  family f{std::move(name), std::move(summary)};
  f.generate = [positions, fill](const core::operation& op, dtype type, const core::attributes& settings,
                                 counter_random& random, extent size) {
    return (op.input("q") ? draw_scores : draw_rotation)(op, type, settings, random, size, positions, fill);
  };
  f.applies = [positions, fill](const core::operation& op) {
    const bool is_of_axes = positions == behind_text || positions == alike || positions == along_one;
    // Products of such numbers overflow, or are NaN by one formula and infinite by another.
    if (op.input("query_position") != nullptr)
      return op.input("q") != nullptr && !is_of_axes && positions != real_positions && fill != wide &&
             fill != with_infinities;
    if (fill == each_its_own_key) return false;
    if (op.input("x") == nullptr || op.input("position") == nullptr) return false;
    return is_of_axes ? has_axes(op) : positions != real_positions || !op.input("position")->own_type;
  };
  return f;
}

}  // namespace

std::vector<family> rotation_families() {
  return {
      parting_classes(rotated("mild", "positions from 0 on, x of order 1", counted, normal)),
      parting_classes(
          rotated("large_positions", "positions where formats end, up to 2^31 - 1", at_hard_positions, normal)),
      rotated("left_padding", "every row counts from a place of its own", padded, normal),
      parting_classes(rotated("decode", "positions from a large one on", decoded, normal)),
      rotated("evicted", "positions with gaps, as a cache has them after tokens were dropped", evicted, normal),
      rotated("real_positions", "fractions, negative positions", real_positions, normal),
      rotated("behind_text", "a class token at 0, text, then an image whose sides differ", behind_text, normal),
      rotated("alike", "text: the same position on all axes", alike, normal),
      rotated("along_one", "the second axis alone", along_one, normal),
      rotated("one_hot", "one coordinate is 1 or -1, the others 0", decoded, one_hot),
      rotated("wide", "x from subnormal to 2^-8 of the largest number", padded, wide),
      rotated("large_x", "x up to 2^12: rotated numbers cancel", at_hard_positions, large),
      holding_nan(rotated("infinite_x", "infinities in some pairs", at_first_positions, with_infinities)),
      rotated("query_is_key", "a query is the key of its token: most scores are largest there", decoded,
              each_its_own_key),
      holding_nan(rotated("nan_inside", "a NaN in some pairs", evicted_from_one, with_nan)),
  };
}
family rotation_family(std::string_view name) {
  const std::vector<family> all = rotation_families();
  const auto found = std::find_if(all.begin(), all.end(), [&](const family& f) { return f.name == name; });
  ASSAY_EXPECTS(found != all.end());
  return *found;
}

std::vector<usual_size> rotation_sizes(const std::vector<std::string>& operations) {
  const auto size = [&](std::size_t rows, std::size_t tokens, std::size_t heads, std::size_t features, bool always,
                        const char* name = "") -> usual_size {
    return {operations, {{"B", rows}, {"n", tokens}, {"h", heads}, {"d", features}}, always, name};
  };
  return {
      size(5, 9, 9, 80, true),
      size(66, 2, 2, 130, true),
      size(3, 127, 3, 66, true),
      size(1, 1025, 1, 64, true),
      size(5, 66, 9, 6, true),
      size(2, 128, 4, 64, true),
      size(2, 3, 66, 6, true),
      size(1, 3, 2, 515, true),
      size(1, 3, 2, 514, true, "large_positions"),
      size(1, 4097, 1, 6, true),
      size(5, 9, 9, 130, true, every_family),
      size(2, 258, 2, 6, true, every_family),
      size(2, 5, 2, 96, false),
      size(2, 5, 2, 256, false),
      size(3, 4097, 2, 64, false),
      size(2, 65, 65, 34, false),
      size(2, 257, 3, 258, false),
      size(1, 9, 3, 4096, false),
      size(65537, 1, 1, 8, false),
      size(2, 65537, 2, 2, false),
      size(5, 258, 9, 130, false, every_family),
  };
}

std::vector<usual_size> score_sizes(const std::vector<std::string>& operations) {
  const auto size = [&](std::size_t rows, std::size_t heads, std::size_t queries, std::size_t keys,
                        std::size_t features, bool always, const char* name = "") -> usual_size {
    return {operations, {{"B", rows}, {"h", heads}, {"n", queries}, {"m", keys}, {"d", features}}, always, name};
  };
  return {
      size(5, 9, 66, 3, 3, true),
      size(5, 9, 2, 130, 3, true),
      size(1, 1, 66, 130, 3, true),
      size(1, 1, 66, 2, 66, true),
      size(1, 1, 2, 130, 66, true),
      size(1, 1, 3, 66, 64, true),
      size(1, 1, 3, 66, 128, true),
      size(2, 2, 64, 64, 64, true),
      size(1, 2, 63, 191, 2, true),
      size(2, 2, 130, 3, 2, true),
      {operations, {{"B", 2}, {"h", 2}, {"n", 9}, {"m", 66}, {"d", 6}}, true, "", {{"group", std::int64_t{3}}}},
      size(5, 9, 2, 3, 66, true, every_family),
      size(2, 2, 66, 3, 3, true, every_family),
      size(2, 2, 3, 130, 3, true, every_family),
      size(1, 2, 66, 130, 128, false),
      size(1, 1, 258, 514, 64, false),
      size(2, 2, 2, 4097, 6, false),
      size(1, 2, 5, 66, 256, false),
  };
}

rotary_case::rotary_case(const request& call)
    : rotary_case(core::completed(*call.operation, call.attributes), core::sizes_of(call)) {}
rotary_case::rotary_case(const core::attributes& settings, const core::axis_sizes& sizes)
    : rows(sizes.at("B")),
      tokens(sizes.at("n")),
      heads(sizes.at("h")),
      layout(sizes.contains("r")
                 ? reference::rotary_layout(settings, sizes.at("d"), sizes.at("r"))
                 : reference::layout_with_axes(settings, sizes.at("d"), sizes.contains("a") ? sizes.at("a") : 0)) {}

}  // namespace assay::properties
