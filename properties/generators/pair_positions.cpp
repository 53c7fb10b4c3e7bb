#include "properties/generators/pair_positions.hpp"

#include <cmath>

namespace assay::properties {

double largest_position(core::dtype type) { return type == core::dtype::f16 ? 0x1p11 + 1000 : 0x1p31; }

pair_positions draw_pairs(const core::operation& op, core::counter_random& random, extent size) {
  std::size_t queries = random.below(5), keys = random.below(6);
  if (size.range == lengths::exactly) queries = keys = size.tokens;
  if (size.range == lengths::long_ones) {
    queries = 3 + random.below(4);
    keys = 200 + random.below(100);
  }
  if (size.range == lengths::around_blocks) {
    queries = 1 + random.below(3);
    keys = (std::size_t{1} << (3 + random.below(3))) - 1 + random.below(3);
  }
  if (size.is_given()) {
    queries = 3;
    keys = 5;
  }
  return {std::vector<double>(size.axis(core::axis_with(op, core::axis_role::token), queries)),
          std::vector<double>(size.axis(core::axis_with(op, core::axis_role::key), keys))};
}

namespace {

void in_order_from(double first, pair_positions& positions) {
  const std::size_t queries = positions.query.size(), keys = positions.key.size();
  for (std::size_t j = 0; j < keys; ++j) positions.key[j] = first + static_cast<double>(j);
  const std::size_t cached = keys > queries ? keys - queries : 0;
  for (std::size_t i = 0; i < queries; ++i) positions.query[i] = first + static_cast<double>(cached + i);
}

}  // namespace

void in_order(pair_positions& positions, core::dtype, core::counter_random&) { in_order_from(0, positions); }

void far_window(pair_positions& positions, core::dtype type, core::counter_random& random) {
  const double room = std::log2(largest_position(type) / 2 - 1000);
  in_order_from(std::floor(std::exp2(random.uniform(6, room))), positions);
}

void scattered(pair_positions& positions, core::dtype type, core::counter_random& random) {
  const double bits = std::log2(largest_position(type));
  for (auto* all : {&positions.query, &positions.key})
    for (double& p : *all) p = std::floor(std::exp2(random.uniform(0, bits)));
  if (!positions.query.empty() && !positions.key.empty() && random.one_in(2))
    positions.key[random.below(positions.key.size())] = positions.query.back();
}

void add_positions(const core::operation& op, core::tensors& inputs, const pair_positions& positions) {
  const auto [query, key] = core::places_of(op);
  inputs[query->name] = core::make_tensor(core::dtype::i64, {positions.query.size()}, positions.query);
  inputs[key->name] = core::make_tensor(core::dtype::i64, {positions.key.size()}, positions.key);
}

}  // namespace assay::properties
