// The sentences in the head of a report, one function each. gate/findings.cpp decides which of them apply; the test
// assay/report/sentences renders each with an example.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "properties/harness/runner.hpp"
#include "reference/oracle.hpp"

namespace assay::tools {

/// "correct; rounds like step-by-step code: class sequential"; without "correct" if other parts of the run failed.
std::string class_sentence(const core::operation& op, reference::accuracy_class reached, bool run_passed);
/// "correct: rounding explains every error (at most 86 % of the allowance)", for operations with one algorithm.
/// Precondition: the share of the law is at most class_slack.
std::string share_sentence(double share_of_law);
/// For operations on integers.
inline constexpr const char* exact_sentence = "correct: every integer is the right one";
/// "suspicious: its error is 1.65 times the first-order bound of rounding; from 2 times on it is a bug". `law`: the
/// class, if there are several.
std::string suspicious_sentence(double share_of_law, std::string_view law = "");

/// The digits kept in one dtype, the most digits first.
using kept_digits = std::pair<core::dtype, std::vector<properties::digits_up_to>>;
/// "digits of rope/rotate in f64: 15 up to position 3; in f32: 6 up to position 15, 3 up to position 4095": the first
/// and the last of each dtype.
std::string digits_sentence(const core::operation& op, const std::vector<kept_digits>& by_type);
/// "7 digits up to position 15, 4 up to position 2047": all entries of one dtype, for tables.
std::string digits_in_words(const core::operation& op, const std::vector<properties::digits_up_to>& digits);

/// "it does not survive heinsen/scan f32 n=3: crash: signal 11".
std::string broke_sentence(const std::string& call, const std::string& what_happened, bool was_slow);
/// "lanes influence one another": a wrong value violates most properties, so the most telling one is named. If none has
/// words of its own, the sentence gives the demand of the first.
std::string violation_sentence(const std::vector<const properties::property*>& violated);
/// "the counterexample of value, vjp passed when it was run again".
std::string vanished_sentence(const std::vector<std::string>& properties);

}  // namespace assay::tools
