// The words of a diagnosis, one function each. Other files of this folder decide which of them apply. The test
// properties/diagnosis/sentences renders each with an example.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "reference/core/dtype.hpp"

namespace assay::properties::words {

/// "grad_h alone is NaN", "s, s_n are wrong": `what` is one of the constants below.
std::string outputs_are(const std::vector<std::string>& outputs, bool alone, const std::string& what);

inline constexpr const char* simply_wrong = "wrong";
inline constexpr const char* not_a_number = "NaN";
inline constexpr const char* infinite = "infinite where it should be finite";
inline constexpr const char* lost_nan = "a number where it should be NaN";
inline constexpr const char* zero = "0 where it should not be";
/// "-1e+09 where it should be -inf"; `several`: the number is one of several that stand there.
std::string finite_mask(double number, bool several);
/// "in steps of 2^-24 (as 1 less a sum is)".
std::string left_of_one(int precision);
/// "off by up to 40 ulp, where rounding explains 3, as much as arithmetic in bf16 explains (all are numbers
/// of bf16)".
std::string off_by(double ulps, double explained, std::optional<core::dtype> as_arithmetic_in,
                   std::optional<core::dtype> all_numbers_of);

/// The values that a sentence names after "log f = -inf gives".
enum class given { numbers_wrong, nan_among_them, infinities_among_them, all_nan, all_infinite };
std::string gives(given what);
/// "inputs of the family far_keys give wrong values".
std::string family_gives(const std::string& family, const std::string& what);
/// "a NaN among the inputs gives NaN where there should be none", and "a NaN among the inputs does not come out as NaN
/// where it should".
std::string special_gives(bool is_nan, const std::string& what, bool everywhere);
std::string special_is_lost(bool is_nan);

/// The place of the fault. These words follow the description of the fault.
inline constexpr const char* on_mild = " on mild inputs";
inline constexpr const char* every_size = " of every size tried";
inline constexpr const char* on_derived = " on inputs that a check derives from others";
std::string in_some(std::size_t wrong_cases, std::size_t tried);
std::string at_lengths(const std::vector<std::size_t>& wrong, const std::vector<std::size_t>& right);
std::string also_in(const std::vector<std::string>& families);
std::string mild_is_right(bool several_lengths);
std::string in_counterexample(std::size_t fresh_cases_right);
std::string from_on(const std::string& first, const std::string& right_before);
std::string up_to(const std::string& last, const std::string& right_behind);
std::string between(const std::string& first, const std::string& last, const std::string& right_before,
                    const std::string& right_behind);

/// A whole sentence: "explained if angle (...) is computed in bf16: declare it (compute = ...), or mend it".
std::string explained_in(const std::vector<std::string>& stages, bool several, core::dtype format,
                         const std::optional<std::string>& declaration);

/// Why equal calls differ, how, and when: "state is kept between calls: the same call gives other outputs after other
/// calls".
enum class unequal_because { state_is_kept, calls_race, either };
enum class unequal_by { bits, outputs, an_error };
inline constexpr const char* repeated_at_once = "when it is repeated at once";
inline constexpr const char* after_others = "after other calls";
inline constexpr const char* started_anew = "where the candidate is started anew";
std::string same_call_gives(unequal_because why, unequal_by kind, const std::string& when);

}  // namespace assay::properties::words
