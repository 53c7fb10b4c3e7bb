#include "tools/report/sentences.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace assay::tools {
namespace {

using properties::digits_up_to;
using reference::accuracy_class;

struct class_text {
  accuracy_class is;
  bool loses;  ///< loses digits that a better algorithm keeps
  const char* text;
};
constexpr class_text class_texts[] = {
    {accuracy_class::uniform, false, "errors do not grow with the length"},
    {accuracy_class::sequential, false, "rounds like step-by-step code"},
    {accuracy_class::tree, false, "rounds like a tree or a chunked scan"},
    {accuracy_class::linear, true, "rounds like a scan in the linear domain, on exp(s)"},
    {accuracy_class::cumsum, true, "loses digits as the length grows, as prefix sums do"},
};

// The most telling property comes first.
struct violation_text {
  const char *property, *text;
};
constexpr violation_text violation_texts[] = {
    {"lanes", "lanes influence one another"},
    {"causality", "outputs depend on later tokens"},
    {"permutation", "the order of batch rows or features matters"},
    {"continuation", "a sequence in two chunks differs from the whole"},
    {"recurrence", "n tokens at once differ from n steps of one token"},
    {"attachment", "gradients through two chunks differ from those through the whole"},
    {"adjoint", "the gradient is not the transpose of the directional derivative"},
};

std::string up_to(const core::operation& op, const digits_up_to& d) {
  return fmt::format("up to {}", op.grows_with->words(op, d.farthest));
}

}  // namespace

std::string class_sentence(const core::operation& op, accuracy_class reached, bool run_passed) {
  // Operations of class linear that are no scans take a logarithm of a sum, a sum of cosines, a product of remainders,
  // or the remainder of a weight. A filter has a state too, but its errors do not grow.
  const core::operation& forward = reference::forward_of(op);
  const bool is_scan = forward.recurrent && forward.grows_with;
  for (const class_text& c : class_texts)
    if (c.is == reached)
      return fmt::format("{}{}: class {}",
                         !run_passed ? ""
                         : c.loses   ? "correct, but "
                                     : "correct; ",
                         reached == accuracy_class::linear && !is_scan
                             ? "loses what is small beside a larger number, as log(1 + x) does"
                             : c.text,
                         name_of(reached));
  return "";
}

std::string share_sentence(double share_of_law) {
  if (share_of_law == 0.0) return "correct: no error beyond the rounding of the results";
  if (share_of_law > 1.0)
    return fmt::format("correct: rounding explains every error (at most {:.3g} times its first-order estimate)",
                       share_of_law);
  return fmt::format("correct: rounding explains every error (at most {:.0f} % of the allowance)",
                     std::max(100 * share_of_law, 1.0));
}

std::string suspicious_sentence(double share_of_law, std::string_view law) {
  return fmt::format(
      "suspicious: its error is {:.3g} times the first-order bound of rounding{}; from {} times on it is a bug",
      share_of_law, law.empty() ? "" : fmt::format(" (class {})", law), properties::bug_slack);
}

std::string digits_sentence(const core::operation& op, const std::vector<kept_digits>& by_type) {
  std::vector<std::string> each;
  for (const auto& [type, digits] : by_type) {
    const digits_up_to &first = digits.front(), &last = digits.back();
    each.push_back(fmt::format("in {}: {} {}", core::name_of(type), first.digits, up_to(op, first)));
    if (last != first) each.back() += fmt::format(", {} {}", last.digits, up_to(op, last));
  }
  return fmt::format("digits of {}{} {}", op.name, op.grows_with->of_mild_inputs ? ", mild inputs," : "",
                     fmt::join(each, "; "));
}

std::string digits_in_words(const core::operation& op, const std::vector<digits_up_to>& digits) {
  std::string text;
  for (const digits_up_to& d : digits)
    text += fmt::format("{}{}{} {}", text.empty() ? "" : ", ", d.digits,
                        !text.empty()   ? ""
                        : d.digits == 1 ? " digit"
                                        : " digits",
                        up_to(op, d));
  return text + (!text.empty() && op.grows_with->of_mild_inputs ? " (mild inputs)" : "");
}

std::string broke_sentence(const std::string& call, const std::string& what_happened, bool was_slow) {
  return fmt::format("it does not survive {}: {}{}", call, what_happened,
                     was_slow ? "; --case-timeout gives it longer" : "");
}

std::string violation_sentence(const std::vector<const properties::property*>& violated) {
  for (const violation_text& v : violation_texts)
    for (const properties::property* p : violated)
      if (p->name == v.property) return v.text;
  return fmt::format("the property '{}' does not hold: {}", violated.front()->name, violated.front()->summary);
}

std::string vanished_sentence(const std::vector<std::string>& properties) {
  return fmt::format("the counterexample of {} passed when it was run again", fmt::join(properties, ", "));
}

}  // namespace assay::tools
