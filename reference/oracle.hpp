// The reference as other code uses it: truth with a proof, allowances, and the named algorithms in the plain arithmetic
// of a dtype. Multiprecision types stay behind this interface.
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

/// All declared operations, forward and derivatives, in the order of the list of encodings. After them come the
/// operations of formulas that a program has added (registry.hpp). Always the same objects.
const operation_list& operations();
/// One of these objects; null where no operation has that name.
const core::operation* find_operation(std::string_view name);
/// The operation whose derivative `op` is, or `op` itself.
const core::operation& forward_of(const core::operation& op);
/// The classes that have an algorithm and a law of their own for an operation, `sequential` first. Any other class has
/// the algorithm of the nearest class before it. `uniform` has none.
const std::vector<accuracy_class>& algorithms_of(const core::operation& op);
/// Whether implementations of an operation have an accuracy class. Where there is only one algorithm, there are no
/// classes to tell apart: an implementation then has an error, and its share of the law.
inline bool has_classes(const core::operation& op) { return algorithms_of(op).size() > 1; }
/// The names of the encodings, and of the formulas that were added.
const std::vector<std::string>& encoding_names();
/// The summary of an encoding. A contract violation where there is no such encoding.
const core::encoding_summary& summary_of(std::string_view encoding);

/// One output with its proof.
struct certified {
  core::tensor rounded;            ///< truth rounded to nearest even in the storage dtype
  xt::xarray<double> low;          ///< truth - rounded; the truth itself where `rounded` overflowed
  xt::xarray<double> radius;       ///< bound on the distance of rounded + low from the truth
  std::vector<std::uint8_t> rung;  ///< the rung of the ladder that proved the element; or `undecided`

  /// The truth as a double, and the signed error of `x` against it (0 where both are NaN or the same infinity, NaN
  /// where one is NaN and the other is not).
  [[nodiscard]] double truth(std::size_t i) const;
  [[nodiscard]] double error_of(double x, std::size_t i) const;
};
using certified_outputs = std::map<std::string, certified>;

/// The ladder of precisions that are tried in turn (Ziv 1991): running bounds in one double and in two, where an
/// operation has them (running_bounds/); balls of one double and of two (readings/ball.hpp); then intervals with these
/// numbers of decimal digits.
inline constexpr std::size_t first_ball_rung = 2, first_interval_rung = 4;
inline constexpr std::array<unsigned, 4> precision_digits{35, 80, 240, 1000};
inline constexpr std::size_t all_rungs = first_interval_rung + precision_digits.size();
inline constexpr std::uint8_t undecided = 255;

/// What a rung has to prove for an element. `value`: the rounded value. `distance`: rounded + low is within 2^-10 of
/// half an ulp of the truth, which is needed to measure errors (then `rounded` is right too, unless the truth is a tie
/// to within 2^-20 of half an ulp). `value_and_low`: the rounded value and `low`, correctly rounded to f64 (0 where the
/// truth is infinite or NaN; the truth itself where `rounded` overflowed).
enum class proof : std::uint8_t { value, distance, value_and_low };

/// The correctly rounded outputs of a call, found on all cores. Precondition: check_request accepts the call. Elements
/// that none of the first `precisions` intervals decides are marked; their rounded + low is still within radius of the
/// truth. Only intervals prove value_and_low: no rung below them proves `low`. For `distance` more intervals follow
/// while some element is not known to a thousandth, since every turn of a loop may widen its interval.
certified_outputs certify(const core::request& call, std::size_t precisions = precision_digits.size(),
                          proof wanted = proof::value);
/// An estimate of the seconds that the truth of a call takes on this machine, made before the computation. It is within
/// a factor of ten.
double seconds_of_truth(const core::request& call);
/// The truth for measuring errors: found by bounds and balls, and by one interval where these do not decide.
inline certified_outputs truth_of(const core::request& call) { return certify(call, 1, proof::distance); }
std::size_t count_undecided(const certified_outputs& outputs);

/// The running error bound k of every element under the law of each class, in units of u of compute.unit(). Each class
/// contains the classes before it. k is infinite where any finite answer is right; see also is_not_judged
/// (error_bound.hpp).
struct allowance {
  std::array<xt::xarray<double>, accuracy_classes.size()> k;
};
using allowances = std::map<std::string, allowance>;
/// The laws of classes after `up_to` are not computed: these classes get the law of the last class that is computed.
/// Precondition: up_to is not uniform.
allowances allow(const core::request& call, const core::precisions& compute,
                 accuracy_class up_to = accuracy_classes.back());

/// The algorithm that a class is named after (sequential, balanced tree, linear, cumsum), where the operation has one
/// of its own. Every operation is rounded to the dtype of the call. Precondition: c is not uniform.
core::tensors evaluate(const core::request& call, accuracy_class c);

/// The derivatives of the outputs of a forward operation along a direction, a tensor for each differentiable input, by
/// dual numbers at 100 digits. Gradients are checked against them.
std::map<std::string, xt::xarray<double>> derivative_along(const core::request& call, const core::tensors& direction);

}  // namespace assay::reference
