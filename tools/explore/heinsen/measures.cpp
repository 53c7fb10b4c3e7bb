#include "tools/explore/heinsen/measures.hpp"

#include "tools/explore/heinsen/parts.hpp"

namespace assay::explore {
namespace {

constexpr answer_rank own = answer_rank::own;

const presentation presented_scans{
    .question = "How does the error grow with the length?",
    .preset = "growth",
    .answers = {{"digits", "Digits of the worst state", "infinities or NaN", true, false, answer_rank::digits}},
    .drawn = chart_spec{"rms", "law", x_axis::size, "tokens n", "error of s, root mean square", true},
    .said = sentences_of_scans,
    .maps = maps_of_scans,
    .predicted = "rms"};
const presentation presented_running_sums{
    .question = "When does a running sum stand still, and when does it overflow?",
    .preset = "overflow",
    .answers = {{"stalls_at", "The token from which on half of a sum is missing", "none", true, true, own},
                {"overflows_at", "The token at which a sum overflows", "none", true, true, own}},
    .said = sentences_of_running_sums};
const presentation presented_counters{
    .question = "For how many tokens do the signs of a counter tell positions apart?",
    .preset = "separability",
    .answers = {{"first_wrong", "The token of the first wrong sign", "none", true, true, own}},
    .drawn = chart_spec{"first_wrong", "law", x_axis::decay, "margin of the signs", "token of the first wrong sign"},
    .said = sentences_of_counters,
    .predicted = "first_wrong"};
const presentation presented_merging{
    .question = "For how many tokens does a constant input tell positions apart?",
    .preset = "separability",
    .answers = {{"merged_at", "Tokens until states repeat", "none", true, true, own}},
    .drawn = chart_spec{"merged_at", "law", x_axis::memory, "1 / (1 - p)", "tokens until the states repeat"},
    .said = sentences_of_merging,
    .predicted = "merged_at"};
const presentation presented_gradients{
    .question = "Which gradients are noise?",
    .preset = "gradient",
    .answers = {{"median_log_p", "The median relative error of d/d log p", "no number", false, false, own}},
    .drawn = chart_spec{"median_log_p", "law", x_axis::size, "tokens n", "median relative error, d/d log p", true},
    .said = sentences_of_gradients,
    .predicted = "median_log_p"};
const presentation presented_reach{
    .question = "How far back does a gradient reach?",
    .preset = "gradient",
    .answers = {{"ends_at", "Tokens that a gradient reaches back", "no end", true, true, own}},
    .drawn = chart_spec{"ends_at", "law", x_axis::memory, "1 / (1 - p)", "tokens that a gradient reaches"},
    .said = sentences_of_reach,
    .predicted = "ends_at"};
const presentation presented_conditioning{
    .question = "Which errors of the inputs does the recurrence amplify?",
    .preset = "conditioning",
    .answers = {{"response", "The change of the state over the change of the input", "no number", false, false, own}},
    .drawn =
        chart_spec{"response", "law", x_axis::memory, "1 / (1 - p)", "change of s / change of the input", false, true},
    .said = sentences_of_conditioning,
    .predicted = "response"};

}  // namespace

std::vector<measure> measures_of_recurrence() {
  std::vector<measure> all;
  const auto add = [&](measure m, const presentation& presented) {
    m.encoding = "heinsen";
    m.presented = &presented;
    all.push_back(std::move(m));
  };
  add(scan_errors(), presented_scans);
  add(running_sums(), presented_running_sums);
  add(counters(), presented_counters);
  add(merging_positions(), presented_merging);
  add(gradient_error(), presented_gradients);
  add(gradient_reach(), presented_reach);
  add(conditioning(), presented_conditioning);
  return all;
}

}  // namespace assay::explore
