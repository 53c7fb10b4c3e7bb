// Where T5's relative bias is ALiBi (Press, Smith and Lewis 2022): a table that falls in proportion to the distance.
#include <cmath>

#include "properties/encodings/t5_bias/laws/cases.hpp"
#include "properties/encodings/t5_bias/laws/laws.hpp"
#include "reference/oracle.hpp"

namespace assay::properties::encodings::t5_bias {
namespace {

double slope_of(std::size_t head) { return std::ldexp(1.0, -1 - static_cast<int>(head % 8)); }
// Exact in every format: at most 256 times a power of two.
double linear(std::size_t head, std::size_t bucket) { return -slope_of(head) * static_cast<double>(bucket); }

// In one direction r_min(i - j, K) with r_t = -m t is the distance form of ALiBi with the slope m up to the distance K.
void check_alibi(experiment& e) {
  const test_case clipped =
      with_settings(with_table(e.c, linear), {{"form", std::string("clipped")}, {"bidirectional", false}});
  e.needs(map_of(clipped).conflict().empty());
  core::tensor slopes = core::zeros(e.c.call.type, {e.c.call.inputs.at("table").shape()[0]});
  for (std::size_t k = 0; k < slopes.size(); ++k) slopes.values.storage()[k] = slope_of(k);
  core::tensors inputs = e.c.call.inputs;
  inputs.erase("table");
  inputs.emplace("slopes", std::move(slopes));
  const measured_call& computed = e.call(reference::find_operation("alibi/bias"), std::move(inputs),
                                         {{"form", std::string("distance")}, {"causal", true}});
  const measured_call& looked_up = e.call(clipped);
  const std::vector<double> distances = distances_of(e.c);
  const auto last = static_cast<double>(map_of(clipped).of_direction() - 1);
  std::vector<std::size_t> pairs;
  for (const std::size_t k : every(looked_up.outputs.at("bias").size()))
    if (const double back = -distances[k % distances.size()]; back >= 0 && back <= last) pairs.push_back(k);
  e.equal("bias", computed, pairs, looked_up, pairs, "ALiBi, and a table of -m t");
}

}  // namespace

std::vector<property> alibi_laws() {
  if (reference::find_operation("alibi/bias") == nullptr) return {};
  return {law("t5_alibi", "a clipped table of -m t is ALiBi", {{"t5_bias/bias"}}, {2, check_alibi})};
}

}  // namespace assay::properties::encodings::t5_bias
