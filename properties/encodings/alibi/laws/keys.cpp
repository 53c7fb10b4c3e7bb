// The laws of the keys of linear biases: what keys that count for nothing may not change.
#include <algorithm>

#include "properties/encodings/alibi/laws/cases.hpp"
#include "properties/encodings/alibi/laws/laws.hpp"

namespace assay::properties::encodings::alibi {
namespace {

// A run of keys, not all of them: those before and after are as of a memory that is masked, or of padding.
std::vector<std::size_t> run_of_keys(const test_case& c, std::size_t keys) {
  if (!has_elements(c) || keys < 2) return {};
  core::counter_random random(c.seed);
  const std::size_t first = random.below(keys), last = first + 1 + random.below(keys - first);
  return last - first == keys ? std::vector<std::size_t>{} : span_of(first, last);
}

// A row padded on the left, its keys numbered (cumsum(mask) - 1) mask as BLOOM has it: no bias for the padding, and the
// tokens have those of the row without it.
void check_left_padding(experiment& e) {
  const std::size_t tokens = key_positions(e.c).size(), pads = 1 + e.c.seed % 3;
  e.needs(has_elements(e.c));
  test_case plain = with_setting(e.c, "form", std::string("key"));
  auto& queries = plain.call.inputs.at("query_position").values.storage();
  for (std::size_t i = 0; i < queries.size(); ++i)
    queries[i] = static_cast<double>(std::max(tokens + i, queries.size()) - queries.size());
  std::vector<double> numbered(pads + tokens, 0.0);
  for (std::size_t j = 0; j < tokens; ++j) numbered[pads + j] = static_cast<double>(j);
  test_case padded = plain;
  padded.call.inputs.at("key_position") = core::make_tensor(core::dtype::i64, {pads + tokens}, numbered);
  numbered.erase(numbered.begin(), numbered.begin() + static_cast<std::ptrdiff_t>(pads));
  plain.call.inputs.at("key_position") = core::make_tensor(core::dtype::i64, {tokens}, numbered);
  const numbers without(e.call(plain), "bias"), with(e.call(padded), "bias");
  for (std::size_t k = 0; k < with.size(); ++k) {
    const std::size_t row = k / (pads + tokens), key = k % (pads + tokens);
    e.equal(key < pads ? exactly(0) : without[row * tokens + key - pads], key < pads ? exactly(with.x[k]) : with[k],
            "{} tokens of padding before, row {}, key {}", pads, row, key);
  }
}

}  // namespace

std::vector<property> key_laws() {
  const law_scope bias = of("alibi/bias");
  return {law("alibi_neutral_keys", "other keys, before or after, change no key's bias", bias,
              agree_alone("m", run_of_keys, "some keys alone, then with others")),
          law("alibi_left_padding", "a row padded on the left has the biases of its tokens", bias,
              {2, check_left_padding})};
}

}  // namespace assay::properties::encodings::alibi
