// Where the columns of a sinusoidal table stand: layouts, the first row, offsets, odd widths.
#include <fmt/format.h>

#include <optional>
#include <string>

#include "properties/encodings/sinusoidal/laws/laws.hpp"
#include "properties/encodings/sinusoidal/laws/table.hpp"

namespace assay::properties::encodings::sinusoidal {
namespace {

using reference::column;
using reference::waveform;

void exchange(test_case& c, const char* setting, const char* one, const char* other) {
  const bool is_one = core::setting<std::string>(settings_of(c), setting) == one;
  c.call.attributes[setting] = std::string(is_one ? other : one);
}

/// Which columns of the first arrangement stand in those of the second; none where it has others.
std::vector<std::size_t> order_of(const std::vector<column>& from, const std::vector<column>& to) {
  std::vector<std::size_t> order;
  for (const column& wanted : to)
    for (std::size_t k = 0; k < from.size(); ++k)
      if (from[k].function == wanted.function && from[k].pair == wanted.pair) order.push_back(k);
  return order.size() == to.size() ? order : std::vector<std::size_t>{};
}

// The elements of the table there are those of the columns they come from here.
void compare_columns(experiment& e, const test_case& other, const std::vector<std::size_t>& order, const char* what) {
  const measured_call &here = e.call(), &there = e.call(other);
  const std::vector<std::size_t> whole = every(there.outputs.at("p").size());
  std::vector<std::size_t> origin = whole;
  for (std::size_t& k : origin) k = k / order.size() * order.size() + order[k % order.size()];
  e.equal("p", here, origin, there, whole, what);
}

// The other layout holds the same columns elsewhere; gradients are those of the columns, wherever they stand.
void check_layouts(experiment& e) {
  test_case other = e.c;
  exchange(other, "layout", "interleaved", "half_split");
  const std::vector<std::size_t> order = order_of(columns_of(e.c), columns_of(other));
  if (!e.c.call.inputs.contains("grad_p")) return compare_columns(e, other, order, "the other layout");
  other.call.inputs.at("grad_p") = core::take(e.c.call.inputs.at("grad_p"), 1, order);
  const measured_call& here = e.call();
  e.equal(here, e.call(other), "the other layout");
}

// With the other function first the columns of a pair change places; an odd one out would change its function.
void check_first(experiment& e) {
  test_case other = e.c;
  exchange(other, "first", "sine", "cosine");
  const std::vector<std::size_t> order = order_of(columns_of(e.c), columns_of(other));
  e.needs(!order.empty());
  compare_columns(e, other, order, "the other function first");
}

// At position 0 every sine is 0 and every cosine 1: the row shows which columns hold which.
void check_first_row(experiment& e) {
  const numbers row(e.call(at_positions(e.c, {0.0})), "p");
  const std::vector<column> columns = columns_of(e.c);
  for (std::size_t k = 0; k < columns.size(); ++k)
    e.equal(exactly(columns[k].function == waveform::cosine), row[k], 1.0, "column {} of position 0, row {:.3g}", k,
            fmt::join(row.x.begin(), row.x.end(), " "));
}

// An offset is nothing but another position.
std::optional<test_case> with_positions_moved(const test_case& c) {
  const auto offset = static_cast<double>(core::setting<std::int64_t>(settings_of(c), "offset"));
  if (offset == 0.0) return std::nullopt;
  std::vector<double> moved = positions_of(c);
  for (double& m : moved) m += offset;
  return at_positions(c, moved);
}

// The column that an odd width leaves over is exactly 0.
void check_odd_width(experiment& e) {
  const numbers p(e.call(), "p");
  const std::vector<column> columns = columns_of(e.c);
  for (std::size_t k = 0; k < p.size(); ++k)
    if (columns[k % columns.size()].function == waveform::zero)
      e.equal(exactly(0), exactly(p.x[k]), "p{}", core::index_text(p.shape, k));
}

}  // namespace

std::vector<property> column_laws() {
  const law_scope tables{{table_name, "sinusoidal/table_at"}, families_of_positions()},
      of_integers{{table_name}, families_of_integers()};
  law_scope with_gradient = tables;
  with_gradient.operations.emplace_back("sinusoidal/table_at:vjp");
  return {
      law("sinusoidal_layouts", "the layouts hold the same columns in another order", with_gradient,
          {2, check_layouts}),
      law("sinusoidal_first", "sine or cosine first: the same columns in another order", tables, {2, check_first}),
      law("sinusoidal_first_row", "at position 0 sines are 0 and cosines 1", tables, {1, check_first_row}),
      law("sinusoidal_offset", "an offset is another position", of_integers,
          agree_between(with_positions_moved, unchanged_case(), "other positions, and an offset")),
      law("sinusoidal_odd_width", "the column that an odd width leaves over is 0", of_integers, {1, check_odd_width}),
  };
}

}  // namespace assay::properties::encodings::sinusoidal
