// The operators of programs: their names and attributes as the text form has them.
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
  data,  ///< an array as it is: numbers that no input and no size accounts for
  number,
  setting,  ///< a number of a definition, such as a base: programs hold it in doubles, whatever they compute in
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
  right_as_well,  ///< x, and for allowances alone: y is right as well
  another_way,    ///< x, and for allowances alone: y is another way to compute it
  off_by,         ///< x, and for allowances alone: off by |y| u more
  less,
  less_equal,
  equal,
  is_nan,
  both,
  either_one,
  negation,
  where,
  to_real,
  index_number,  ///< to_real of an integer that code keeps as one: no format rounds it
  to_integer,
  detach,
  taken_by,          ///< x of a stage as the products of another one take it in (readings/stages.hpp)
  rounded_once,      ///< x, and for allowances alone: right as well where it is rounded before it is used
  held_in,           ///< for faults alone, and in no text: x as a tensor of another dtype keeps it
  without_error,     ///< for allowances alone, and in no text: whatever x is off by, nothing else is
  with_gradient_of,  ///< in no text: x, whose gradient is that of y, as one that is written by hand
  reciprocal_root,   ///< in no text: of the mean of so many squares (algorithms/root_mean_square.hpp)
  modulus,           ///< in no text: |x + iy| (algorithms/modulus.hpp)
  modulus_slope,     ///< in no text: the derivative of that by x: of x, y and the modulus
  sum_of_products,   ///< x y + z w + ..., in any order
  // What moves elements.
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
  // What adds them up.
  sum,
  mean,
  largest,
  log_sum_exp,
  any,
  all,
  largest_share,
  softmax,
  less_heaviest,  ///< for proofs alone, and in no text: x less its element of the largest weight
  cumulative_sum,
  cumulative_sum_by_rest,     ///< in no text: as the sum of all less that of those behind
  cumulative_sum_from_total,  ///< in no text: as the sum of all less those behind one after the other, its gradient
  cumulative_sum_twice,       ///< in no text: along the last axis, rows that are added to ones that are subtracted
  cumulative_difference,      ///< in no text: x_0 - y_0 + x_1 - y_1 + ..., its gradient
  interpolated,               ///< in no text: tables at places of theirs (algorithms/interpolation.hpp)
  interpolation_slope,        ///< in no text: the derivative of that by the places
  interpolation_shares,       ///< in no text: what reaches tables of so many positions from all their places
  contract,
  contract_where,    ///< of terms that a mask of the shape of the first operand lets in: the others do not exist
  contract_at,       ///< in no text: at places that a mask of the result lets in: 0 elsewhere, of no product
  skew_exponential,  ///< in no text: exp(X) of matrices [..., b, b] (algorithms/skew_exponential.hpp)
  skew_exponential_pullback,  ///< in no text: what reaches X, of X, a cotangent G and the terms of G without signs
  geometric_frequencies,      ///< base^(-t / steps) for t = first, first + 1, ..., along an axis behind those of base
  // Loops.
  scan  ///< a body so many times, each with what the one before has left (scan.hpp)
};

/// A family of operators whose types follow by one rule.
enum class family : std::uint8_t {
  leaf,
  real_function,  ///< of reals, to reals
  arithmetic,     ///< of reals or integers alike, to the same
  integer_function,
  comparison,  ///< of reals or integers alike, to booleans
  logic,
  cast_or_choice,
  movement,
  scattering,  ///< the transposes of gather and take_along: x, indices, and what is added to x there
  reduction,   ///< of reals along axes, which vanish
  along_axis,
  loop
};

struct attribute {
  /// `word`: the name of a kind; `letters` and `name` are texts; `values` are the elements of an array.
  enum class form : std::uint8_t { one, list, real, truth, word, name, letters, values, program };
  std::string_view name;
  form of = form::one;
};

/// As many inputs as there are, one or more.
inline constexpr std::size_t any_number = SIZE_MAX;

struct operator_row {
  op what;
  std::string_view name;
  family of;
  std::size_t arity;
  std::span<const attribute> attributes{};
};

const operator_row& row_of(op what);
const operator_row* find_operator(std::string_view name);

}  // namespace assay::reference::formula
