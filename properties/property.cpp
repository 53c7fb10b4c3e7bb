#include "properties/property.hpp"

#include <algorithm>
#include <cmath>

#include "properties/encodings.hpp"
#include "properties/laws/laws.hpp"

namespace assay::properties {
namespace {

bool inside(const core::tensor& t, const declared_domain& d) {
  const auto& x = t.values.storage();
  return std::all_of(x.begin(), x.end(), [&](double v) { return std::isfinite(v) && v >= d.low && v <= d.high; });
}

// The states of the forward operation, in double: enough to know which are finite.
core::tensors states_of(const core::operation& forward, const test_case& c) {
  core::tensors inputs;
  for (const auto& d : forward.inputs) {
    const core::tensor& t = c.call.inputs.at(d.name);
    inputs.emplace(d.name, d.own_type ? t : core::cast(core::dtype::f64, t));
  }
  return reference::evaluate({&forward, core::dtype::f64, std::move(inputs), c.call.attributes},
                             reference::accuracy_class::sequential);
}

bool state_inside(const test_case& c, const declared_domain& d) {
  const core::operation& forward = reference::forward_of(*c.call.operation);
  if (!forward.recurrent) return true;
  if (!inside(c.call.inputs.at(forward.recurrent->state_in), d)) return false;
  const core::tensors outputs = states_of(forward, c);
  return std::all_of(outputs.begin(), outputs.end(), [&](const auto& out) { return inside(out.second, d); });
}

// Prefix sums of a "finite" input must not overflow either: n max|x| stays below max / 8.
bool sums_stay_finite(const test_case& c, const core::tensor& t) {
  const auto& x = t.values.storage();
  double largest = 0;
  for (const double v : x) largest = std::max(largest, std::fabs(v));
  const core::axis_sizes sizes = sizes_of(c);
  const auto n = sizes.find("n");
  return n == sizes.end() || static_cast<double>(n->second) * largest < core::largest_finite(c.call.type) / 8;
}

}  // namespace

const char* name_of(status s) {
  switch (s) {
    case status::passed:
      return "passed";
    case status::failed:
      return "failed";
    case status::uninformative:
      return "uninformative";
    case status::unsupported:
      return "unsupported";
    case status::outside_domain:
      return "outside the domain";
  }
  return "unknown";
}

bool within_domain(const description& about, const test_case& c) {
  for (const auto& [name, values] : about.settings_of(*c.call.operation))
    if (const auto set = c.call.attributes.find(name);
        set != c.call.attributes.end() && std::find(values.begin(), values.end(), set->second) == values.end())
      return false;
  const auto declared = about.domain.find(c.call.operation->name);
  if (declared == about.domain.end()) return true;
  for (const auto& [name, d] : declared->second) {
    if (name == "state") {
      if (!state_inside(c, d)) return false;
      continue;
    }
    const auto t = c.call.inputs.find(name);
    if (t == c.call.inputs.end()) continue;
    if (!inside(t->second, d)) return false;
    const core::tensor_declaration* input = c.call.operation->input(name);
    if (input->summed_over_time && !sums_stay_finite(c, t->second)) return false;
  }
  return true;
}

const std::vector<property>& properties() {
  static const std::vector<property> all = [] {
    std::vector<property> list{value_property(),        vjp_property(),        jvp_property(),
                               continuation_property(), recurrence_property(), attachment_property(),
                               adjoint_property(),      causality_property(),  lane_property(),
                               permutation_property(),  repeat_property(),     variants_property()};
    for (const encoding_tests& tests : all_encoding_tests())
      list.insert(list.end(), tests.laws.begin(), tests.laws.end());
    return list;
  }();
  return all;
}

bool is_asked(const property& p, const core::operation& op, const description& about) {
  return p.applies(op) && (!p.concerns || p.concerns(about));
}

std::vector<family> families_of(const property& p, const core::operation& op) {
  std::vector<family> all = families_of(op);
  if (!p.families.empty())
    std::erase_if(all, [&](const family& f) {
      return std::find(p.families.begin(), p.families.end(), f.name) == p.families.end();
    });
  return all;
}

const property* find_property(const std::string& name) {
  const auto& all = properties();
  const auto it = std::find_if(all.begin(), all.end(), [&](const property& p) { return p.name == name; });
  return it == all.end() ? nullptr : &*it;
}

}  // namespace assay::properties
