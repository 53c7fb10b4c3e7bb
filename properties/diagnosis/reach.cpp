#include "properties/diagnosis/reach.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "properties/diagnosis/sentences.hpp"
#include "properties/harness/verdict.hpp"
#include "reference/core/special_values.hpp"

namespace assay::properties {
namespace {

// For each element of an output, the element of an input at the same places of the input's axes. Empty if the output
// lacks one of these axes.
std::vector<double> spread(const request& call, const core::tensor_declaration* input,
                           const core::tensor_declaration& output, const core::shape& shape) {
  if (input == nullptr) return {};
  const core::tensor& t = call.inputs.at(input->name);
  const core::shape own = t.shape();
  std::vector<std::size_t> axes;
  for (const std::string& symbol : input->axes) {
    const auto axis = core::axis_of(output, symbol);
    if (!axis || output.axes[*axis] != symbol) return {};
    axes.push_back(*axis);
  }
  std::vector<double> all(core::element_count(shape));
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::size_t from = 0;
    for (std::size_t k = 0; k < axes.size(); ++k)
      from = from * own[k] + i / core::stride_of(shape, axes[k]) % shape[axes[k]];
    all[i] = t.values.storage()[from];
  }
  return all;
}

// |position|, or the distance, of each element of an output; empty if the output has no such place.
std::vector<double> reaches(const request& call, const core::tensor_declaration& output, const core::shape& shape) {
  const auto [own, key_input] = core::places_of(*call.operation);
  std::vector<double> reach = spread(call, own, output, shape);
  const std::vector<double> key = spread(call, key_input, output, shape);
  if (key_input != nullptr && key.empty()) return {};
  for (std::size_t i = 0; i < reach.size(); ++i) reach[i] = std::fabs(reach[i] - (key.empty() ? 0.0 : key[i]));
  return reach;
}

struct placed {
  double reach;
  bool wrong;
  bool informative;  // whether it says something that the element is right
  const probe* call;
};

// The largest error of a wrong element, in its scale: an equal error elsewhere shows where less than that is allowed.
double largest_error(const std::vector<const probe*>& wrong) {
  double largest = 0;
  for (const probe* p : wrong)
    for (const auto& [name, elements] : p->wrong) {
      const std::vector<double> scales = scales_of(*p->truth, name);
      for (const std::size_t i : elements) {
        const double error = std::fabs(p->actual.at(name).values.storage()[i] - p->truth_of(name, i)) / scales[i];
        largest = std::isnan(error) ? core::infinity : std::max(largest, error);
      }
    }
  return largest;
}

// Adds the elements of a probe that are numbers. False if an output has neither positions nor distances.
bool add_elements(const probe& p, evidence counted, double error, std::vector<placed>& all) {
  for (const core::tensor_declaration& d : p.c.call.operation->outputs) {
    const core::shape shape = p.actual.at(d.name).shape();
    if (core::element_count(shape) == 0) continue;
    const std::vector<double> reach = reaches(p.c.call, d, shape);
    if (reach.empty()) return false;
    std::vector<bool> is_wrong(reach.size());
    if (const auto elements = p.wrong.find(d.name); elements != p.wrong.end())
      for (const std::size_t i : elements->second) is_wrong[i] = true;
    // If rounding may take all digits but one, no element counts as right.
    const std::vector<double> scales = scales_of(*p.truth, d.name);
    const auto& allowed = p.allowed.at(d.name);
    for (std::size_t i = 0; i < reach.size(); ++i)
      if (std::isfinite(p.truth_of(d.name, i)) && (is_wrong[i] || allowed[i] < scales[i] / 8))
        all.push_back({reach[i], is_wrong[i],
                       allowed[i] < error * scales[i] && (counted == evidence::any || p.informative_at(d.name, i)),
                       &p});
  }
  return true;
}

// Where the wrong elements lie, with the last right one before them and the first right one behind them.
struct interval {
  double first, last;
  std::optional<double> right_before{}, right_behind{};
};

// Nothing if no informative right element lies outside, if fewer than half of the elements inside are wrong, or if more
// than the share `spared` of the informative calls inside have no wrong element: then the reach is not the cause.
std::optional<interval> interval_of(std::vector<placed> all, double spared) {
  std::sort(all.begin(), all.end(), [](const placed& x, const placed& y) { return x.reach < y.reach; });
  const auto is_wrong = [](const placed& x) { return x.wrong; };
  const auto lowest = std::find_if(all.begin(), all.end(), is_wrong);
  if (lowest == all.end()) return std::nullopt;
  interval found{lowest->reach, std::find_if(all.rbegin(), all.rend(), is_wrong)->reach};
  double inside = 0, wrong = 0;
  std::set<const probe*> calls, right_calls;
  for (const placed& x : all) {
    if (x.reach < found.first) {
      if (x.informative) found.right_before = x.reach;
    } else if (x.reach > found.last) {
      if (x.informative && !found.right_behind) found.right_behind = x.reach;
    } else {
      inside += 1;
      wrong += x.wrong;
      if (x.wrong || x.informative) calls.insert(x.call);
      if (x.informative && x.call->right) right_calls.insert(x.call);
    }
  }
  const auto count = [](const std::set<const probe*>& some) { return static_cast<double>(some.size()); };
  if (2 * wrong < inside || count(right_calls) > spared * count(calls)) return std::nullopt;
  return found.right_before || found.right_behind ? std::optional(found) : std::nullopt;
}

// Inputs whose reach lies between two numbers, with either sign.
std::vector<input_domains> inputs_reaching(const core::operation& op, double low, double high) {
  const auto [own, key_input] = core::places_of(op);
  if (key_input == nullptr) return {{{own->name, {low, high}}}, {{own->name, {-high, -low}}}};
  const std::string &query = own->name, &key = key_input->name;
  if (low == 0) return {{{query, {0, high}}, {key, {0, high}}}};
  const double room = std::floor((high - low) / 2);
  const declared_domain near{0, room}, far{low + room, low + 2 * room};
  return {{{query, near}, {key, far}}, {{query, far}, {key, near}}};
}

// Whether wrong calls are right when they are moved to where the interval says so, and some right call is wrong when it
// is moved inside; only answered calls count.
bool holds_elsewhere(const interval& found, const std::vector<const probe*>& wrong,
                     const std::vector<const probe*>& right, size_experiments& again) {
  constexpr std::size_t most = 5;
  const core::operation& op = *wrong.front()->c.call.operation;
  std::vector<input_domains> right_inputs;
  const auto add = [&](double low, double high) {
    for (input_domains& inputs : inputs_reaching(op, low, high)) right_inputs.push_back(std::move(inputs));
  };
  if (found.right_before) add(0, *found.right_before);
  if (found.right_behind) add(*found.right_behind, 2 * *found.right_behind);
  for (const probe* p : some_of(wrong, most))
    for (const input_domains& inputs : right_inputs)
      if (again.is_right(*p, inputs, evidence::informative) == false) return false;
  bool appears = false, answers = false;
  for (const probe* p : some_of(right, most))
    for (const input_domains& inputs : inputs_reaching(op, found.first, found.last)) {
      const auto is = again.is_right(*p, inputs, evidence::informative);
      answers = answers || is;
      appears = appears || is == false;
    }
  return appears || !answers;
}

}  // namespace

