// The laws of the keys of linear biases: what keys that count for nothing may not change.
#include <fmt/format.h>

#include <algorithm>

#include "properties/encodings/alibi/laws/cases.hpp"
#include "properties/encodings/alibi/laws/laws.hpp"

namespace assay::properties::encodings::alibi {
namespace {

// Each bias of `narrow`, whose keys are those from `first` on of `wide`: its place there.
std::vector<std::size_t> places_among(const measured_call& narrow, const measured_call& wide, std::size_t first) {
  const std::size_t keys = narrow.outputs.at("bias").shape()[2], all_keys = wide.outputs.at("bias").shape()[2];
  std::vector<std::size_t> places = every(narrow.outputs.at("bias").size());
  for (std::size_t& k : places) k = k / keys * all_keys + first + k % keys;
  return places;
}

// Keys before and after those that count, as of a memory that is masked or of padding, change no other key's bias.
outcome check_neutral_keys(implementation& under_test, const test_case& c) {
  const std::size_t keys = key_positions(c).size();
  if (!has_pairs(c) || keys < 2) return {status::uninformative};
  core::counter_random random(c.seed);
  const std::size_t first = random.below(keys), last = first + 1 + random.below(keys - first);
  if (last - first == keys) return {status::uninformative};
  std::vector<std::size_t> kept = every(last);
  kept.erase(kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(first));
  const auto whole = measure(under_test, c);
  if (!whole) return whole.error();
  const auto alone =
      measure(under_test, with_inputs(c, core::restrict_axis(*c.call.operation, c.call.inputs, "m", kept)));
  if (!alone) return alone.error();
  comparisons all;
  const auto wrong = compare_elements(all, "bias", *alone, every(alone->outputs.at("bias").size()), *whole,
                                      places_among(*alone, *whole, first));
  if (wrong)
    return violated(fmt::format("keys {} to {} alone, then with others: {}", first, last - 1, *wrong), alone->outputs,
                    whole->outputs);
  return all.result();
}

// A row padded on the left, its keys numbered (cumsum(mask) - 1) mask as BLOOM has it: no bias for the padding, and the
// tokens have those of the row without it.
outcome check_left_padding(implementation& under_test, const test_case& c) {
  const std::size_t tokens = key_positions(c).size(), pads = 1 + c.seed % 3;
  if (!has_pairs(c)) return {status::uninformative};
  test_case plain = with_setting(c, "form", std::string("key"));
  auto& queries = plain.call.inputs.at("query_position").values.storage();
  for (std::size_t i = 0; i < queries.size(); ++i)
    queries[i] = static_cast<double>(std::max(tokens + i, queries.size()) - queries.size());
  std::vector<double> numbered(pads + tokens, 0.0);
  for (std::size_t j = 0; j < tokens; ++j) numbered[pads + j] = static_cast<double>(j);
  test_case padded = plain;
  plain.call.inputs.at("key_position") = core::make_tensor(
      core::dtype::i64, {tokens}, {numbered.begin() + static_cast<std::ptrdiff_t>(pads), numbered.end()});
  padded.call.inputs.at("key_position") = core::make_tensor(core::dtype::i64, {pads + tokens}, numbered);
  const auto without = measure(under_test, plain);
  if (!without) return without.error();
  const auto with = measure(under_test, padded);
  if (!with) return with.error();
  comparisons all;
  const auto wrong = compare_elements(all, "bias", *without, every(without->outputs.at("bias").size()), *with,
                                      places_among(*without, *with, pads));
  if (wrong)
    return violated(fmt::format("{} tokens of padding before: {}", pads, *wrong), without->outputs, with->outputs);
  const auto& bias = with->outputs.at("bias").values.storage();
  for (std::size_t k = 0; k < bias.size(); ++k)
    if (k % (pads + tokens) < pads && !all.agree(0.0, bias[k], 0.0))
      return violated(fmt::format("a token of padding has the bias {} instead of 0", bias[k]), {}, with->outputs);
  return all.result();
}

}  // namespace

std::vector<property> key_laws() {
  const char* bias = "alibi/bias";
  return {
      law_of("alibi_neutral_keys", "other keys, before or after, change no key's bias", check_neutral_keys, bias, 2),
      law_of("alibi_left_padding", "a row padded on the left has the biases of its tokens", check_left_padding, bias,
             2)};
}

}  // namespace assay::properties::encodings::alibi
