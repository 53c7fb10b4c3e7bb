#include "properties/diagnosis/reach.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "properties/harness/verdict.hpp"

namespace assay::properties {
namespace {

// The elements of an input that belong to each element of an output: those at the same places of the input's axes.
// Empty where the output lacks one of these.
std::vector<double> spread(const request& call, const std::string& input, const core::tensor_declaration& output,
                           const core::shape& shape) {
  const core::tensor_declaration* declared = call.operation->input(input);
  if (declared == nullptr) return {};
  const core::tensor& t = call.inputs.at(input);
  const core::shape own = t.shape();
  std::vector<std::size_t> axes;
  for (const std::string& symbol : declared->axes) {
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

// |position|, or the distance, of each element of an output; empty where it has none.
std::vector<double> reaches(const request& call, const core::tensor_declaration& output, const core::shape& shape) {
  for (const char* alone : {"position", "distance"})
    if (auto x = spread(call, alone, output, shape); !x.empty()) {
      for (double& v : x) v = std::fabs(v);
      return x;
    }
  auto query = spread(call, "query_position", output, shape);
  const auto key = spread(call, "key_position", output, shape);
  if (key.empty()) return {};
  for (std::size_t i = 0; i < query.size(); ++i) query[i] = std::fabs(query[i] - key[i]);
  return query;
}

struct placed {
  double reach;
  bool wrong;
};

// Adds the elements of a probe that are numbers; false where an output has no such place.
bool add_elements(const probe& p, std::vector<placed>& all) {
  for (const core::tensor_declaration& d : p.c.call.operation->outputs) {
    const core::shape shape = p.actual.at(d.name).shape();
    if (core::element_count(shape) == 0) continue;
    const std::vector<double> reach = reaches(p.c.call, d, shape);
    if (reach.empty()) return false;
    std::vector<bool> is_wrong(reach.size());
    if (const auto elements = p.wrong.find(d.name); elements != p.wrong.end())
      for (const std::size_t i : elements->second) is_wrong[i] = true;
    // Where rounding may take all digits but one nothing is right.
    const std::vector<double> scales = scales_of(*p.truth, d.name);
    const auto& allowed = p.allowed.at(d.name);
    for (std::size_t i = 0; i < reach.size(); ++i)
      if (std::isfinite(p.truth_of(d.name, i)) && (is_wrong[i] || allowed[i] < scales[i] / 8))
        all.push_back({reach[i], is_wrong[i]});
  }
  return true;
}

// Where in an order the wrong elements begin: that element and the last right one before it. Nothing where none is
// before, or where fewer than half of those from there on are wrong.
template <class Order>
std::optional<std::pair<double, double>> boundary(std::vector<placed> all, Order comes_before) {
  std::sort(all.begin(), all.end(), [&](const placed& x, const placed& y) {
    // Of equal reach, the wrong ones first: what is right there does not lie before.
    return x.reach != y.reach ? comes_before(x.reach, y.reach) : x.wrong && !y.wrong;
  });
  const auto first = std::find_if(all.begin(), all.end(), [](const placed& x) { return x.wrong; });
  if (first == all.begin() || first == all.end()) return std::nullopt;
  const auto wrong = std::count_if(first, all.end(), [](const placed& x) { return x.wrong; });
  if (2 * wrong < all.end() - first) return std::nullopt;
  return std::pair(first->reach, std::prev(first)->reach);
}

}  // namespace

std::optional<std::string> by_reach(const std::vector<const probe*>& wrong, const std::vector<const probe*>& right) {
  const core::error_growth* grows = wrong.front()->c.call.operation->grows_with;
  if (grows != &core::with_position && grows != &core::with_distance) return std::nullopt;
  std::vector<placed> all;
  for (const auto* probes : {&wrong, &right})
    for (const probe* p : *probes)
      if (!add_elements(*p, all)) return std::nullopt;
  if (const auto far = boundary(all, std::less<>()))
    return fmt::format(" from {} on, and right up to {}", grows->words(far->first), grows->words(far->second));
  if (const auto near = boundary(all, std::greater<>()))
    return fmt::format(" up to {}, and right from {} on", grows->words(near->first), grows->words(near->second));
  return std::nullopt;
}

}  // namespace assay::properties
