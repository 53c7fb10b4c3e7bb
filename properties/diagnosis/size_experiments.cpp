#include "properties/diagnosis/size_experiments.hpp"

#include <algorithm>

#include "properties/harness/runner.hpp"
#include "properties/harness/verdict.hpp"

namespace assay::properties {
namespace {

constexpr std::size_t fresh_cases = 3, most_calls = 240, most_moved = 4;
constexpr std::size_t largest_moved = std::size_t{1} << 17;

// Other numbers in these sizes, with the settings of the probe but for those given; nothing where there is no such
// case.
std::optional<test_case> moved(const probe& like, const core::axis_sizes& sizes, const core::attributes& changed,
                               std::uint64_t seed) {
  const core::operation& op = *like.c.call.operation;
  std::size_t elements = 0;
  for (const auto* declared : {&op.inputs, &op.outputs})
    for (const auto& d : *declared) elements += core::element_count(core::shape_of(d, sizes));
  if (elements > largest_moved || find_family(op, like.c.family) == nullptr) return std::nullopt;
  core::attributes settings = core::completed(op, like.c.call.attributes);
  for (const auto& [name, value] : changed) settings[name] = value;
  case_key key{&op, like.c.call.type, like.c.family, seed, extent(sizes), {}};
  for (const core::attribute_declaration& a : op.attributes) {
    if (const auto size = sizes.find(a.axis); size != sizes.end() && !a.axis.empty())
      settings[a.name] = static_cast<std::int64_t>(size->second);
    key.settings[a.name] = {settings.at(a.name)};
  }
  if (!core::check_attributes(op, settings) || (op.conflict && !op.conflict(settings, sizes).empty()))
    return std::nullopt;
  test_case c = make_case(key);
  return sizes_of(c) == sizes ? std::optional(std::move(c)) : std::nullopt;
}

// A few of them, the first and the last among them.
std::vector<const probe*> some_of(const std::vector<const probe*>& all) {
  std::vector<const probe*> some;
  const std::size_t count = std::min(all.size(), most_moved);
  for (std::size_t k = 0; k < count; ++k) some.push_back(all[count == 1 ? 0 : k * (all.size() - 1) / (count - 1)]);
  return some;
}

}  // namespace

std::optional<size_experiments::verdict> size_experiments::verdict_of(const probe& like, const core::axis_sizes& sizes,
                                                                      const core::attributes& settings) {
  const auto [seen, is_new] = seen_.try_emplace({&like, sizes, settings}, std::nullopt);
  if (!is_new) return seen->second;
  verdict found = verdict::says_nothing;
  for (std::size_t k = 0; k < fresh_cases && found != verdict::wrong; ++k) {
    const auto c = moved(like, sizes, settings, seed_ + 11000 + k);
    if (!c || !within_domain(under_test_.describe(), *c) || calls_++ >= most_calls) return std::nullopt;
    call_result outputs = under_test_.evaluate(c->call);
    if (!outputs) return std::nullopt;
    if (const auto is = properties::is_right(*c, std::move(*outputs), under_test_.describe().precisions_of(c->call)))
      found = *is ? verdict::right : verdict::wrong;
  }
  return seen->second = found;
}

std::optional<bool> size_experiments::is_right(const probe& like, const core::axis_sizes& changed, evidence counted) {
  core::axis_sizes sizes = sizes_of(like.c);
  for (const auto& [axis, size] : changed) sizes[axis] = size;
  return as_evidence(verdict_of(like, sizes, {}), counted);
}

std::optional<bool> size_experiments::is_right(const probe& like, const core::attributes& changed, evidence counted) {
  return as_evidence(verdict_of(like, sizes_of(like.c), changed), counted);
}

std::optional<bool> size_experiments::as_evidence(std::optional<verdict> found, evidence counted) {
  if (!found || (*found == verdict::says_nothing && counted == evidence::telling)) return std::nullopt;
  return *found != verdict::wrong;
}

bool size_experiments::confirm(const std::string& axis, const std::vector<const probe*>& wrong,
                               const std::set<std::size_t>& wrong_at, const std::vector<const probe*>& right,
                               const std::set<std::size_t>& right_at) {
  bool disappears = false, appears = false;
  for (const probe* p : some_of(wrong))
    for (const std::size_t size : right_at) {
      const auto is = is_right(*p, {{axis, size}});
      if (is == false) return false;
      disappears = disappears || is.has_value();
    }
  // A right case may be right for another reason as well: of one key, whatever its features are.
  for (const probe* p : some_of(right))
    for (const std::size_t size : wrong_at) appears = appears || is_right(*p, {{axis, size}}) == false;
  return disappears && appears;
}

std::pair<std::size_t, std::size_t> size_experiments::boundary(const probe& wrong, core::axis_sizes changed,
                                                               const std::vector<std::string>& axes,
                                                               std::size_t right_at, std::size_t wrong_at) {
  std::size_t step = 1;
  for (const std::string& axis : axes) step = std::max(step, declared(wrong, axis).multiple_of);
  const auto apart = [&] { return std::max(right_at, wrong_at) - std::min(right_at, wrong_at); };
  while (apart() > step) {
    std::size_t middle = std::min(right_at, wrong_at) + apart() / 2;
    middle -= middle % step;
    for (const std::string& axis : axes) changed[axis] = middle;
    const auto is = middle > std::min(right_at, wrong_at) ? is_right(wrong, changed) : std::nullopt;
    if (!is) break;
    (*is ? right_at : wrong_at) = middle;
  }
  return {right_at, wrong_at};
}

}  // namespace assay::properties
