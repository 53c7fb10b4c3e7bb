// What the laws of sinusoidal tables share: a table by the pairs of its columns, and calls at other positions.
#pragma once

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "properties/laws/relations/relations.hpp"
#include "reference/algorithms/sinusoidal_columns.hpp"

namespace assay::properties::encodings::sinusoidal {

constexpr const char* table_name = "sinusoidal/table";

inline core::attributes settings_of(const test_case& c) {
  return core::completed(*c.call.operation, c.call.attributes);
}

/// The columns of the table of a call, forward or adjoint.
inline std::vector<reference::column> columns_of(const test_case& c) {
  const core::attributes settings = settings_of(c);
  if (c.call.operation->name == table_name) return reference::plan_of_table(settings).columns;
  const std::size_t pairs = sizes_of(c).at("r");
  return reference::arrange_pairs(settings, pairs, pairs);
}

/// Sine and cosine of one angle, as a table has them.
struct wave_pair {
  approximate sine, cosine;
};

/// A table, and where the two functions of each frequency stand; an odd column out is in none.
class pair_table {
 public:
  pair_table(const test_case& c, const measured_call& call) : p_(call, "p") {
    const std::vector<reference::column> columns = columns_of(c);
    for (std::size_t s = 0; s < columns.size(); ++s)
      for (std::size_t t = 0; t < columns.size(); ++t)
        if (columns[s].function == reference::waveform::sine && columns[t].function == reference::waveform::cosine &&
            columns[s].pair == columns[t].pair)
          places_.emplace_back(s, t);
  }
  [[nodiscard]] std::size_t pairs() const { return places_.size(); }
  [[nodiscard]] wave_pair operator()(std::size_t row, std::size_t pair) const {
    return {p_(row, places_[pair].first), p_(row, places_[pair].second)};
  }

 private:
  numbers p_;
  std::vector<std::pair<std::size_t, std::size_t>> places_;  ///< the columns of sine and cosine
};

inline std::vector<double> positions_of(const test_case& c) {
  const auto& m = c.call.inputs.at("position").values.storage();
  return {m.begin(), m.end()};
}

/// The table of other positions, the offset counted already.
inline test_case at_positions(const test_case& c, std::vector<double> positions) {
  core::tensors inputs = c.call.inputs;
  inputs.at("position") = core::make_tensor(inputs.at("position").type, {positions.size()}, positions);
  test_case other = with_inputs(c, std::move(inputs));
  if (c.call.operation->attribute("offset") != nullptr) other.call.attributes["offset"] = std::int64_t{0};
  return other;
}

}  // namespace assay::properties::encodings::sinusoidal
