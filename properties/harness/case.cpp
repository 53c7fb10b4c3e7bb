#include "properties/harness/case.hpp"

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>

#include "properties/harness/catalogue.hpp"
#include "properties/harness/one_sign.hpp"
#include "properties/harness/sizes_together.hpp"
#include "properties/harness/steering.hpp"
#include "reference/core/fnv1a.hpp"
#include "reference/oracle.hpp"

namespace assay::properties {
namespace {

// Fills the tensor on all cores with the numbers that sequential draws would give.
void fill_normal(core::tensor& t, core::counter_random& random) {
  constexpr std::size_t grain = std::size_t{1} << 14;
  auto& x = t.values.storage();
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, x.size(), grain), [&](const auto& range) {
    core::counter_random range_random = random.after_normals(range.begin());
    for (std::size_t i = range.begin(); i < range.end(); ++i) x[i] = core::round_to(t.type, range_random.normal());
  });
  random = random.after_normals(x.size());
}

// Random values for every declared tensor. In one case of eight only one tensor gets them, unless the key gives sizes:
// such a case must test all tensors at once.
void add_random(test_case& c, const std::string& prefix, const std::vector<core::tensor_declaration>& declared,
                const core::axis_sizes& sizes, bool has_one_sign, core::counter_random& random) {
  const bool one_alone = random.one_in(8) && !c.key.size.is_given();
  const std::size_t alone = one_alone ? random.below(declared.size()) : declared.size();
  for (std::size_t k = 0; k < declared.size(); ++k) {
    const bool is_drawn = alone == declared.size() || alone == k;
    const auto& make = is_drawn ? core::unwritten : core::zeros;
    core::tensor t = make(declared[k].type_in(c.call.type), core::shape_of(declared[k], sizes));
    if (is_drawn) fill_normal(t, random);
    if (is_drawn && has_one_sign) take_signs(t, draws_equal(random));
    c.call.inputs.emplace(prefix + declared[k].name, std::move(t));
  }
}

// Adds the cotangents of a vjp, or the tangents of a jvp.
void add_derivative_inputs(test_case& c, const core::operation& forward, bool has_one_sign,
                           core::counter_random& random) {
  const core::axis_sizes sizes = core::sizes_of({&forward, c.call.type, c.call.inputs, c.call.attributes});
  if (c.call.operation->is_vjp()) {
    add_random(c, "grad_", forward.outputs, sizes, has_one_sign, random);
  } else {
    std::vector<core::tensor_declaration> directions;
    std::copy_if(forward.inputs.begin(), forward.inputs.end(), std::back_inserter(directions),
                 [](const auto& d) { return d.differentiable; });
    add_random(c, "tangent_", directions, sizes, has_one_sign, random);
  }
}

// The values from which a family draws settings, as far as the key allows them.
setting_values settings_within(setting_values key, const setting_values& family_values, bool is_sized) {
  for (const auto& [name, values] : family_values) {
    const auto allowed = key.try_emplace(name, values).first;
    std::vector<core::attribute> both;
    std::copy_if(values.begin(), values.end(), std::back_inserter(both), [&among = allowed->second](const auto& value) {
      return std::find(among.begin(), among.end(), value) != among.end();
    });
    // A case with only such values lies outside the declared domain, and is counted as such. With other values it would
    // not be of this family.
    if (!both.empty() || !is_sized) allowed->second = both.empty() ? values : std::move(both);
  }
  return key;
}

core::attributes draw_any_settings(const case_key& key, const setting_values& within, core::counter_random& random,
                                   std::uint64_t attempt) {
  core::attributes all;
  for (const core::attribute_declaration& a : key.operation->attributes) {
    const auto values = values_to_draw(a, within, key.size.is_given() ? size_domains{} : key.sizes);
    // Later settings have their own random stream: a case with the standard value stays equal to the case from before
    // the setting existed.
    core::counter_random later_random(core::fnv1a(a.name, key.seed + 1 + attempt));
    all.emplace(a.name, values[(a.is_later() ? later_random : random).below(values.size())]);
  }
  return all;
}

// Draws settings that go together: values that are declared one by one may not.
core::attributes draw_settings(const case_key& key, const family& from, core::counter_random& random) {
  constexpr std::uint64_t draws = 64;
  const setting_values within = settings_within(key.settings, from.settings, key.size.is_given());
  const auto bounds = bounds_of(key.sizes);
  core::attributes all = draw_any_settings(key, within, random, 0);
  for (std::uint64_t k = 1; k < draws && !core::conflict_within(*key.operation, all, bounds).empty(); ++k)
    all = draw_any_settings(key, within, random, k);
  return all;
}

}  // namespace

