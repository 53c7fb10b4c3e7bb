#include "reference/formula/operators.hpp"

#include <algorithm>
#include <array>

namespace assay::reference::formula {
namespace {

using form = attribute::form;

constexpr attribute input_attributes[]{{"name", form::name}, {"kind", form::word}, {"shape", form::list}};
constexpr attribute data_attributes[]{{"kind", form::word}, {"shape", form::list}, {"values", form::values}};
constexpr attribute number_attributes[]{{"value", form::real}}, integer_attributes[]{{"value"}},
    boolean_attributes[]{{"value", form::truth}}, fraction_attributes[]{{"numerator"}, {"denominator"}},
    iota_attributes[]{{"size"}}, power_attributes[]{{"p"}, {"q"}}, reshape_attributes[]{{"shape", form::list}},
    axes_attributes[]{{"axes", form::list}}, axis_attributes[]{{"axis"}},
    slice_attributes[]{{"start", form::list}, {"stop", form::list}, {"step", form::list}},
    update_attributes[]{{"start", form::list}}, contraction_attributes[]{{"of", form::letters}},
    taken_attributes[]{{"from", form::name}}, frequencies_attributes[]{{"first"}, {"count"}, {"steps"}},
    scan_attributes[]{{"turns"}, {"carried"}, {"stepped"}, {"body", form::program}};

// The rows are in the order of the enumeration.
constexpr operator_row rows[]{
    {op::input, "input", family::leaf, 0, input_attributes},
    {op::data, "data", family::leaf, 0, data_attributes},
    {op::number, "number", family::leaf, 0, number_attributes},
    {op::setting, "setting", family::leaf, 0, number_attributes},
    {op::fraction, "fraction", family::leaf, 0, fraction_attributes},
    {op::pi, "pi", family::leaf, 0},
    {op::integer, "integer", family::leaf, 0, integer_attributes},
    {op::boolean, "boolean", family::leaf, 0, boolean_attributes},
    {op::iota, "iota", family::leaf, 0, iota_attributes},
    {op::add, "add", family::arithmetic, 2},
    {op::subtract, "subtract", family::arithmetic, 2},
    {op::multiply, "multiply", family::arithmetic, 2},
    {op::divide, "divide", family::real_function, 2},
    {op::negative, "negative", family::arithmetic, 1},
    {op::magnitude, "magnitude", family::arithmetic, 1},
    {op::maximum, "maximum", family::arithmetic, 2},
    {op::minimum, "minimum", family::arithmetic, 2},
    {op::floor_divide, "floor_divide", family::integer_function, 2},
    {op::remainder, "remainder", family::integer_function, 2},
    {op::exp, "exp", family::real_function, 1},
    {op::log, "log", family::real_function, 1},
    {op::log1p, "log1p", family::real_function, 1},
    {op::sin, "sin", family::real_function, 1},
    {op::cos, "cos", family::real_function, 1},
    {op::sine_of_angle, "sine_of_angle", family::real_function, 1},
    {op::cosine_of_angle, "cosine_of_angle", family::real_function, 1},
    {op::tanh, "tanh", family::real_function, 1},
    {op::erf, "erf", family::real_function, 1},
    {op::entire_cosine_integral, "entire_cosine_integral", family::real_function, 1},
    {op::sigmoid, "sigmoid", family::real_function, 1},
    {op::softplus, "softplus", family::real_function, 1},
    {op::log_sigmoid, "log_sigmoid", family::real_function, 1},
    {op::floor, "floor", family::real_function, 1},
    {op::power, "power", family::real_function, 1, power_attributes},
    {op::pow, "pow", family::real_function, 2},
    {op::log_add_exp, "log_add_exp", family::real_function, 2},
    {op::right_as_well, "right_as_well", family::real_function, 2},
    {op::another_way, "another_way", family::real_function, 2},
    {op::off_by, "off_by", family::real_function, 2},
    {op::less, "less", family::comparison, 2},
    {op::less_equal, "less_equal", family::comparison, 2},
    {op::equal, "equal", family::comparison, 2},
    {op::is_nan, "is_nan", family::cast_or_choice, 1},
    {op::both, "and", family::logic, 2},
    {op::either_one, "or", family::logic, 2},
    {op::negation, "not", family::logic, 1},
    {op::where, "where", family::cast_or_choice, 3},
    {op::to_real, "to_real", family::cast_or_choice, 1},
    {op::index_number, "index_number", family::cast_or_choice, 1},
    {op::to_integer, "to_integer", family::cast_or_choice, 1},
    {op::detach, "detach", family::real_function, 1},
    {op::taken_by, "taken_by", family::real_function, 1, taken_attributes},
    {op::rounded_once, "rounded_once", family::real_function, 1},
    {op::held_in, "held_in", family::real_function, 1},
    {op::without_error, "without_error", family::real_function, 1},
    {op::with_gradient_of, "with_gradient_of", family::real_function, 2},
    {op::reciprocal_root, "reciprocal_root", family::real_function, 1},
    {op::modulus, "modulus", family::real_function, 2},
    {op::modulus_slope, "modulus_slope", family::real_function, 3},
    {op::sum_of_products, "sum_of_products", family::real_function, any_number},
    {op::reshape, "reshape", family::movement, 1, reshape_attributes},
    {op::transpose, "transpose", family::movement, 1, axes_attributes},
    {op::broadcast, "broadcast", family::movement, 1, reshape_attributes},
    {op::slice, "slice", family::movement, 1, slice_attributes},
    {op::concatenate, "concatenate", family::movement, any_number, axis_attributes},
    {op::gather, "gather", family::movement, 2, axis_attributes},
    {op::take_along, "take_along", family::movement, 2, axis_attributes},
    {op::update, "update", family::movement, 2, update_attributes},
    {op::scatter_add, "scatter_add", family::scattering, 3, axis_attributes},
    {op::scatter_add_along, "scatter_add_along", family::scattering, 3, axis_attributes},
    {op::sum, "sum", family::reduction, 1, axes_attributes},
    {op::mean, "mean", family::reduction, 1, axes_attributes},
    {op::largest, "largest", family::reduction, 1, axes_attributes},
    {op::log_sum_exp, "log_sum_exp", family::reduction, 1, axes_attributes},
    {op::any, "any", family::reduction, 1, axes_attributes},
    {op::all, "all", family::reduction, 1, axes_attributes},
    {op::largest_share, "largest_share", family::along_axis, 1, axes_attributes},
    {op::softmax, "softmax", family::along_axis, 1, axis_attributes},
    {op::less_heaviest, "less_heaviest", family::along_axis, 2, axis_attributes},
    {op::cumulative_sum, "cumulative_sum", family::along_axis, 1, axis_attributes},
    {op::cumulative_sum_by_rest, "cumulative_sum_by_rest", family::along_axis, 1, axis_attributes},
    {op::cumulative_sum_from_total, "cumulative_sum_from_total", family::along_axis, 1, axis_attributes},
    {op::cumulative_sum_twice, "cumulative_sum_twice", family::along_axis, 1, axis_attributes},
    {op::cumulative_difference, "cumulative_difference", family::along_axis, 2, axis_attributes},
    {op::interpolated, "interpolated", family::along_axis, 2},
    {op::interpolation_slope, "interpolation_slope", family::along_axis, 2},
    {op::interpolation_shares, "interpolation_shares", family::along_axis, 2, iota_attributes},
    {op::contract, "contract", family::along_axis, 2, contraction_attributes},
    {op::contract_where, "contract_where", family::along_axis, 3, contraction_attributes},
    {op::contract_at, "contract_at", family::along_axis, 3, contraction_attributes},
    {op::skew_exponential, "skew_exponential", family::along_axis, 1},
    {op::skew_exponential_pullback, "skew_exponential_pullback", family::along_axis, 3},
    {op::geometric_frequencies, "geometric_frequencies", family::along_axis, 1, frequencies_attributes},
    {op::scan, "scan", family::loop, any_number, scan_attributes}};

constexpr bool are_in_order() {
  for (std::size_t k = 0; k < std::size(rows); ++k)
    if (static_cast<std::size_t>(rows[k].what) != k) return false;
  return std::size(rows) == static_cast<std::size_t>(op::scan) + 1;
}
static_assert(are_in_order());

constexpr std::array<std::string_view, 3> kinds{"real", "integer", "boolean"};

}  // namespace

std::string_view name_of(number_kind kind) { return kinds.at(static_cast<std::size_t>(kind)); }
std::optional<number_kind> kind_named(std::string_view name) {
  const auto* const it = std::find(kinds.begin(), kinds.end(), name);
  return it == kinds.end() ? std::nullopt : std::optional(static_cast<number_kind>(it - kinds.begin()));
}

const operator_row& row_of(op what) { return rows[static_cast<std::size_t>(what)]; }
const operator_row* find_operator(std::string_view name) {
  const auto* const it = std::find_if(std::begin(rows), std::end(rows), [&](const auto& r) { return r.name == name; });
  constexpr std::array in_no_text{op::entire_cosine_integral,
                                  op::less_heaviest,
                                  op::held_in,
                                  op::without_error,
                                  op::with_gradient_of,
                                  op::reciprocal_root,
                                  op::modulus,
                                  op::modulus_slope,
                                  op::cumulative_sum_by_rest,
                                  op::cumulative_sum_from_total,
                                  op::cumulative_sum_twice,
                                  op::cumulative_difference,
                                  op::contract_at,
                                  op::skew_exponential,
                                  op::skew_exponential_pullback,
                                  op::interpolated,
                                  op::interpolation_slope,
                                  op::interpolation_shares};
  return it == std::end(rows) || std::ranges::find(in_no_text, it->what) != in_no_text.end() ? nullptr : it;
}

}  // namespace assay::reference::formula
