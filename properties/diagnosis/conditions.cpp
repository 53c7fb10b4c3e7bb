#include "properties/diagnosis/conditions.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "properties/diagnosis/reach.hpp"

namespace assay::properties {
namespace {

using probes_seen = std::vector<const probe*>;
using sizes_seen = std::set<std::size_t>;

// A case without a token says nothing of tokens, even where a state goes through it.
bool says_something(const probe* p) {
  const core::axis_sizes sizes = sizes_of(p->c);
  const auto n = sizes.find("n");
  if (n != sizes.end() && n->second == 0) return false;
  return std::any_of(p->actual.begin(), p->actual.end(), [](const auto& out) { return out.second.size() > 0; });
}

// The sizes of an axis; none where some case has no such axis.
sizes_seen sizes_along(const std::string& axis, const probes_seen& probes) {
  sizes_seen all;
  for (const probe* p : probes) {
    const core::axis_sizes sizes = sizes_of(p->c);
    const auto it = sizes.find(axis);
    if (it == sizes.end()) return {};
    all.insert(it->second);
  }
  return all;
}

std::optional<std::string> by_multiples(const std::string& what, const sizes_seen& wrong, const sizes_seen& right) {
  for (std::size_t block = 2; block <= 256; block *= 2) {
    const auto multiple = [block](std::size_t n) { return n % block == 0; };
    const auto all = [&](const sizes_seen& sizes) { return std::all_of(sizes.begin(), sizes.end(), multiple); };
    const auto none = [&](const sizes_seen& sizes) { return std::none_of(sizes.begin(), sizes.end(), multiple); };
    if (all(right) && none(wrong))
      return block == 2 ? fmt::format(" for odd {}", what)
                        : fmt::format(" where the {} is no multiple of {}", what, block);
    if (all(wrong) && none(right))
      return block == 2 ? fmt::format(" for even {}", what)
                        : fmt::format(" where the {} is a multiple of {}", what, block);
  }
  return std::nullopt;
}

// Where wrong and right sizes part. What lies between the two was not tried: only neighbours make a rule.
std::string apart(const sizes_seen& wrong, std::size_t first, std::size_t right, const char* form) {
  const char* others = wrong.size() > 1 ? (first > right ? " and more" : " and less") : "";
  return fmt::format(fmt::runtime(form), first, others, right);
}

std::optional<std::string> by_tokens(const sizes_seen& wrong, const sizes_seen& right) {
  constexpr const char* form = " at {} tokens{}, not at {}";
  if (wrong.empty() || right.empty()) return std::nullopt;
  const std::size_t first = *wrong.begin(), last = *wrong.rbegin(), fewest = *right.begin(), most = *right.rbegin();
  if (first > most) {
    if (first > most + 1) return apart(wrong, first, most, form);
    return first == 2 ? " when there is more than one token" : fmt::format(" from {} tokens on", first);
  }
  if (last < fewest) {
    if (last == 1) return " for a single token";
    if (last + 1 < fewest) return apart(wrong, last, fewest, form);
    return fewest == 1 ? " where there are no tokens" : fmt::format(" for fewer than {} tokens", fewest);
  }
  // A rule of two lengths is a guess.
  return wrong.size() + right.size() < 4 ? std::nullopt : by_multiples("lengths", wrong, right);
}

std::optional<std::string> by_axis(const std::string& axis, const sizes_seen& wrong, const sizes_seen& right) {
  if (wrong.empty() || right.empty()) return std::nullopt;
  const std::string form = " where " + axis + " is {}{}, not where it is {}";
  const std::size_t first = *wrong.begin(), last = *wrong.rbegin(), fewest = *right.begin(), most = *right.rbegin();
  if (first > most)
    return first > most + 1 ? apart(wrong, first, most, form.c_str())
                            : fmt::format(" where {} is more than {}", axis, most);
  if (last < fewest)
    return last + 1 < fewest ? apart(wrong, last, fewest, form.c_str())
                             : fmt::format(" where {} is less than {}", axis, fewest);
  return std::nullopt;
}

std::optional<std::string> by_setting(const std::string& name, const probes_seen& wrong, const probes_seen& right) {
  const auto values_of = [&](const probes_seen& probes) {
    std::vector<core::attribute> values;
    for (const probe* p : probes) {
      const core::attribute value = core::completed(*p->c.call.operation, p->c.call.attributes).at(name);
      if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
    }
    return values;
  };
  const auto of_wrong = values_of(wrong), of_right = values_of(right);
  for (const core::attribute& value : of_wrong)
    if (std::find(of_right.begin(), of_right.end(), value) != of_right.end()) return std::nullopt;
  if (of_wrong.size() == 1) return fmt::format(" where {} = {}", name, core::to_string(of_wrong.front()));
  if (of_right.size() == 1) return fmt::format(" where {} is not {}", name, core::to_string(of_right.front()));
  return std::nullopt;
}

}  // namespace

std::optional<std::string> where(const std::vector<const probe*>& wrong, const std::vector<const probe*>& all_right,
                                 evidence counted) {
  probes_seen right;
  std::copy_if(all_right.begin(), all_right.end(), std::back_inserter(right), says_something);
  if (right.empty()) return "";
  const core::operation& op = *wrong.front()->c.call.operation;
  if (auto rule = by_reach(wrong, right, counted)) return rule;
  if (auto rule = by_tokens(sizes_along("n", wrong), sizes_along("n", right))) return rule;
  for (const core::attribute_declaration& a : op.attributes)
    if (auto rule = by_setting(a.name, wrong, right)) return rule;
  std::vector<std::string> by_size;
  for (const std::string& axis : core::axis_symbols(op))
    if (axis != "n")
      if (auto rule = by_axis(axis, sizes_along(axis, wrong), sizes_along(axis, right))) by_size.push_back(*rule);
  if (by_size.size() == 1) return by_size.front();
  if (!by_size.empty())
    return fmt::format("{} (which of these, the cases tried do not tell)", fmt::join(by_size, ", or"));
  return std::nullopt;
}

}  // namespace assay::properties
