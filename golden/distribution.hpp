// Distributions of inputs as data. Numbers are drawn with a counter-based generator and exact operations alone: the
// same recipe gives the same numbers with every compiler and on every processor.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reference/core/counter_random.hpp"
#include "reference/core/operation.hpp"

namespace assay::golden {

/// About one element in `one_in` becomes `value`.
struct sprinkle {
  double value = 0;
  std::size_t one_in = 1;
};

/// The first `count` positions along the axis of this symbol become `value`.
struct prefix {
  std::string axis;
  std::size_t count = 0;
  double value = 0;
};

struct distribution {
  /// The element with this flat index; it is then rounded to the dtype.
  std::function<double(core::counter_random& random, core::dtype type, std::size_t index)> draw;
  std::vector<sprinkle> sprinkles;
  std::vector<prefix> prefixes;
};

/// An object with one of
///
///   {"uniform": [low, high]}   {"normal": {"scale": x, "shift": x}} (bounded: within 6 scales of the shift)
///   {"integers": [low, high]}  each integer from low to high is equally likely; within 2^53
///   {"constant": x}            {"values": [x, ...]} in turn, again from the first when they run out
///   {"choice": [x, ...]}       each drawn at random
///   {"binades": {"from": e, "to": e, "sign": "positive", "negative" or "either", "of": unit}}
///                              a significand from [1, 2) times 2^e, e drawn from [from, to], times the unit:
///                              "one" (the default), "smallest_normal" or "smallest_subnormal" of the dtype
///   {"powers": the same}       with significand 1
///
/// and optionally "sprinkle": {"value": x, "one_in": k} and "prefix": {"axis": symbol, "count": k, "value": x}, or a
/// list of such objects; prefixes are applied last. Numbers are JSON numbers, or strings such as "0x1.8p+1", "-inf" and
/// "nan".
core::result<distribution> parse_distribution(const nlohmann::json& j);

/// A tensor of this declaration in a call of dtype `type`, every element rounded to the dtype of the tensor.
core::tensor draw(const distribution& d, const core::tensor_declaration& declaration, core::dtype type,
                  const core::axis_sizes& sizes, std::uint64_t seed);

}  // namespace assay::golden
