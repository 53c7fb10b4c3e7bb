#include "golden/flags.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "golden/proof.hpp"

namespace assay::golden {
namespace {

constexpr std::size_t longest_short_axis = 256;

bool any(const core::tensor& t, const auto& holds) {
  return std::any_of(t.values.storage().begin(), t.values.storage().end(), holds);
}

// The neighbour of y is the next number of the dtype on the side of the truth, y + low. The result is the distance of
// the truth from the midpoint of y and its neighbour, in units of the gap between the two. The largest number has no
// neighbour beyond it; a gap of the same size as the one before it stands there.
double distance_to_tie(core::dtype type, double y, double low) {
  if (!std::isfinite(y) || low == 0.0) return std::numeric_limits<double>::infinity();
  const double above = core::next_above(type, y), below = core::next_below(type, y);
  const bool up = std::isinf(below) || (low > 0.0 && !std::isinf(above));
  const double gap = up ? above - y : y - below;
  return std::fabs(std::fabs(low) - gap / 2.0) / gap;
}
constexpr double near_a_tie = 0x1p-21, hard_to_round = 0x1p-24;

// Whether a state of the recurrence is -inf; for a derivative, a state of the function that is differentiated.
bool has_dead_state(const core::request& call) {
  const core::operation& forward = reference::forward_of(*call.operation);
  if (!forward.recurrent) return false;
  core::request forward_call{&forward, call.type, {}, call.attributes};
  for (const auto& d : forward.inputs) forward_call.inputs.emplace(d.name, call.inputs.at(d.name));
  const auto outputs = reference::evaluate(forward_call, reference::accuracy_class::sequential);
  return std::any_of(outputs.begin(), outputs.end(), [](const auto& output) {
    return any(output.second, [](double x) { return std::isinf(x) && x < 0.0; });
  });
}

}  // namespace

std::vector<std::string> flags_of(const core::request& call, const core::axis_sizes& axes,
                                  const core::tensors& proved) {
  std::set<std::string> flags;
  const auto add_flags_of = [&](const core::tensor& t) {
    if (any(t, [](double x) { return std::isnan(x); })) flags.insert("nan");
    if (any(t, [](double x) { return std::isinf(x) && x < 0.0; })) flags.insert("has_minus_inf");
    if (core::is_floating(t.type) &&
        any(t, [&](double x) { return x != 0.0 && std::fabs(x) < core::smallest_normal(t.type); }))
      flags.insert("subnormal");
  };
  for (const auto& [name, t] : call.inputs) {
    add_flags_of(t);
    if (any(t, [](double x) { return std::isinf(x) && x > 0.0; })) flags.insert("has_plus_inf");
  }
  for (const auto& d : call.operation->outputs) {
    const core::tensor& y = proved.at(d.name);
    add_flags_of(y);
    const auto& low = proved.at(low_name(d.name)).values.storage();
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double value = y.values.storage()[i];
      if (std::isinf(value) && low[i] != 0.0) flags.insert("overflow");
      if (!core::is_floating(y.type)) continue;
      const double distance = distance_to_tie(y.type, value, low[i]);
      if (distance <= near_a_tie) flags.insert("tie");
      if (distance > 0.0 && distance <= hard_to_round) flags.insert("hard_to_round");
    }
    if (any(proved.at(allowance_name(d.name, question::bug, y.type, y.type)), [](double x) { return std::isinf(x); }))
      flags.insert("infinite_allowance");
  }
  for (const auto& [symbol, size] : axes) {
    if (size == 0) flags.insert("empty");
    if (size > longest_short_axis) flags.insert("long");
  }
  if (has_dead_state(call)) flags.insert("dead_state");
  return {flags.begin(), flags.end()};
}

}  // namespace assay::golden
