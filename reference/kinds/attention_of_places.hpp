// The places of queries among the keys, and the declarations of operations that make their bias from these places and a
// parameter. Padding is counted too: key j has the place j, and query i has the place i + m - n, as after cached keys,
// or i.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "reference/kinds/attention_declarations.hpp"

namespace assay::reference {

/// The places of queries among the keys 0, 1, ..., and the keys that they see. With a window a query sees the keys from
/// its place less `left` to its place plus `right`. With chunks of `chunk` places it sees the keys of its own chunk
/// (Llama 4). Where an operation has no setting `alignment`, queries are the last of the keys.
struct query_places {
  bool causal;
  double first;  ///< place of query 0; if it is below 0, the query stands before all keys
  double left, right, chunk;

  query_places(const core::attributes& settings, std::size_t queries, std::size_t keys)
      : causal(core::setting<bool>(settings, "causal")),
        first(!settings.contains("alignment") ||
                      core::chosen<bool>(settings, "alignment", {{"last", true}, {"first", false}})
                  ? static_cast<double>(keys) - static_cast<double>(queries)
                  : 0.0),
        left(width_of(settings, "window_left")),
        right(width_of(settings, "window_right")),
        chunk(settings.contains("chunk") && core::setting<std::int64_t>(settings, "chunk") > 0
                  ? static_cast<double>(core::setting<std::int64_t>(settings, "chunk"))
                  : std::numeric_limits<double>::infinity()) {}
  [[nodiscard]] double position(std::size_t query) const { return first + static_cast<double>(query); }
  [[nodiscard]] bool sees(std::size_t query, std::size_t key) const {
    const double ahead = static_cast<double>(key) - position(query);
    return ahead >= -left && ahead <= right && (!causal || ahead <= 0.0) &&
           std::floor(position(query) / chunk) == std::floor(static_cast<double>(key) / chunk);
  }
  /// Whether the query sees at least one of the first `keys` keys.
  [[nodiscard]] bool sees_any(std::size_t query, std::size_t keys) const {
    const double here = position(query), start = std::isinf(chunk) ? 0.0 : std::floor(here / chunk) * chunk;
    const double last = std::min({static_cast<double>(keys) - 1.0, here + (causal ? 0.0 : right), start + chunk - 1.0});
    return last >= std::max({0.0, here - left, start});
  }
  static std::vector<core::attribute_declaration> declared(bool causal) {
    return {flag("causal", causal, "whether keys after the query are hidden"),
            choice("alignment", {"last", "first"},
                   "where query i of n stands among m keys: at key i + m - n, as after cached keys, or at key i")};
  }
  static std::vector<core::attribute_declaration> windows_declared() {
    return {integer("window_left", {-1, 0, 2, 5}, {-1, 0x1p31},
                    "how many keys before its place a query sees; -1: no limit"),
            integer("window_right", {-1, 0, 1}, {-1, 0x1p31},
                    "how many keys after its place a query sees where it is not causal; -1: no limit"),
            since({0, 2}, integer("chunk", {0, 3}, {0, 0x1p31},
                                  "c: a query sees keys of its own chunk of c places alone; 0: there are no chunks"))};
  }

 private:
  static double width_of(const core::attributes& settings, const char* window) {
    const auto keys = settings.contains(window) ? core::setting<std::int64_t>(settings, window) : -1;
    return keys < 0 ? std::numeric_limits<double>::infinity() : static_cast<double>(keys);
  }
};

/// An operation that makes the bias itself, from a parameter and the places of queries and keys. A query before the
/// first key sees no key where the operation is causal.
inline core::operation attention_of_places(const char* called, core::tensor_declaration parameter, bool causal,
                                           core::stage_declaration bias) {
  core::operation op = attention_operation(called, "m", std::move(parameter));
  for (core::attribute_declaration& a : query_places::declared(causal)) op.attributes.push_back(std::move(a));
  op.attributes.push_back(choice("bias_factor", {"one", "inverse_sqrt", "sqrt"},
                                 "what the bias is multiplied by: 1, 1 / sqrt(d), or sqrt(d)"));
  op.stages.push_back(std::move(bias));
  op.grows_with = core::with_keys;
  op.independent = {"B", "h"};
  return op;
}

}  // namespace assay::reference
