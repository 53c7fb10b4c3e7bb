#include "properties/diagnosis/size_experiments.hpp"

#include <algorithm>

#include "properties/harness/catalogue.hpp"
#include "properties/harness/choices.hpp"
#include "properties/harness/runner.hpp"
#include "properties/harness/verdict.hpp"

namespace assay::properties {
namespace {

// In families other than mild ones a fault may need an input that few cases hold.
constexpr std::size_t fresh_mild_cases = 3, fresh_cases = 12, most_calls = 960, most_moved = 4;
constexpr std::size_t largest_moved = std::size_t{1} << 17;

// A key with the settings of the probe, except those given. Nothing if there is no such case, or if it is too large.
std::optional<case_key> key_of(const probe& like, const core::axis_sizes& sizes, const core::attributes& changed,
                               const input_domains& inside) {
  const core::operation& op = *like.c.call.operation;
  std::size_t elements = 0;
  for (const auto* declared : {&op.inputs, &op.outputs})
    for (const auto& d : *declared) elements += core::element_count(core::shape_of(d, sizes));
  if (elements > largest_moved || find_family(op, like.c.family) == nullptr) return std::nullopt;
  core::attributes settings = core::completed(op, like.c.call.attributes);
  for (const auto& [name, value] : changed) settings[name] = value;
  case_key key{&op, like.c.call.type, like.c.family, 0, extent(sizes), {}, inside};
  for (const core::attribute_declaration& a : op.attributes) {
    if (const auto size = sizes.find(a.axis); size != sizes.end() && !a.axis.empty())
      settings[a.name] = static_cast<std::int64_t>(size->second);
    key.settings[a.name] = {settings.at(a.name)};
  }
  const bool together = core::check_attributes(op, settings) && (!op.conflict || op.conflict(settings, sizes).empty());
  return together ? std::optional(std::move(key)) : std::nullopt;
}

bool lies_inside(const core::tensor& t, const declared_domain& d) {
  const auto& x = t.values.storage();
  return std::all_of(x.begin(), x.end(), [&](double v) { return v >= d.low && v <= d.high; });
}

// Whether a case is as its key requests: some families take no other sizes, or have no such inputs.
bool is_as_requested(const test_case& c) {
  return sizes_of(c) == c.key.size.axes &&
         std::all_of(c.key.domain.begin(), c.key.domain.end(), [&](const auto& inside) {
           const auto input = c.call.inputs.find(inside.first);
           return input != c.call.inputs.end() && lies_inside(input->second, inside.second);
         });
}

}  // namespace

std::vector<const probe*> some_of(const std::vector<const probe*>& all, std::size_t most) {
  std::vector<const probe*> some;
  const std::size_t count = std::min(all.size(), most);
  for (std::size_t k = 0; k < count; ++k) some.push_back(all[count == 1 ? 0 : k * (all.size() - 1) / (count - 1)]);
  return some;
}

std::optional<size_experiments::verdict> size_experiments::verdict_of(const std::optional<case_key>& given,
                                                                      bool special_inputs) {
  if (!given) return std::nullopt;
  const auto [seen, is_new] = seen_.try_emplace({canonical_text(*given), special_inputs}, std::nullopt);
  if (!is_new) return seen->second;
  verdict found = verdict::says_nothing;
  case_key key = *given;
  const std::size_t most = is_mild(*key.operation, key.family) ? fresh_mild_cases : fresh_cases;
  for (std::size_t k = 0; k < most && found != verdict::wrong; ++k) {
    key.seed = seed_ + 11000 + k;
    const test_case c = make_case(key);
    if (!is_as_requested(c) || !within_domain(under_test_.describe(), c) || rests_on_convention(c.call))
      return std::nullopt;
    if (calls_++ >= most_calls) return std::nullopt;
    if (special_inputs && !holds_special(c)) continue;
    call_result outputs = under_test_.evaluate(c.call);
    if (!outputs) return std::nullopt;
    if (const auto is = properties::is_right(c, std::move(*outputs), under_test_.describe().precisions_of(c.call)))
      found = *is ? verdict::right : verdict::wrong;
  }
  return seen->second = found;
}

std::vector<const probe*> one_of_each_choice(const std::vector<const probe*>& all) {
  const auto value_in = [](const probe* p, const std::string& setting) {
    return core::completed(*p->c.call.operation, p->c.call.attributes).at(setting);
  };
  std::vector<const probe*> some;
  for (const core::attribute_declaration& a : all.front()->c.call.operation->attributes) {
    if (!is_choice(a)) continue;
    std::vector<core::attribute> seen{value_in(all.front(), a.name)};
    for (const probe* p : all)
      if (const core::attribute value = value_in(p, a.name); std::find(seen.begin(), seen.end(), value) == seen.end()) {
        seen.push_back(value);
        some.push_back(p);
      }
  }
  return some;
}

std::optional<bool> size_experiments::is_right(const probe& like, const core::axis_sizes& changed, evidence counted) {
  return is_right(like, changed, {}, counted);
}

std::optional<bool> size_experiments::is_right(const probe& like, const core::axis_sizes& sizes,
                                               const core::attributes& settings, evidence counted) {
  core::axis_sizes all = sizes_of(like.c);
  for (const auto& [axis, size] : sizes) all[axis] = size;
  return as_evidence(verdict_of(key_of(like, all, settings, {}), like.needs_special), counted);
}

std::optional<bool> size_experiments::is_right(const probe& like, const input_domains& inside, evidence counted) {
  return as_evidence(verdict_of(key_of(like, sizes_of(like.c), {}, inside), false), counted);
}

std::optional<bool> size_experiments::as_evidence(std::optional<verdict> found, evidence counted) {
  if (!found || (*found == verdict::says_nothing && counted == evidence::informative)) return std::nullopt;
  return *found != verdict::wrong;
}

bool size_experiments::confirm(const std::string& axis, const std::vector<const probe*>& wrong,
                               const std::set<std::size_t>& wrong_sizes, const std::vector<const probe*>& right,
                               const std::set<std::size_t>& right_sizes) {
  bool disappears = false, appears = false;
  for (const probe* p : some_of(wrong, most_moved))
    for (const std::size_t size : right_sizes) {
      const auto is = is_right(*p, {{axis, size}});
      if (is == false) return false;
      disappears = disappears || is.has_value();
    }
  // A right case may be right for another reason as well: with one key, features do not matter.
  for (const probe* p : some_of(right, most_moved))
    for (const std::size_t size : wrong_sizes) appears = appears || is_right(*p, {{axis, size}}) == false;
  return disappears && appears;
}

std::pair<std::size_t, std::size_t> size_experiments::boundary(const probe& wrong, core::axis_sizes changed,
                                                               const std::vector<std::string>& axes,
                                                               std::size_t right_size, std::size_t wrong_size) {
  std::size_t step = 1;
  for (const std::string& axis : axes) step = std::max(step, declared(wrong, axis).multiple_of);
  const auto apart = [&] { return std::max(right_size, wrong_size) - std::min(right_size, wrong_size); };
  while (apart() > step) {
    std::size_t middle = std::min(right_size, wrong_size) + apart() / 2;
    middle -= middle % step;
    for (const std::string& axis : axes) changed[axis] = middle;
    const auto is = middle > std::min(right_size, wrong_size) ? is_right(wrong, changed) : std::nullopt;
    if (!is) break;
    (*is ? right_size : wrong_size) = middle;
  }
  return {right_size, wrong_size};
}

}  // namespace assay::properties
