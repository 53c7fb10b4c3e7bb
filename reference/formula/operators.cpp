#include "reference/formula/operators.hpp"

#include <algorithm>
#include <array>

namespace assay::reference::formula {
namespace {

using form = attribute::form;

constexpr attribute of_input[]{{"name", form::name}, {"kind", form::word}, {"shape", form::list}};
constexpr attribute of_data[]{{"kind", form::word}, {"shape", form::list}, {"values", form::values}};
constexpr attribute of_number[]{{"value", form::real}}, of_integer[]{{"value"}}, of_boolean[]{{"value", form::truth}},
    of_fraction[]{{"numerator"}, {"denominator"}}, of_iota[]{{"size"}}, of_power[]{{"p"}, {"q"}},
    of_reshape[]{{"shape", form::list}}, of_axes[]{{"axes", form::list}}, of_axis[]{{"axis"}},
    of_slice[]{{"start", form::list}, {"stop", form::list}, {"step", form::list}}, of_update[]{{"start", form::list}},
    of_contraction[]{{"of", form::letters}}, of_taken[]{{"from", form::name}},
    of_frequencies[]{{"first"}, {"count"}, {"steps"}},
    of_scan[]{{"turns"}, {"carried"}, {"stepped"}, {"body", form::program}};

// The rows are in the order of the enumeration.
constexpr operator_row rows[]{
    {op::input, "input", family::leaf, 0, of_input},
    {op::data, "data", family::leaf, 0, of_data},
    {op::number, "number", family::leaf, 0, of_number},
    {op::setting, "setting", family::leaf, 0, of_number},
    {op::fraction, "fraction", family::leaf, 0, of_fraction},
    {op::pi, "pi", family::leaf, 0},
    {op::integer, "integer", family::leaf, 0, of_integer},
    {op::boolean, "boolean", family::leaf, 0, of_boolean},
    {op::iota, "iota", family::leaf, 0, of_iota},
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
    {op::power, "power", family::real_function, 1, of_power},
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
    {op::taken_by, "taken_by", family::real_function, 1, of_taken},
    {op::rounded_once, "rounded_once", family::real_function, 1},
    {op::held_in, "held_in", family::real_function, 1},
    {op::without_error, "without_error", family::real_function, 1},
    {op::with_gradient_of, "with_gradient_of", family::real_function, 2},
    {op::reciprocal_root, "reciprocal_root", family::real_function, 1},
    {op::modulus, "modulus", family::real_function, 2},
    {op::modulus_slope, "modulus_slope", family::real_function, 3},
    {op::sum_of_products, "sum_of_products", family::real_function, any_number},
    {op::reshape, "reshape", family::movement, 1, of_reshape},
    {op::transpose, "transpose", family::movement, 1, of_axes},
    {op::broadcast, "broadcast", family::movement, 1, of_reshape},
    {op::slice, "slice", family::movement, 1, of_slice},
    {op::concatenate, "concatenate", family::movement, any_number, of_axis},
    {op::gather, "gather", family::movement, 2, of_axis},
    {op::take_along, "take_along", family::movement, 2, of_axis},
    {op::update, "update", family::movement, 2, of_update},
    {op::scatter_add, "scatter_add", family::scattering, 3, of_axis},
    {op::scatter_add_along, "scatter_add_along", family::scattering, 3, of_axis},
    {op::sum, "sum", family::reduction, 1, of_axes},
    {op::mean, "mean", family::reduction, 1, of_axes},
    {op::largest, "largest", family::reduction, 1, of_axes},
    {op::log_sum_exp, "log_sum_exp", family::reduction, 1, of_axes},
    {op::any, "any", family::reduction, 1, of_axes},
    {op::all, "all", family::reduction, 1, of_axes},
    {op::largest_share, "largest_share", family::along_axis, 1, of_axes},
    {op::softmax, "softmax", family::along_axis, 1, of_axis},
    {op::less_heaviest, "less_heaviest", family::along_axis, 2, of_axis},
    {op::cumulative_sum, "cumulative_sum", family::along_axis, 1, of_axis},
    {op::cumulative_sum_by_rest, "cumulative_sum_by_rest", family::along_axis, 1, of_axis},
    {op::cumulative_sum_from_total, "cumulative_sum_from_total", family::along_axis, 1, of_axis},
    {op::cumulative_sum_twice, "cumulative_sum_twice", family::along_axis, 1, of_axis},
    {op::cumulative_difference, "cumulative_difference", family::along_axis, 2, of_axis},
    {op::interpolated, "interpolated", family::along_axis, 2},
    {op::interpolation_slope, "interpolation_slope", family::along_axis, 2},
    {op::interpolation_shares, "interpolation_shares", family::along_axis, 2, of_iota},
    {op::contract, "contract", family::along_axis, 2, of_contraction},
    {op::contract_where, "contract_where", family::along_axis, 3, of_contraction},
    {op::contract_at, "contract_at", family::along_axis, 3, of_contraction},
    {op::skew_exponential, "skew_exponential", family::along_axis, 1},
    {op::skew_exponential_pullback, "skew_exponential_pullback", family::along_axis, 3},
    {op::geometric_frequencies, "geometric_frequencies", family::along_axis, 1, of_frequencies},
    {op::scan, "scan", family::loop, any_number, of_scan}};

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