std::optional<std::string> by_reach(const std::vector<const probe*>& wrong, const std::vector<const probe*>& right,
                                    size_experiments& again, evidence counted) {
  const core::operation& op = *wrong.front()->c.call.operation;
  if (!op.grows_as(core::with_position) && !op.grows_as(core::with_distance)) return std::nullopt;
  const double error = largest_error(wrong);
  std::vector<placed> all;
  for (const auto* probes : {&wrong, &right})
    for (const probe* p : *probes)
      if (!add_elements(*p, counted, error, all)) return std::nullopt;
  // A call may be right by chance: beside a large number the error of a small one counts as rounding. A setting of two
  // values may decide, and make half of the calls right.
  constexpr double by_chance = 0.3;
  const auto found = interval_of(std::move(all), counted == evidence::any ? 0.0 : by_chance);
  if (!found || !holds_elsewhere(*found, wrong, right, again)) return std::nullopt;
  const auto words_of_reach = [&](double reach) { return op.grows_with->words(op, reach); };
  if (!found->right_behind) return words::from_on(words_of_reach(found->first), words_of_reach(*found->right_before));
  if (!found->right_before) return words::up_to(words_of_reach(found->last), words_of_reach(*found->right_behind));
  return words::between(words_of_reach(found->first), words_of_reach(found->last), words_of_reach(*found->right_before),
                        words_of_reach(*found->right_behind));
}

}  // namespace assay::properties
