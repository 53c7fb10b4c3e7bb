// Where T5's relative bias is ALiBi (Press, Smith and Lewis 2022): a table that falls in proportion to the distance.
#include <fmt/format.h>

#include <cmath>

#include "properties/encodings/t5_bias/laws/cases.hpp"
#include "properties/encodings/t5_bias/laws/laws.hpp"

namespace assay::properties::encodings::t5_bias {
namespace {

double slope_of(std::size_t head) { return std::ldexp(1.0, -1 - static_cast<int>(head % 8)); }
// Exact in every format: at most 256 times a power of two.
double linear(std::size_t head, std::size_t bucket) { return -slope_of(head) * static_cast<double>(bucket); }

// In one direction r_min(i - j, K) with r_t = -m t is the distance form of ALiBi with the slope m up to the distance K.
outcome check_alibi(implementation& under_test, const test_case& c) {
  const core::operation& alibi = *reference::find_operation("alibi/bias");
  if (!under_test.describe().offers(alibi.name, c.call.type)) return {status::unsupported};
  const test_case clipped =
      with_setting(with_setting(with_table(c, linear), "form", std::string("clipped")), "bidirectional", false);
  if (!map_of(clipped).conflict().empty()) return {status::uninformative};
  const auto looked_up = measure(under_test, clipped);
  if (!looked_up) return looked_up.error();
  test_case linear_bias = c;
  core::tensor slopes = core::zeros(c.call.type, {c.call.inputs.at("table").shape()[0]});
  for (std::size_t k = 0; k < slopes.size(); ++k) slopes.values.storage()[k] = slope_of(k);
  linear_bias.call.operation = &alibi;
  linear_bias.call.attributes =
      core::completed(alibi, {{"form", std::string("distance")}, {"causal", true}});
  linear_bias.call.inputs.erase("table");
  linear_bias.call.inputs.emplace("slopes", std::move(slopes));
  const auto computed = measure(under_test, linear_bias);
  if (!computed) return computed.error();
  const std::vector<double> distances = distances_of(c);
  const auto last = static_cast<double>(map_of(clipped).of_direction() - 1);
  std::vector<std::size_t> pairs;
  for (const std::size_t k : every(looked_up->outputs.at("bias").size()))
    if (const double back = -distances[k % distances.size()]; back >= 0 && back <= last) pairs.push_back(k);
  comparisons all;
  if (const auto wrong = compare_elements(all, "bias", *computed, pairs, *looked_up, pairs))
    return violated("ALiBi, and a table of -m t: " + *wrong, computed->outputs, looked_up->outputs);
  return all.result();
}

}  // namespace

std::vector<property> alibi_laws() {
  if (reference::find_operation("alibi/bias") == nullptr) return {};
  return {t5_law("t5_bias/bias", "t5_alibi", "a clipped table of -m t is ALiBi", check_alibi, 2)};
}

}  // namespace assay::properties::encodings::t5_bias