std::string summary(const test_case& c) {
  std::string text = fmt::format("{} {}", c.call.operation->name, core::name_of(c.call.type));
  for (const auto& [symbol, size] : sizes_of(c)) text += fmt::format(" {}={}", symbol, size);
  if (!c.call.attributes.empty()) text += " " + core::to_string(c.call.attributes);
  return text + fmt::format(" family {} seed {}", c.family, c.seed);
}

std::string canonical_text(const case_key& key) {
  constexpr const char* ranges[] = {"short", "blocks", "long", "exactly", "given"};
  std::string text = fmt::format("{} {} {} {} {}", key.operation->name, core::name_of(key.type), key.family, key.seed,
                                 ranges[static_cast<int>(key.size.range)]);
  if (key.size.range == lengths::exactly) text += fmt::format(" {}", key.size.tokens);
  for (const auto& [symbol, size] : key.size.axes) text += fmt::format(" {}={}", symbol, size);
  for (const auto& [name, values] : key.settings) {
    text += fmt::format(" {}:", name);
    for (const core::attribute& value : values) text += " " + core::to_string(value);
  }
  for (const auto& [name, d] : key.domain) text += fmt::format(" {} in [{:a}, {:a}]", name, d.low, d.high);
  for (const auto& [symbol, s] : key.sizes)
    text += fmt::format(" {} of [{}, {}]/{}", symbol, s.low, s.high, s.multiple_of);
  for (const axis_relation& r : key.relations) text += fmt::format(" {}", r.text());
  return text;
}

namespace {

// Draws a case; its sizes may differ from those of the key.
test_case drawn(const case_key& key, const extent& size, const family& from, core::counter_random random) {
  const core::operation& forward = reference::forward_of(*key.operation);
  test_case c{{key.operation, key.type, {}, draw_settings(key, from, random)}, from.name, key.seed, key};
  c.call.inputs = from.generate(forward, key.type, c.call.attributes, random, size);
  if (!key.operation->is_forward()) add_derivative_inputs(c, forward, from.of_one_sign, random);
  if (!from.holds_nan) steer_into(c, key.domain, random);
  return c;
}

bool has_empty_input(const test_case& c) {
  return std::any_of(c.call.inputs.begin(), c.call.inputs.end(), [](const auto& x) { return x.second.size() == 0; });
}

// Families may draw empty axes. A property of its own tests those (laws/empty_axes.cpp): here the case is drawn again.
test_case with_elements(const case_key& key, const family& from) {
  constexpr std::uint64_t draws = 64, stride = 0x9e3779b97f4a7c15u;
  test_case c = drawn(key, key.size, from, core::counter_random(key.seed));
  const bool fixed = key.size.is_given() || key.size.range == lengths::exactly;
  for (std::uint64_t k = 1; !fixed && k < draws && has_empty_input(c); ++k)
    c = drawn(key, key.size, from, core::counter_random(key.seed + k * stride));
  return c;
}

}  // namespace

test_case make_case(const case_key& key, const family& from) {
  test_case c = with_elements(key, from);
  const core::operation& op = *key.operation;
  if (key.sizes.empty() && key.relations.empty() && op.conflict == nullptr) return c;
  const core::axis_sizes as_drawn = sizes_of(c);
  core::axis_sizes inside = sizes_inside(as_drawn, key.sizes, key.seed);
  for (const auto& [symbol, size] : key.size.axes) inside[symbol] = size;
  inside = related(std::move(inside), key.relations, [&](const std::string& axis, std::size_t size) {
    if (core::attribute_of_axis(op, axis) != nullptr) return size == as_drawn.at(axis);
    const auto declared = key.sizes.find(axis);
    return size > 0 && (declared == key.sizes.end() || declared->second.holds(size));
  });
  inside = sizes_together(op, c.call.attributes, inside, key.size.axes, key.sizes, [&](const core::axis_sizes& sizes) {
    return (op.conflict == nullptr || op.conflict(c.call.attributes, sizes).empty()) &&
           std::all_of(key.relations.begin(), key.relations.end(), [&](const auto& r) { return r.holds(sizes); });
  });
  return inside == as_drawn ? c : drawn(key, extent(inside), from, core::counter_random(key.seed));
}

core::attributes settings_of(const case_key& key) {
  const family* from = find_family(*key.operation, key.family);
  ASSAY_EXPECTS(from != nullptr && key.size.is_given());
  core::counter_random random(key.seed);
  return draw_settings(key, *from, random);
}

test_case make_case(const case_key& key) {
  const family* from = find_family(*key.operation, key.family);
  ASSAY_EXPECTS(from != nullptr);
  return make_case(key, *from);
}

}  // namespace assay::properties
