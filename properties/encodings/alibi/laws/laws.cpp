#include "properties/encodings/alibi/laws/laws.hpp"

#include <fmt/format.h>

#include <cmath>

#include "properties/encodings/alibi/laws/cases.hpp"
#include "properties/laws/row_constants.hpp"

namespace assay::properties::encodings::alibi {
namespace {

// The same positions `shift` later; nothing where they leave the range of positions.
std::optional<test_case> moved(const test_case& c, double shift) {
  test_case other = c;
  for (const char* name : {"query_position", "key_position"})
    for (double& p : other.call.inputs.at(name).values.storage())
      if (!c.call.operation->input(name)->domain.contains(p += shift)) return std::nullopt;
  return other;
}

// All tokens `shift` later: nothing changes in forms of the distance, a row constant in forms of the key.
outcome check_shift(implementation& under_test, const test_case& c) {
  const auto later = moved(c, static_cast<double>(1 + c.seed % 1000));
  if (!later || !has_pairs(c)) return {status::uninformative};
  const auto before = measure(under_test, c);
  if (!before) return before.error();
  const auto after = measure(under_test, *later);
  if (!after) return after.error();
  const auto& form = setting<std::string>(c, "form");
  const bool of_distance = form == "distance" || form == "absolute";
  comparisons all;
  const auto wrong = of_distance ? compare_elements(all, "bias", *before, *after)
                                 : compare_modulo_row_constants(all, "bias", *before, *after);
  if (wrong) return violated("all tokens later: " + *wrong, before->outputs, after->outputs);
  return all.result();
}

// `distance`, the key forms and, under the causal mask, `absolute` differ by row constants: the same after softmax.
outcome check_forms(implementation& under_test, const test_case& c) {
  const auto& form = setting<std::string>(c, "form");
  if (!has_pairs(c) || form == "distance" || (form == "absolute" && !setting<bool>(c, "causal")))
    return {status::uninformative};
  const auto call = measure(under_test, c);
  if (!call) return call.error();
  const auto distance = measure(under_test, with_setting(c, "form", std::string("distance")));
  if (!distance) return distance.error();
  comparisons all;
  const auto wrong = compare_modulo_row_constants(all, "bias", *distance, *call);
  if (wrong) return violated("forms distance and " + form + ": " + *wrong, distance->outputs, call->outputs);
  return all.result();
}

// -inf for keys after the query, and for these alone.
outcome check_mask(implementation& under_test, const test_case& c) {
  if (!has_pairs(c)) return {status::uninformative};
  const auto call = measure(under_test, c);
  if (!call) return call.error();
  const auto& queries = query_positions(c);
  const auto& keys = key_positions(c);
  const core::tensor& bias = call->outputs.at("bias");
  for (std::size_t k = 0; k < bias.size(); ++k) {
    const double query = queries[k / keys.size() % queries.size()], key = keys[k % keys.size()];
    const double x = bias.values.storage()[k];
    const bool masked = setting<bool>(c, "causal") && key > query;
    if ((std::isinf(x) && x < 0) != masked)
      return violated(fmt::format("query at {}, key at {}: {} is {}", query, key, x,
                                  masked ? "no mask" : "masked though the key may be seen"),
                      {}, call->outputs);
  }
  return {};
}

// Position interpolation: every second position with the slopes m is every position with the slopes 2 m.
outcome check_stride(implementation& under_test, const test_case& c) {
  if (!has_pairs(c) || setting<std::string>(c, "form") == "key_from_last") return {status::uninformative};
  test_case apart = c, steep = c;
  for (const char* name : {"query_position", "key_position"})
    for (double& p : apart.call.inputs.at(name).values.storage())
      if (!c.call.operation->input(name)->domain.contains(p *= 2)) return {status::uninformative};
  for (double& m : steep.call.inputs.at("slopes").values.storage()) m *= 2;
  const auto at_stride_2 = measure(under_test, apart);
  if (!at_stride_2) return at_stride_2.error();
  const auto twice_as_steep = measure(under_test, steep);
  if (!twice_as_steep) return twice_as_steep.error();
  comparisons all;
  if (const auto wrong = compare_elements(all, "bias", *at_stride_2, *twice_as_steep))
    return violated("at stride 2, and with slopes 2 m: " + *wrong, at_stride_2->outputs, twice_as_steep->outputs);
  return all.result();
}

}  // namespace

std::vector<property> bias_laws() {
  const char* bias = "alibi/bias";
  std::vector<property> all{
      law_of("alibi_shift", "all tokens later: the same biases, or the same after softmax", check_shift, bias, 2),
      law_of("alibi_forms", "distance and key forms are the same after softmax", check_forms, bias, 2),
      law_of("alibi_mask", "-inf exactly for keys after a causal query", check_mask, bias, 1),
      law_of("alibi_stride", "slopes m at stride 2 are slopes 2m at stride 1", check_stride, bias, 2),
  };
  for (auto* others : {square_laws, key_laws, gradient_laws, attention_laws})
    for (property& law : others()) all.push_back(std::move(law));
  return all;
}

}  // namespace assay::properties::encodings::alibi
