#include "tools/judge/judge.hpp"

#include <fmt/format.h>

#include "golden/expected_outputs.hpp"
#include "golden/formats/safetensors.hpp"
#include "properties/diagnosis/one_call.hpp"
#include "properties/harness/suspicion.hpp"
#include "reference/oracle.hpp"
#include "tools/commands.hpp"
#include "tools/transports/outputs.hpp"

namespace assay::tools {
namespace {

std::string words_of_right(const requested_call& requested, const properties::value_report& r,
                           const std::optional<properties::suspicion>& suspicious) {
  const core::operation& op = *requested.call.operation;
  std::string words = fmt::format("right: {} elements", r.elements);
  if (const auto reached = r.accuracy_class(); reached && reference::has_classes(op))
    words += fmt::format(", of class {}", name_of(*reached));
  if (r.elements > 0) words += fmt::format(", the largest error {:.3g} ulp", r.largest_ulp);
  if (!r.informative) words += "; an answer that knows nothing of the inputs would pass, too";
  if (suspicious) words += "\nsuspicious: " + properties::in_words(*suspicious);
  return words;
}

std::string words_of_wrong(const requested_call& requested, const core::tensors& outputs,
                           const properties::value_report& r) {
  std::string words = fmt::format("wrong: {}", r.message);
  if (r.wrong > 1) words += fmt::format("\n{} of {} elements are wrong in all", r.wrong, r.elements);
  if (const auto cause = properties::explanation_of_outputs(requested.call, requested.compute, outputs, r))
    words += "\n" + *cause;
  return words;
}

// Whether the outputs need a wider class than requested; "uniform" is the narrowest.
bool exceeds(const requested_call& requested, const properties::value_report& r) {
  if (!requested.within) return false;
  const auto reached = r.accuracy_class();
  return !reached || *reached > *requested.within;
}

// "40 seconds", "3 minutes", "5 hours"
std::string in_words(double seconds) {
  if (seconds < 90.0) return fmt::format("{:.2g} seconds", seconds);
  return seconds < 5400.0 ? fmt::format("{:.0f} minutes", seconds / 60.0)
                          : fmt::format("{:.0f} hours", seconds / 3600.0);
}

// Before a long computation begins, this tells the user how long it takes. Beyond the limit it does not begin.
core::result<void> check_duration(const requested_call& requested) {
  constexpr double worth_saying = 20.0;
  const double seconds = reference::seconds_of_truth(requested.call);
  if (requested.limit > 0.0 && seconds > requested.limit)
    return core::failure(fmt::format("the truth of this call takes {} or so, and the limit is {}", in_words(seconds),
                                     in_words(requested.limit)));
  if (seconds > worth_saying) complain(fmt::format("the truth of this call takes {} or so", in_words(seconds)));
  return {};
}

}  // namespace

core::result<void> write_truth(const requested_call& requested, const std::filesystem::path& out) {
  if (const auto ok = check_duration(requested); !ok) return ok;
  core::tensors all;
  for (auto& [name, y] : golden::expected_outputs(requested.call, requested.compute, requested.within)) {
    all.emplace(name + ":allowed", core::tensor{core::dtype::f64, y.allowed});
    all.emplace(name, y.truth);
  }
  return formats::write_safetensors(out, all);
}

core::result<judgement> judge_outputs(const requested_call& requested, const std::filesystem::path& outputs) {
  if (const auto ok = check_duration(requested); !ok) return tl::make_unexpected(ok.error());
  const auto given = transports::read_outputs(outputs, requested.call);
  // Outputs of another shape or dtype are wrong outputs; a file that cannot be read is no answer.
  using properties::fault;
  const auto is_wrong = [](fault f) {
    return f == fault::missing_output || f == fault::unknown_output || f == fault::wrong_dtype ||
           f == fault::wrong_shape;
  };
  if (!given && is_wrong(given.error().kind)) return judgement{false, "wrong: " + given.error().message};
  if (!given) return core::failure(given.error().message);
  const properties::value_report r = properties::judge(requested.call, requested.compute, *given);
  if (!r.passed) return judgement{false, words_of_wrong(requested, *given, r)};
  // For a large call of a formula, 32 more runs take longer than everything else: only a strict judgement makes them.
  std::optional<properties::suspicion> suspicious;
  if (requested.strict || !requested.call.operation->name.starts_with("formula/"))
    suspicious = properties::usual_errors(requested.call, requested.compute).suspicion_of(*given);
  if (!exceeds(requested, r))
    return judgement{!(requested.strict && suspicious), words_of_right(requested, r, suspicious)};
  return judgement{
      false, fmt::format("{}, and not of class {}", words_of_right(requested, r, {}), name_of(*requested.within))};
}

}  // namespace assay::tools
