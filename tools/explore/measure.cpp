#include "tools/explore/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/explore/formats.hpp"
#include "tools/explore/heinsen/measures.hpp"
#include "tools/explore/operations.hpp"

namespace assay::explore {
namespace {

// A group of measures with its findings.
struct measure_group {
  std::vector<measure> (*measures)();
  std::vector<finding> (*findings)();
};
// The groups, in the order of documents.
constexpr measure_group groups[] = {{measures_of_recurrence, findings_of_recurrence},
                                    {measures_of_operations, findings_of_operations}};

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const storage_format& f : storage_formats()) names.emplace_back(f.name);
  return names;
}

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

bool is_candidate(const std::string& implementation) { return implementation.find(':') != std::string::npos; }

const std::vector<measure>& measures() {
  static const auto all = [] {
    std::vector<measure> found;
    for (const measure_group& group : groups)
      for (measure& m : group.measures()) found.push_back(std::move(m));
    return found;
  }();
  return all;
}

std::vector<finding> all_findings() {
  std::vector<finding> all;
  for (const measure_group& group : groups)
    for (finding& f : group.findings()) all.push_back(std::move(f));
  return all;
}

const measure* find_measure(std::string_view name) {
  for (const measure& m : measures())
    if (m.name == name) return &m;
  return nullptr;
}

core::result<void> check_cell(const cell& c) {
  const auto wrong = [&](const std::string& what) { return core::failure(fmt::format("'{}': {}", text_of(c), what)); };
  const measure* m = find_measure(c.measure);
  if (m == nullptr) {
    std::vector<std::string> names;
    for (const measure& known : measures()) names.emplace_back(known.name);
    return wrong(fmt::format("there is no measure '{}'; there are {}", c.measure, listed(names)));
  }
  if (is_candidate(c.implementation) ? !m->takes_candidates : !holds(m->implementations, c.implementation))
    return wrong(fmt::format("{} has no implementation '{}'; it has {}{}", m->name, c.implementation,
                             listed(m->implementations), m->takes_candidates ? ", and candidates" : ""));
  const auto arithmetic = core::dtype_named(c.arithmetic);
  if (!arithmetic || !core::is_floating(*arithmetic))
    return wrong(fmt::format("'{}' is no arithmetic: f64, f32, f16, bf16", c.arithmetic));
  const storage_format* stored = find_format(c.storage);
  if (stored == nullptr) return wrong(fmt::format("'{}' is no storage format: {}", c.storage, listed(format_names())));
  if (!m->takes_storage && c.storage != c.arithmetic)
    return wrong(fmt::format("{} has no storage format apart from the arithmetic", m->name));
  if (stored->precision > core::format_of(*arithmetic).precision)
    return wrong(fmt::format("storage in {} holds more digits than arithmetic in {}", c.storage, c.arithmetic));
  if (!m->families.empty() && !holds(m->families, c.family) && !(m->takes_file != nullptr && m->takes_file(c.family)))
    return wrong(fmt::format("{} has no family '{}'; it has {}", m->name, c.family, listed(m->families)));
  if (!std::isfinite(c.decay) || !std::isfinite(c.scale)) return wrong("decay and scale must be finite");
  if (c.size == 0 || c.size > 1000000000) return wrong("size must be from 1 to 1000000000");
  return m->check == nullptr ? core::result<void>() : m->check(c);
}

core::result<results> measure_cell(const cell& c, const caller& call) {
  if (const auto checked = check_cell(c); !checked) return tl::make_unexpected(checked.error());
  auto all = find_measure(c.measure)->run({&c, 1}, call);
  if (!all) return tl::make_unexpected(all.error());
  return std::move(all->front());
}

}  // namespace assay::explore
