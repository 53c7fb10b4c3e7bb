// What the laws of sinusoidal tables share: a table by the pairs of its columns, and calls at other positions.
#pragma once

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "properties/laws/approximate.hpp"
#include "properties/laws/laws.hpp"
#include "reference/algorithms/sinusoidal_columns.hpp"

namespace assay::properties::encodings::sinusoidal {

constexpr const char* table_name = "sinusoidal/table";

/// The columns of the table of a call, forward or adjoint.
inline std::vector<reference::column> columns_of(const test_case& c) {
  const core::attributes settings = core::completed(*c.call.operation, c.call.attributes);
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
  pair_table(const test_case& c, measured_call call) : call_(std::move(call)) {
    const std::vector<reference::column> columns = columns_of(c);
    width_ = columns.size();
    for (std::size_t s = 0; s < columns.size(); ++s)
      for (std::size_t t = 0; t < columns.size(); ++t)
        if (columns[s].function == reference::waveform::sine && columns[t].function == reference::waveform::cosine &&
            columns[s].pair == columns[t].pair)
          places_.push_back({s, t});
  }
  [[nodiscard]] std::size_t pairs() const { return places_.size(); }
  [[nodiscard]] wave_pair operator()(std::size_t row, std::size_t pair) const {
    return {element(row, places_[pair].sine), element(row, places_[pair].cosine)};
  }
  [[nodiscard]] const core::tensors& outputs() const { return call_.outputs; }

 private:
  struct place {
    std::size_t sine, cosine;
  };
  [[nodiscard]] approximate element(std::size_t row, std::size_t at) const {
    const std::size_t k = row * width_ + at;
    return {call_.outputs.at("p").values.storage()[k], call_.allowed.at("p")[k]};
  }
  measured_call call_;
  std::size_t width_ = 0;
  std::vector<place> places_;
};

inline tl::expected<pair_table, outcome> table_of(implementation& under_test, const test_case& c) {
  auto call = measure(under_test, c);
  if (!call) return tl::make_unexpected(call.error());
  return pair_table(c, std::move(*call));
}

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
