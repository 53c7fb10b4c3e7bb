// Which cases a property is run with: families, lengths, usual and declared sizes, shapes that somebody asked for.
#include <fmt/format.h>
#include <rapidcheck/Random.h>

#include <algorithm>

#include "properties/harness/catalogue.hpp"
#include "properties/harness/runner.hpp"
#include "reference/core/fnv1a.hpp"

namespace assay::properties {

const setting_values& settings_to_draw(const description& about, const core::operation& op) {
  static const setting_values all_values;
  return about.recorded ? all_values : about.settings_of(op);
}

namespace {

// Distinct streams for every operation, dtype, family and range of lengths: a filter changes no other case. All
// properties get the same cases, some more of them and some fewer: the truth of a case, which is most of the
// work, is computed once.
rc::Random stream_of(std::uint64_t seed, const case_key& k) {
  return rc::Random(core::fnv1a(
      fmt::format("{} {} {} {}", k.operation->name, core::name_of(k.type), k.family, static_cast<int>(k.size.range)),
      seed));
}

// How many cases of which lengths a property runs of a family.
std::vector<std::pair<extent, std::size_t>> lengths_of(const property& p, const family& f, const run_options& options) {
  const std::size_t cases = std::max<std::size_t>(options.cases / p.calls, 1);
  std::vector<std::pair<extent, std::size_t>> plan{{{lengths::short_ones}, cases},
                                                   {{lengths::around_blocks}, std::max<std::size_t>(cases / 4, 1)}};
  if (p.decides_class && options.long_lengths && f.parts_classes)
    plan.push_back({{lengths::long_ones}, std::max<std::size_t>(cases / 16, 1)});
  return plan;
}

using many_sizes = std::vector<core::axis_sizes>;

// The usual sizes of the operation, as many as are asked for.
many_sizes usual_sizes(const core::operation& op, const run_options& options) {
  many_sizes all;
  const encoding_tests* tests = encoding_tests_of(op);
  if (tests != nullptr && options.sizes != run_options::usual::none)
    for (const usual_size& u : tests->sizes)
      if ((u.always || options.sizes == run_options::usual::all) &&
          std::find(u.functions.begin(), u.functions.end(), op.forward_name()) != u.functions.end())
        all.push_back(u.axes);
  return all;
}

// Both ends of each axis whose sizes are declared to end.
many_sizes declared_ends(const size_domains& declared) {
  constexpr std::size_t affordable = std::size_t{1} << 20;
  many_sizes all;
  for (const auto& [symbol, sizes] : declared)
    for (const std::size_t end : {sizes.nearest(1), sizes.nearest(sizes.high)})
      if (end > 0 && end <= affordable) all.push_back({{symbol, end}});
  return all;
}

// The sizes beyond those of families at which a property is run: inside the declared ones, but for those that somebody
// asked for by number.
many_sizes planned_sizes(const property& p, const core::operation& op, const size_domains& declared,
                         const run_options& options) {
  if (!p.decides_class) return {};
  many_sizes all = declared_ends(declared);
  for (core::axis_sizes& usual : usual_sizes(op, options)) all.push_back(std::move(usual));
  for (core::axis_sizes& axes : all) {
    for (const auto& [symbol, sizes] : declared) axes.try_emplace(symbol, sizes.nearest(3));  // one may tell nothing
    for (auto& [symbol, size] : axes)
      if (const auto sizes = declared.find(symbol); sizes != declared.end()) size = sizes->second.nearest(size);
  }
  std::set<core::axis_sizes> seen;
  std::erase_if(all, [&](const core::axis_sizes& axes) { return !seen.insert(axes).second; });
  const std::set<std::string> symbols = core::axis_symbols(op);
  for (const core::axis_sizes& shape : options.shapes)
    if (std::all_of(shape.begin(), shape.end(), [&](const auto& axis) { return symbols.contains(axis.first); }))
      all.push_back(shape);
  return all;
}

// The key of a case of these sizes; where a setting is the size of an axis, that setting is given.
case_key key_of_sizes(const case_key& like, const core::axis_sizes& axes) {
  case_key key = like;
  key.size = extent(axes);
  for (const core::attribute_declaration& a : like.operation->attributes)
    if (const auto size = axes.find(a.axis); size != axes.end())
      key.settings[a.name] = {static_cast<std::int64_t>(size->second)};
  return key;
}

// The families of large cases: those that part classes, or the first.
std::vector<family> families_of_sizes(const property& p, const core::operation& op, const run_options& options) {
  std::vector<family> all = families_of(p, op), parting;
  if (!options.families.empty())
    std::erase_if(all, [&](const family& f) { return !options.families.contains(f.name); });
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
  return key;
}

std::vector<case_key> plan_of(const property& p, const description& about, const core::operation& op, core::dtype type,
                              const run_options& options) {
  std::vector<case_key> plan;
  for (const family& f : families_of(p, op)) {
    if (!options.families.empty() && !options.families.contains(f.name)) continue;
    for (const auto& [size, count] : lengths_of(p, f, options)) {
      case_key key = key_for(about, op, type, f.name, 0, size);
      rc::Random random = stream_of(options.seed, key);
      for (std::size_t k = 0; k < count; ++k) {
        rc::Random of_case = random.split();
        key.seed = of_case.next();
        plan.push_back(key);
      }
    }
  }
  const std::vector<family> families = families_of_sizes(p, op, options);
  std::size_t next = 0;
  const case_key any = key_for(about, op, type, "", 0, {});
  for (const core::axis_sizes& axes : families.empty() ? many_sizes{} : planned_sizes(p, op, any.sizes, options)) {
    const std::string& name = families[next++ % families.size()].name;
    case_key key = key_of_sizes(key_for(about, op, type, name, 0, {}), axes);
    key.seed = stream_of(options.seed, key).next();
    plan.push_back(std::move(key));
  }
  return plan;
}

}  // namespace assay::properties
