// Fresh cases at the positions of a wrong case.
#include <algorithm>

#include "properties/diagnosis/probes.hpp"
#include "properties/harness/catalogue.hpp"

namespace assay::properties {
namespace {

bool has_places(const core::operation& op) {
  return std::any_of(op.inputs.begin(), op.inputs.end(),
                     [](const auto& d) { return d.role == core::input_role::position && d.own_type; });
}

double farthest_place(const request& call) {
  double last = 0;
  for (const core::tensor_declaration& d : call.operation->inputs)
    if (d.role == core::input_role::position && d.own_type)
      for (const double x : call.inputs.at(d.name).values.storage()) last = std::max(last, x);
  return last;
}

}  // namespace

std::vector<test_case> at_places_of(const test_case& wrong, std::uint64_t seed) {
  constexpr std::size_t cases = 6;
  std::vector<test_case> all;
  const core::operation& op = *wrong.call.operation;
  if (!has_places(op)) return all;
  case_key key{&op, wrong.call.type, mild_family_of(op).name, seed, extent(sizes_of(wrong)), {}};
  for (const auto& [name, value] : wrong.call.attributes)
    if (op.attribute(name) != nullptr) key.settings[name] = {value};
  const double last = farthest_place(wrong.call);
  for (std::size_t k = 0; k < cases; ++k) {
    key.seed = seed + 15000 + k;
    test_case c = make_case(key);
    if (sizes_of(c) != sizes_of(wrong)) continue;
    double behind = 0;
    for (const core::tensor_declaration& d : op.inputs) {
      if (d.role != core::input_role::position || !d.own_type) continue;
      core::tensor& place = c.call.inputs.at(d.name) = wrong.call.inputs.at(d.name);
      auto& x = place.values.storage();
      // Far keys, each set one behind its far queries: the distances are small.
      if (k % 2 == 1)
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::max(last - behind - static_cast<double>(i), 0.0);
      behind += 1;
      for (double& m : x) m += static_cast<double>(k / 2);
    }
    if (core::check_request(c.call)) all.push_back(std::move(c));
  }
  return all;
}

}  // namespace assay::properties
