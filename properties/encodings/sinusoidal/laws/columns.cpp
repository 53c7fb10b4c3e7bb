// Where the columns of a sinusoidal table stand: layouts, the first row, offsets, odd widths.
#include <fmt/format.h>

#include <optional>
#include <string>

#include "properties/encodings/sinusoidal/laws/laws.hpp"
#include "properties/encodings/sinusoidal/laws/table.hpp"
#include "properties/laws/compared_calls.hpp"

namespace assay::properties::encodings::sinusoidal {
namespace {

using reference::column;
using reference::waveform;

core::attributes settings_of(const test_case& c) { return core::completed(*c.call.operation, c.call.attributes); }

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

// Elements of the table there, each against the column it comes from here.
std::optional<std::string> differing_columns(comparisons& all, const std::vector<std::size_t>& order,
                                             const measured_call& here, const measured_call& there) {
  const std::vector<std::size_t> whole = every(there.outputs.at("p").size());
  std::vector<std::size_t> origin = whole;
  for (std::size_t& k : origin) k = k / order.size() * order.size() + order[k % order.size()];
  return compare_elements(all, "p", here, origin, there, whole);
}

// The other layout holds the same columns elsewhere; gradients are those of the columns, wherever they stand.
outcome check_layouts(implementation& under_test, const test_case& c) {
  test_case other = c;
  exchange(other, "layout", "interleaved", "half_split");
  const std::vector<std::size_t> order = order_of(columns_of(c), columns_of(other));
  const bool backward = c.call.inputs.count("grad_p") != 0;
  if (backward) other.call.inputs.at("grad_p") = core::take(c.call.inputs.at("grad_p"), 1, order);
  const auto here = measure(under_test, c);
  if (!here) return here.error();
  const auto there = measure(under_test, other);
  if (!there) return there.error();
  comparisons all;
  const auto wrong = backward ? compare_outputs(all, *here, *there) : differing_columns(all, order, *here, *there);
  return wrong ? violated("the other layout: " + *wrong, here->outputs, there->outputs) : all.result();
}

// With the other function first the columns of a pair change places; an odd one out would change its function.
outcome check_first(implementation& under_test, const test_case& c) {
  test_case other = c;
  exchange(other, "first", "sine", "cosine");
  const std::vector<std::size_t> order = order_of(columns_of(c), columns_of(other));
  if (order.empty()) return {status::uninformative};
  const auto here = measure(under_test, c);
  if (!here) return here.error();
  const auto there = measure(under_test, other);
  if (!there) return there.error();
  comparisons all;
  const auto wrong = differing_columns(all, order, *here, *there);
  return wrong ? violated("the other function first: " + *wrong, here->outputs, there->outputs) : all.result();
}

// At position 0 every sine is 0 and every cosine 1: the row shows which columns hold which.
outcome check_first_row(implementation& under_test, const test_case& c) {
  const auto call = measure(under_test, at_positions(c, {0.0}));
  if (!call) return call.error();
  const std::vector<column> columns = columns_of(c);
  const auto& row = call->outputs.at("p").values.storage();
  comparisons all;
  for (std::size_t k = 0; k < columns.size(); ++k) {
    const double expected = columns[k].function == waveform::cosine ? 1.0 : 0.0;
    if (all.agree(expected, row[k], call->allowed.at("p")[k], 1.0)) continue;
    return violated(fmt::format("column {} of position 0 is {:.9g} instead of {}; the row is {:.3g}", k, row[k],
                                expected, fmt::join(row.begin(), row.end(), " ")),
                    {}, call->outputs);
  }
  return all.result();
}

// An offset is nothing but another position.
outcome check_offset(implementation& under_test, const test_case& c) {
  const auto offset = static_cast<double>(core::setting<std::int64_t>(settings_of(c), "offset"));
  std::vector<double> moved = positions_of(c);
  for (double& m : moved) m += offset;
  const auto here = measure(under_test, c);
  if (!here) return here.error();
  const auto there = measure(under_test, at_positions(c, moved));
  if (!there) return there.error();
  comparisons all;
  const auto wrong = compare_elements(all, "p", *there, *here);
  if (wrong) return violated(fmt::format("an offset of {}: {}", offset, *wrong), there->outputs, here->outputs);
  return offset == 0.0 ? outcome{status::uninformative} : all.result();
}

// The column that an odd width leaves over is exactly 0.
outcome check_odd_width(implementation& under_test, const test_case& c) {
  const auto call = measure(under_test, c);
  if (!call) return call.error();
  const std::vector<column> columns = columns_of(c);
  const core::tensor& p = call->outputs.at("p");
  bool any = false;
  for (std::size_t k = 0; k < p.size(); ++k) {
    if (columns[k % columns.size()].function != waveform::zero) continue;
    any = true;
    if (const double x = p.values.storage()[k]; x != 0.0)
      return violated(fmt::format("p{} is {:.9g} instead of 0", core::index_text(p.shape(), k), x), {}, call->outputs);
  }
  return any ? outcome{} : outcome{status::uninformative};
}

}  // namespace

std::vector<property> column_laws() {
  const std::vector<std::string> of_integers{table_name}, tables{table_name, "sinusoidal/table_at"};
  std::vector<std::string> with_gradient = tables;
  with_gradient.emplace_back("sinusoidal/table_at:vjp");
  const std::vector<std::string>& whole = families_of_integers();
  const std::vector<std::string> real = families_of_positions();
  return {
      law_of("sinusoidal_layouts", "the layouts hold the same columns in another order", check_layouts, with_gradient,
             real, 2),
      law_of("sinusoidal_first", "sine or cosine first: the same columns in another order", check_first, tables, real,
             2),
      law_of("sinusoidal_first_row", "at position 0 sines are 0 and cosines 1", check_first_row, tables, real),
      law_of("sinusoidal_offset", "an offset is another position", check_offset, of_integers, whole, 2),
      law_of("sinusoidal_odd_width", "the column that an odd width leaves over is 0", check_odd_width, of_integers,
             whole),
  };
}

}  // namespace assay::properties::encodings::sinusoidal
