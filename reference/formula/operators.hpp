// The operators of programs: their names and attributes in the text form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace assay::reference::formula {

enum class number_kind : std::uint8_t { real, integer, boolean };
std::string_view name_of(number_kind kind);
std::optional<number_kind> kind_named(std::string_view name);

enum class op : std::uint8_t {
  // Leaves.
  input,
  data,  ///< an array as it is: numbers that do not follow from an input or a size
  number,
  setting,  ///< a number of a definition, such as a base: programs hold it in doubles, whatever format they compute in
  fraction,
  pi,
  integer,
  boolean,
  iota,
  // Elementwise.
  add,
  subtract,
  multiply,
  divide,
  negative,
  magnitude,
  maximum,
  minimum,
  floor_divide,
  remainder,
  exp,
  log,
  log1p,
  sin,
  cos,
  sine_of_angle,  ///< sin, and cos, in any of the ways in which rotations compute them (algorithms/frequencies.hpp)
  cosine_of_angle,
  tanh,
  erf,
  entire_cosine_integral,  ///< in no text
  sigmoid,
  softplus,
  log_sigmoid,
  floor,
  power,
  pow,
  log_add_exp,
  right_as_well,  ///< x; for allowances alone: y is right as well
  another_way,    ///< x; for allowances alone: y is another way to compute it
  off_by,         ///< x; for allowances alone: with an additional error of |y| u
  less,
  less_equal,
  equal,
  is_nan,
  both,
  either_one,
  negation,
  where,
  to_real,
  index_number,  ///< to_real of an integer that code keeps as an integer: no format rounds it
  to_integer,
  detach,
  taken_by,          ///< x of one stage, as the products of another stage take it (readings/stages.hpp)
  rounded_once,      ///< x; for allowances alone: it may be rounded before it is used
  held_in,           ///< for faults alone, and in no text: x as a tensor of another dtype stores it
  without_error,     ///< for allowances alone, and in no text: x without its error, which changes nothing later
  with_gradient_of,  ///< in no text: x with the gradient of y, like a gradient that is written by hand
  reciprocal_root,   ///< in no text: of the mean of this number of squares (algorithms/root_mean_square.hpp)
  modulus,           ///< in no text: |x + iy| (algorithms/modulus.hpp)
  modulus_slope,     ///< in no text: the derivative of the modulus in x, from x, y and the modulus
  sum_of_products,   ///< x y + z w + ..., in any order
  // Operators that move elements.
  reshape,
  transpose,
  broadcast,
  slice,
  concatenate,
  gather,
  take_along,
  update,
  scatter_add,
  scatter_add_along,
  // Operators that add elements up.
  sum,
  mean,
  largest,
  log_sum_exp,
  any,
  all,
  largest_share,
  softmax,
  less_heaviest,  ///< for proofs alone, and in no text: x less its element with the largest weight
  cumulative_sum,
  cumulative_sum_by_rest,     ///< in no text: the sum of all, less the sum of the elements after each
  cumulative_sum_from_total,  ///< in no text: gradient of cumulative_sum_by_rest, the sum of all less later ones
  cumulative_sum_twice,       ///< in no text: along the last axis; rows that are added to rows that are subtracted
  cumulative_difference,      ///< in no text: x_0 - y_0 + x_1 - y_1 + ..., the gradient of cumulative_sum_twice
  interpolated,               ///< in no text: tables at given places (algorithms/interpolation.hpp)
  interpolation_slope,        ///< in no text: the derivative of `interpolated` in the places
  interpolation_shares,       ///< in no text: cotangents of tables with this number of positions, from all places
  contract,
  contract_where,    ///< over terms that a mask of the shape of the first operand lets in: the others do not exist
  contract_at,       ///< in no text: at places that a mask of the result lets in; elsewhere 0, without a product
  skew_exponential,  ///< in no text: exp(X) of matrices [..., b, b] (algorithms/skew_exponential.hpp)
  skew_exponential_pullback,  ///< in no text: the cotangent of X, from X, a cotangent G and the unsigned terms of G
  geometric_frequencies,      ///< base^(-t / steps) for t = first, first + 1, ..., along an axis after those of base
  // Loops.
  scan  ///< repeats a body; each turn gets the state that the turn before has left (scan.hpp)
};

/// A family of operators whose types follow by one rule.
enum class family : std::uint8_t {
  leaf,
  real_function,  ///< from reals to reals
  arithmetic,     ///< from reals or integers, to the same kind
  integer_function,
  comparison,  ///< from reals or integers, to booleans
  logic,
  cast_or_choice,
  movement,
  scattering,  ///< the transposes of gather and take_along: x, indices, and the numbers that are added to x there
  reduction,   ///< along axes, which vanish; of reals, or of booleans (any, all)
  along_axis,
  loop
};

struct attribute {
  /// `word` is the name of a kind; `letters` and `name` are texts; `values` are the elements of an array.
  enum class form : std::uint8_t { one, list, real, truth, word, name, letters, values, program };
  std::string_view name;
  form kind = form::one;
};

/// The number of inputs of an operator that takes one or more.
inline constexpr std::size_t any_number = SIZE_MAX;

struct operator_row {
  op what;
  std::string_view name;
  family kind;
  std::size_t arity;
  std::span<const attribute> attributes{};
};

const operator_row& row_of(op what);
const operator_row* find_operator(std::string_view name);

}  // namespace assay::reference::formula
