// Sizes and masks at which kernels fail.
#include "properties/encodings/attention/tile_faults.hpp"

#include <algorithm>
#include <span>

#include "properties/faults/call_changes.hpp"
#include "properties/faults/scheme_variant.hpp"
#include "reference/core/special_values.hpp"
#include "reference/encodings/attention.hpp"

namespace assay::properties::encodings::attention {
namespace {

inline constexpr auto& breaking = make_variant<reference::encodings::attention>;

// Calls f with each row of the bias, if there are keys.
template <class F>
void change_rows(request& call, F f) {
  if (!call.inputs.contains("bias") || call.inputs.at("k").shape()[2] == 0) return;
  for (const std::span<double> row : rows_of(call.inputs.at("bias"))) f(row);
}
void lose_keys_from(std::span<double> row, std::size_t first) {
  if (first > 0 && first < row.size())
    std::fill(row.begin() + static_cast<std::ptrdiff_t>(first), row.end(), -core::infinity);
}
constexpr std::size_t block = 16;  // larger blocks, and indices of 16 bits: properties/tests/size_faults_test.cpp
void last_block(request& call) {
  change_rows(call, [](std::span<double> row) { lose_keys_from(row, row.size() / block * block); });
}
void last_key_alone(request& call) {
  change_rows(call, [](std::span<double> row) {
    if (row.size() % block == 1) lose_keys_from(row, row.size() - 1);
  });
}
void as_many_keys_as_queries(request& call) {
  if (!call.inputs.contains("bias")) return;
  const std::size_t queries = call.inputs.at("q").shape()[2];
  change_rows(call, [queries](std::span<double> row) { lose_keys_from(row, queries); });
}
void mask_of_the_largest_f16(request& call) {
  change_each(call.inputs, "bias", [](double b) { return b == -core::infinity ? -65504.0 : b; });
}
// Scores are formed in blocks of d keys, but values are walked in steps of e rows.
void values_walked_by_their_width(request& call) {
  if (!call.inputs.contains("bias")) return;
  core::tensor& v = call.inputs.at("v");
  const std::size_t m = v.shape()[2], d = call.inputs.at("q").shape()[3], e = v.shape()[3];
  if (d == 0) return;
  const std::vector<double> all(v.values.begin(), v.values.end());
  for (std::size_t k = 0; k < all.size(); ++k) {
    const std::size_t head = k / (m * e), j = k / e % m;
    v.values.storage()[k] = all[(head * m + (j / d * e + j % d) % m) * e + k % e];
  }
}
void values_as_wide_as_queries(core::tensors& outputs, const request& call) {
  if (!call.inputs.contains("bias") || !outputs.contains("o")) return;
  core::tensor& o = outputs.at("o");
  const std::size_t d = call.inputs.at("q").shape()[3], e = o.shape()[3];
  for (std::size_t k = 0; k < o.size(); ++k)
    if (k % e >= d) o.values.storage()[k] = 0.0;
}
// The last block of 16 queries is written whole: its empty rows, which are 0, overwrite the next head.
void padded_rows_spill(core::tensors& outputs, const request& call) {
  if (!call.inputs.contains("bias") || !outputs.contains("o")) return;
  core::tensor& o = outputs.at("o");
  const std::size_t n = o.shape()[2], e = o.shape()[3], rows = (16 - n % 16) % 16;
  for (std::size_t k = n * e; k < o.size(); ++k)
    if (k / e % n < rows) o.values.storage()[k] = 0.0;
}

}  // namespace

std::vector<variant> tile_mutants() {
  return {
      breaking("mutant/attention_last_block_dropped", "triton-lang/triton#2361: a tail that is not whole",
               "keys of the last block of 16 are lost where it is not whole", {.inputs = last_block}),
      breaking("mutant/attention_last_key_alone_dropped", "state-spaces/mamba#537: a tail of one",
               "a key that is alone in the last block of 16 is lost", {.inputs = last_key_alone}),
      breaking("mutant/attention_as_many_keys_as_queries", "a port that counts keys by queries",
               "keys behind the number of queries are not seen", {.inputs = as_many_keys_as_queries}),
      breaking("mutant/attention_values_walked_by_their_width", "ikawrakow/ik_llama.cpp#2031",
               "values are walked in steps of e rows, scores in blocks of d keys",
               {.inputs = values_walked_by_their_width}),
      breaking("mutant/attention_values_as_wide_as_queries", "a kernel with one head size",
               "components of o behind the width of q are 0", {.outputs = values_as_wide_as_queries}),
      breaking("mutant/attention_padded_rows_spill", "a store without a mask",
               "empty rows of the last block of 16 queries are written over the next head",
               {.outputs = padded_rows_spill}),
      breaking("mutant/attention_mask_of_65504", "a mask of the least number of f16 instead of -inf",
               "masked keys have the bias -65504", {.inputs = mask_of_the_largest_f16}),
  };
}

void shared_keys(drawn_inputs& in, const core::operation&, core::dtype, core::counter_random&) {
  const std::size_t heads = in.sizes.at("B") * in.sizes.at("h");
  for (const char* name : {"k", "v"}) {
    std::vector<double>& x = in.numbers.at(name);
    const std::size_t head_size = heads == 0 ? 0 : x.size() / heads;
    for (std::size_t i = head_size; i < x.size(); ++i) x[i] = x[i % head_size];
  }
}

}  // namespace assay::properties::encodings::attention
