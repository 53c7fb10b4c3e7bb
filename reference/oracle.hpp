// The reference as others use it: truth with a proof, allowances, and the named algorithms in the plain
// arithmetic of a dtype. Multiprecision types stay behind this interface.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "reference/accuracy_class.hpp"
#include "reference/core/encoding_summary.hpp"
#include "reference/core/operation.hpp"
#include "reference/operation_list.hpp"

namespace assay::reference {

/// All declared operations, forward and derivatives, in the order of the list of encodings; behind them those of
/// formulas that a program has added (registry.hpp). Always the same objects.
const operation_list& operations();
/// One of these objects; null where there is none of that name.
const core::operation* find_operation(std::string_view name);
/// The operation of which `op` is a derivative, or `op` itself.
const core::operation& forward_of(const core::operation& op);
/// The classes that have an algorithm and a law of their own for an operation, `sequential` first; that of any other
/// class is the nearest before it. `uniform` has none.
const std::vector<accuracy_class>& algorithms_of(const core::operation& op);
/// Whether implementations of an operation have an accuracy class. Where there is one algorithm only, there is nothing
/// to tell apart: they have an error and the share of its law.
inline bool has_classes(const core::operation& op) { return algorithms_of(op).size() > 1; }
/// The names of the encodings, and of what was added.
const std::vector<std::string>& encoding_names();
/// A contract violation where there is no such encoding.
const core::encoding_summary& summary_of(std::string_view encoding);

/// One output with its proof.
struct certified {
  core::tensor rounded;            ///< truth rounded to nearest even in the storage dtype
  xt::xarray<double> low;          ///< truth - rounded; the truth itself where `rounded` overflowed
  xt::xarray<double> radius;       ///< bound on the distance of rounded + low from the truth
  std::vector<std::uint8_t> rung;  ///< of the ladder, that proved the element; or `undecided`

  /// The truth as a double, and the signed error of `x` against it (0 where both are the same infinity,
  /// NaN where one is NaN and the other is not).
  [[nodiscard]] double truth(std::size_t i) const;
  [[nodiscard]] double error_of(double x, std::size_t i) const;
};
using certified_outputs = std::map<std::string, certified>;

/// The ladder of precisions that are tried in turn (Ziv 1991): running bounds in one double and in two, where an
/// operation has them (running_bounds/); balls of one double and of two (readings/ball.hpp); then intervals of so many
/// decimal digits.
inline constexpr std::size_t first_ball_rung = 2, first_interval_rung = 4;
inline constexpr std::array<unsigned, 4> precision_digits{35, 80, 240, 1000};
inline constexpr std::size_t all_rungs = first_interval_rung + precision_digits.size();
inline constexpr std::uint8_t undecided = 255;
/// "running bound", "running bound in two doubles", "double", "two doubles", "35 digits".
std::string name_of_rung(std::size_t rung);

/// What an element's rung has proved: the rounded value; that rounded + low is within 2^-10 of half an ulp of the
/// truth, which is what measuring errors needs (and `rounded` is right but where the truth is a tie to 2^-20 of that);
/// or the rounded value and `low`, correctly rounded to f64 (0 where the truth is infinite or NaN; the truth itself
/// where `rounded` overflowed).
enum class proof : std::uint8_t { value, distance, value_and_low };

/// The correctly rounded outputs of a call, found on all cores. Precondition: check_request accepts it. Elements that
/// none of the first `precisions` intervals decides are marked; rounded + low is within radius of the truth all the
/// same. Below the intervals no `low` is proved: value_and_low is proved by them alone. For `distance` more intervals
/// follow while an element is not known to a thousandth: a loop may widen them with every turn.
certified_outputs certify(const core::request& call, std::size_t precisions = precision_digits.size(),
                          proof wanted = proof::value);
/// About how many seconds the truth of a call takes on this machine, before it is looked for: within a factor of ten.
double seconds_of_truth(const core::request& call);
/// The truth for measuring errors: by bounds and balls, and by one interval where they do not decide.
inline certified_outputs truth_of(const core::request& call) { return certify(call, 1, proof::distance); }
std::size_t count_undecided(const certified_outputs& outputs);

/// The running error bound k of every element under the law of each class, in units of u of compute.unit(), each class
/// containing those before it. Infinite where any finite answer is right, and see is_not_judged (error_bound.hpp).
struct allowance {
  std::array<xt::xarray<double>, accuracy_classes.size()> k;
};
using allowances = std::map<std::string, allowance>;
/// The laws of classes after `up_to` are not computed: they are those of the last one that is. Precondition: up_to is
/// not uniform.
allowances allow(const core::request& call, const core::precisions& compute,
                 accuracy_class up_to = accuracy_classes.back());

/// The algorithm that a class is named after (sequential, balanced tree, linear, cumsum), where the operation has one
/// of its own, every operation rounded to the dtype of the call. Precondition: c is not uniform.
core::tensors evaluate(const core::request& call, accuracy_class c);

/// The derivatives of the outputs of a forward operation along a direction, a tensor for each differentiable input, by
/// dual numbers at 100 digits: what checks the gradients that are written by hand.
std::map<std::string, xt::xarray<double>> derivative_along(const core::request& call, const core::tensors& direction);

}  // namespace assay::reference
