// What the laws of T5's relative bias share: the bucket map of a case, other tables, distances of pairs.
#pragma once

#include "properties/laws/relations/relations.hpp"
#include "reference/encodings/t5_bias.hpp"

namespace assay::properties::encodings::t5_bias {

inline reference::bucket_map map_of(const test_case& c) {
  return reference::encodings::t5_bias::map_of(c.call.attributes);
}

using table_entry = double (*)(std::size_t head, std::size_t bucket);
inline test_case with_table(const test_case& c, table_entry entry) {
  test_case other = c;
  core::tensor& table = other.call.inputs.at("table");
  const std::size_t buckets = table.shape()[1];
  for (std::size_t i = 0; i < table.size(); ++i) table.values.storage()[i] = entry(i / buckets, i % buckets);
  return other;
}

/// The distance of every pair, queries by keys.
inline std::vector<double> distances_of(const test_case& c) {
  std::vector<double> all;
  for (const double query : c.call.inputs.at("query_position").values.storage())
    for (const double key : c.call.inputs.at("key_position").values.storage()) all.push_back(key - query);
  return all;
}

}  // namespace assay::properties::encodings::t5_bias
