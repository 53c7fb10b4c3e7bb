#include "properties/diagnosis/sentences.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace assay::properties::words {
namespace {

const char* special(bool is_nan) { return is_nan ? "a NaN" : "an infinity"; }

// The first few sizes.
std::string few(const std::vector<std::size_t>& sizes) {
  constexpr std::size_t most = 6;
  const auto shown = static_cast<std::ptrdiff_t>(std::min(sizes.size(), most));
  return fmt::format("{}{}", fmt::join(sizes.begin(), sizes.begin() + shown, ", "), sizes.size() > most ? ", ..." : "");
}

}  // namespace

std::string outputs_are(const std::vector<std::string>& outputs, bool alone, const std::string& what) {
  return fmt::format("{}{} {} {}", fmt::join(outputs, ", "), alone ? " alone" : "", outputs.size() > 1 ? "are" : "is",
                     what);
}

std::string finite_mask(double number, bool several) {
  return fmt::format("{}{:.6g}{} where it should be -inf", several ? "a finite number, such as " : "", number,
                     several ? "," : "");
}

std::string left_of_one(int precision) { return fmt::format("in steps of 2^-{} (as 1 less a sum is)", precision); }

std::string off_by(double ulps, double explained, std::optional<core::dtype> as_arithmetic_in,
                   std::optional<core::dtype> all_numbers_of) {
  std::string text = fmt::format("off by up to {:.3g} ulp, where rounding explains {:.3g}", ulps, explained);
  if (as_arithmetic_in) text += fmt::format(", as much as arithmetic in {} explains", core::name_of(*as_arithmetic_in));
  if (all_numbers_of) text += fmt::format(" (all are numbers of {})", core::name_of(*all_numbers_of));
  return text;
}

std::string gives(given what) {
  switch (what) {
    case given::all_nan:
      return "NaN";
    case given::all_infinite:
      return "infinities";
    case given::nan_among_them:
      return "wrong values, NaN among them";
    case given::infinities_among_them:
      return "wrong values, infinities among them";
    case given::numbers_wrong:
      break;
  }
  return "wrong values";
}

std::string family_gives(const std::string& family, const std::string& what) {
  return fmt::format("inputs of the family {} give {}", family, what);
}

std::string special_gives(bool is_nan, const std::string& what, bool everywhere) {
  return fmt::format("{} among the inputs gives {}{}", special(is_nan), what,
                     everywhere ? " where there should be none" : "");
}

std::string special_is_lost(bool is_nan) {
  return fmt::format("{} among the inputs does not come out as NaN where it should", special(is_nan));
}

std::string in_some(std::size_t wrong_cases, std::size_t tried) {
  return fmt::format(" in {} of {} cases tried", wrong_cases, tried);
}

std::string at_lengths(const std::vector<std::size_t>& wrong, const std::vector<std::size_t>& right) {
  return fmt::format(" at the length{} {} among those tried, not at {}", wrong.size() > 1 ? "s" : "", few(wrong),
                     few(right));
}

std::string also_in(const std::vector<std::string>& families) {
  if (families.empty()) return "";
  return families.size() == 1 ? fmt::format(" (the family {} is wrong too)", families.front())
                              : fmt::format(" (the families {} are wrong too)", fmt::join(families, ", "));
}

std::string mild_is_right(bool several_lengths) {
  return several_lengths ? "; mild inputs of all lengths tried are right" : "; all mild inputs tried are right";
}

std::string in_counterexample(std::size_t fresh_cases_right) {
  if (fresh_cases_right == 0) return " in the counterexample";
  return fmt::format(" in the counterexample; {} fresh cases are right", fresh_cases_right);
}

std::string from_on(const std::string& first, const std::string& right_before) {
  return fmt::format(" from {} on, and right up to {}", first, right_before);
}

std::string up_to(const std::string& last, const std::string& right_behind) {
  return fmt::format(" up to {}, and right from {} on", last, right_behind);
}

std::string between(const std::string& first, const std::string& last, const std::string& right_before,
                    const std::string& right_behind) {
  return fmt::format("{}, and right up to {} and from {} on",
                     first == last ? " at " + first : fmt::format(" from {} to {}", first, last), right_before,
                     right_behind);
}

std::string explained_in(const std::vector<std::string>& stages, bool several, core::dtype format,
                         const std::optional<std::string>& declaration) {
  return fmt::format("explained if {} {} computed in {}: {}", fmt::join(stages, ", or "), several ? "are" : "is",
                     core::name_of(format), declaration ? "declare it" + *declaration + ", or mend it" : "mend it");
}

std::string same_call_gives(unequal_because why, unequal_by kind, const std::string& when) {
  return fmt::format(
      "{}: the same call gives {} {}",
      why == unequal_because::state_is_kept ? "state is kept between calls"
      : why == unequal_because::calls_race
          ? "it is not deterministic: calls race or depend on chance, and two fresh processes differ, too"
          : "state is kept between calls, or they race",
      kind == unequal_by::an_error  ? "outputs once and an error another time,"
      : kind == unequal_by::outputs ? "other outputs"
                                    : "other bits, not more than rounding explains,",
      when);
}

}  // namespace assay::properties::words
