// The cases with which a property is run: families, lengths, usual and declared sizes, and requested shapes.
#include <fmt/format.h>
#include <rapidcheck/Random.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "properties/harness/catalogue.hpp"
#include "properties/harness/choices.hpp"
#include "properties/harness/runner.hpp"
#include "properties/harness/sizes.hpp"
#include "properties/harness/steering.hpp"
#include "reference/core/fnv1a.hpp"

namespace assay::properties {

setting_values settings_to_draw(const description& about, const core::operation& op) {
  if (!about.recorded) return about.settings_of(op);
  setting_values all;
  for (const core::attribute_declaration& a : op.attributes)
    if (a.is_later() || !a.later_values.empty()) all[a.name] = a.values_of(core::first_list);
  return all;
}

namespace {

// A separate random stream for every operation, dtype, family and range of lengths: a filter changes no other case. All
// properties get the same cases, some properties more of them and some fewer: the truth of a case, which is most of the
// work, is computed once.
rc::Random stream_of(std::uint64_t seed, const case_key& k) {
  return rc::Random(core::fnv1a(
      fmt::format("{} {} {} {}", k.operation->name, core::name_of(k.type), k.family, static_cast<int>(k.size.range)),
      seed));
}

// Returns, for each length, the number of cases of a family that a property runs.
std::vector<std::pair<extent, std::size_t>> lengths_of(const property& p, const family& f, const run_options& options) {
  const std::size_t cases = std::max<std::size_t>(options.cases / p.calls, 1);
  std::vector<std::pair<extent, std::size_t>> plan{{{lengths::short_ones}, cases},
                                                   {{lengths::around_blocks}, std::max<std::size_t>(cases / 4, 1)}};
  if (p.decides_class && options.long_lengths && f.parts_classes)
    plan.push_back({{lengths::long_ones}, std::max<std::size_t>(cases / 16, 1)});
  return plan;
}

bool may_have(const case_key& key, const std::string& setting, const core::attribute& value) {
  const auto within = key.settings.find(setting);
  return within == key.settings.end() ||
         std::find(within->second.begin(), within->second.end(), value) != within->second.end();
}

enum class settings_of_sizes { as_drawn, standard };

// The key of a case of these sizes. If a setting is the size of an axis, the setting is given. Other integers have
// their standard value: if only two pairs rotate, the rest of a wide row tells nothing.
case_key key_of_sizes(const case_key& like, const core::axis_sizes& axes, settings_of_sizes settings) {
  case_key key = like;
  key.size = extent(axes);
  for (const core::attribute_declaration& a : like.operation->attributes)
    if (const auto size = axes.find(a.axis); size != axes.end())
      key.settings[a.name] = {static_cast<std::int64_t>(size->second)};
    else if (settings == settings_of_sizes::standard || std::holds_alternative<std::int64_t>(a.standard))
      if (a.axis.empty() && may_have(key, a.name, a.standard)) key.settings[a.name] = {a.standard};
  return key;
}

// The settings that are sizes of axes, with their values for these sizes.
core::attributes sizes_set(const core::operation& op, const core::axis_sizes& axes) {
  core::attributes set;
  for (const core::attribute_declaration& a : op.attributes)
    if (const auto size = axes.find(a.axis); size != axes.end()) set[a.name] = static_cast<std::int64_t>(size->second);
  return set;
}

// Each setting with a number takes all its values in turn.
void set_numbers(case_key& key, std::size_t turn, std::size_t apart) {
  std::size_t shift = 0;
  for (const core::attribute_declaration& a : key.operation->attributes) {
    if (!std::holds_alternative<double>(a.standard)) continue;
    const std::vector<core::attribute> values = values_to_draw(a, key.settings, {});
    if (!values.empty()) key.settings[a.name] = {values[(turn + shift) % values.size()]};
    shift += apart;
  }
}

// The key with its integers at their standard values, and at other values: if two pairs rotate, or none is left over, a
// part of a wide row tells nothing. If `all`, with each value of every choice.
std::vector<case_key> keys_of_choices(const case_key& standard, const setting_values& within, bool all,
                                      std::size_t turn) {
  std::vector<case_key> keys;
  for (const std::optional<case_key>& key : {std::optional(standard), with_other_integers(standard, within, turn)})
    if (key) {
      const std::vector<case_key> chosen = all ? with_choices_by_turns(*key, turn) : std::vector{*key};
      keys.insert(keys.end(), chosen.begin(), chosen.end());
    }
  for (std::size_t k = 0; k < keys.size(); ++k) set_numbers(keys[k], turn + k, turn);
  return keys;
}

constexpr std::size_t head_size = 256;  // the largest one in common use
// This many positions at the end of every power of two: digits are reported from the worst of them (check_result.cpp:
// reported_error). Fewer positions beyond the contexts that models have.
constexpr std::size_t near_positions = 64, far_positions = 16;
constexpr double longest_context = 0x1p17;

// Rows as wide as heads, at the farthest positions of every power of two, as far as the domain goes. Narrow rows would
// report too many digits: one of their frequencies is 1, so that its angles are exact, and the others are small.
std::vector<case_key> far_rows(const description& about, const core::operation& op, core::dtype type) {
  const core::tensor_declaration* position = core::integer_positions(op);
  if (position == nullptr || !op.grows_as(core::with_position)) return {};
  using core::axis_role;
  const case_key any = mild_key_for(about, op, type, 0, {});
  const auto size_of = [&](const std::string& axis, std::size_t wanted) {
    const auto declared = any.sizes.find(axis);
    return declared == any.sizes.end() ? wanted : declared->second.nearest(wanted);
  };
  core::axis_sizes wide =
      core::sizes_by_role(op, {{axis_role::batch, 1}, {axis_role::head, 1}, {axis_role::width, head_size}});
  std::erase_if(wide, [&](const auto& axis) { return core::attribute_of_axis(op, axis.first) != nullptr; });
  for (auto& [axis, size] : wide) size = size_of(axis, size);
  const std::string tokens = core::axis_with(op, axis_role::token);
  if (tokens.empty()) return {};  // a decoder step has no row of tokens: each row has its own position
  const auto domain = any.domain.find(position->name);
  const declared_domain inside = domain == any.domain.end() ? declared_domain{0.0} : domain->second;
  const double farthest = std::min({inside.high, 0x1p31 - 3, core::largest_finite(type) - 1});
  std::vector<case_key> all;
  for (double from = 1; from <= farthest; from *= 2) {
    const double last = std::min(2 * from - 1, std::floor(farthest));
    const auto positions = static_cast<double>(from < longest_context ? near_positions : far_positions);
    const double first = std::max({last - positions + 1, inside.low, 0.0});
    if (last < from || last < first) continue;
    wide[tokens] = size_of(tokens, static_cast<std::size_t>(last - first) + 1);
    case_key key = key_of_sizes(any, wide, settings_of_sizes::standard);
    for (const core::attribute_declaration& a : op.attributes) {
      if (a.axis.empty() || core::role_of(op, a.axis) != axis_role::width) continue;
      const auto within = any.settings.find(a.name);
      key.settings[a.name] = {within == any.settings.end()
                                  ? core::attribute(static_cast<std::int64_t>(head_size))
                                  : *std::max_element(within->second.begin(), within->second.end())};
    }
    key.domain[position->name] = {first, last};
    all.push_back(std::move(key));
  }
  return all;
}

// The requested families, or all that an implementation knows.
std::vector<family> chosen_families(const property& p, const core::operation& op, const description& about,
                                    const run_options& options) {
  std::vector<family> all = without_later(families_of(p, op), about.written_for);
  if (!options.families.empty())
    std::erase_if(all, [&](const family& f) { return !options.families.contains(f.name); });
  return all;
}

// The families of large cases: those in which classes differ, or the first.
std::vector<family> families_of_sizes(std::vector<family> all) {
  std::vector<family> parting;
  std::copy_if(all.begin(), all.end(), std::back_inserter(parting), [](const family& f) { return f.parts_classes; });
  if (!parting.empty()) return parting;
  all.resize(std::min<std::size_t>(all.size(), 1));
  return all;
}

}  // namespace

case_key key_for(const description& about, const core::operation& op, core::dtype type, std::string family,
                 std::uint64_t seed, extent size) {
  case_key key{&op, type, std::move(family), seed, std::move(size), settings_to_draw(about, op)};
  if (const auto declared = about.domain.find(op.name); declared != about.domain.end() && !about.recorded)
    key.domain = declared->second;
  if (const auto declared = about.sizes.find(op.name); declared != about.sizes.end() && !about.recorded)
    key.sizes = declared->second;
  if (const auto declared = about.relations.find(op.name); declared != about.relations.end() && !about.recorded)
    key.relations = declared->second;
  return key;
}

case_key mild_key_for(const description& about, const core::operation& op, core::dtype type, std::uint64_t seed,
                      extent size) {
  return key_for(about, op, type, mild_family_of(op).name, seed, std::move(size));
}

case_key key_of_call(const description& about, const core::operation& op, core::dtype type, std::uint64_t seed,
                     core::axis_sizes wanted) {
  const case_key any = mild_key_for(about, op, type, seed, {});
  for (auto& [symbol, size] : wanted) {
    if (const auto declared = any.sizes.find(symbol); declared != any.sizes.end())
      size = declared->second.nearest(size);
    const core::attribute_declaration* setting = core::attribute_of_axis(op, symbol);
    const auto within = setting == nullptr ? any.settings.end() : any.settings.find(setting->name);
    if (within == any.settings.end()) continue;
    const auto distance = [&](const core::attribute& value) {
      return std::abs(std::get<std::int64_t>(value) - static_cast<std::int64_t>(size));
    };
    size = static_cast<std::size_t>(std::get<std::int64_t>(
        *std::min_element(within->second.begin(), within->second.end(),
                          [&](const auto& a, const auto& b) { return distance(a) < distance(b); })));
  }
  return key_of_sizes(any, wanted, settings_of_sizes::standard);
}

std::vector<case_key> plan_of(const property& p, const description& about, const core::operation& op, core::dtype type,
                              const run_options& options) {
  std::vector<case_key> plan;
  const std::vector<family> chosen = chosen_families(p, op, about, options);
  if (p.decides_class) plan = options.first;
  for (const family& f : chosen)
    for (const auto& [size, count] : lengths_of(p, f, options)) {
      case_key key = key_for(about, op, type, f.name, 0, size);
      rc::Random random = stream_of(options.seed, key);
      for (std::size_t k = 0; k < count; ++k) {
        rc::Random case_random = random.split();
        key.seed = case_random.next();
        plan.push_back(key);
      }
    }
  const std::vector<family> families = families_of_sizes(chosen);
  if (!p.decides_class || families.empty()) return plan;
  const auto key_of = [&](const std::string& name, const core::axis_sizes& axes, settings_of_sizes settings) {
    return key_of_sizes(key_for(about, op, type, name, 0, {}), axes, settings);
  };
  const auto add = [&](case_key key) {
    key.seed = stream_of(options.seed, key).next();
    plan.push_back(std::move(key));
  };
  const size_domains declared = key_for(about, op, type, "", 0, {}).sizes;
  // A case at an end must test everything at once: it has inputs of the first family. In this family all batch rows may
  // have equal positions, so that an end of the batch axis is also tried with the last family.
  for (const core::axis_sizes& end : declared_ends(op, declared)) {
    add(key_of(families.front().name, end, settings_of_sizes::standard));
    if (end.contains(core::axis_with(op, core::axis_role::batch)) && families.size() > 1)
      add(key_of(families.back().name, end, settings_of_sizes::standard));
  }
  const auto add_drawn = [&](const core::axis_sizes& axes, const std::string& name) {
    const core::attributes set = sizes_set(op, axes);
    const case_key any = key_for(about, op, type, name, 0, {});
    if (std::all_of(set.begin(), set.end(), [&](const auto& a) { return may_have(any, a.first, a.second); }) &&
        core::conflict_within(op, core::completed(op, set)).empty())
      add(key_of(name, axes, settings_of_sizes::as_drawn));
  };
  for (const sized_call& s : long_axes(op, type, families_of(p, op), declared, options)) add_drawn(s.axes, s.family);
  for (const core::axis_sizes& axes : block_sizes(op, type, declared, options)) add_drawn(axes, families.front().name);
  std::size_t next = 0, size = 0;
  for (const usual_size& u : planned_sizes(op, type, declared, options)) {
    const bool in_every_family = u.family == every_family;
    if (!u.family.empty() && !in_every_family && !options.families.empty() && !options.families.contains(u.family))
      continue;
    case_key drawn = key_for(about, op, type, families.front().name, 0, {});
    case_key any = key_of_sizes(drawn, u.axes, settings_of_sizes::as_drawn);
    for (const auto& [name, value] : u.settings)
      if (may_have(drawn, name, value)) any.settings[name] = drawn.settings[name] = {value};
    std::vector<case_key> keys = keys_of_choices(any, drawn.settings, u.always, size++);
    if (in_every_family) {
      for (std::size_t k = 0; k < chosen.size(); ++k) {
        case_key key = keys[k % keys.size()];
        key.family = chosen[k].name;
        add(std::move(key));
      }
      continue;
    }
    const bool by_turns = u.family.empty() && families.size() > 1;
    if (by_turns && keys.size() == 1 && is_cheap(op, u.axes)) keys.push_back(keys.front());
    for (std::size_t k = 0; k < keys.size(); ++k) {
      if (!u.family.empty()) keys[k].family = u.family;
      if (by_turns && k > 0) keys[k].family = families[1 + next++ % (families.size() - 1)].name;
      add(std::move(keys[k]));
    }
  }
  if (options.sizes != run_options::usual::none && families.front().is_mild)
    for (case_key& key : far_rows(about, op, type)) {
      key.seed = options.seed;
      plan.push_back(std::move(key));
    }
  return plan;
}

}  // namespace assay::properties
