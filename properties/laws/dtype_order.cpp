// A call must be right after a call in another dtype: a table, a buffer or a compiled function that stays in the dtype
// of the call that made it is wrong for a wider one.
#include <fmt/format.h>

#include <algorithm>

#include "properties/laws/laws.hpp"
#include "properties/laws/relations/relations.hpp"

namespace assay::properties {
namespace {

std::vector<core::dtype> other_dtypes(const description& about, const request& call) {
  const auto offered = about.operations.find(call.operation->name);
  std::vector<core::dtype> others = offered == about.operations.end() ? std::vector<core::dtype>{} : offered->second;
  std::erase(others, call.type);
  return others;
}

// A call that gives no outputs in the first dtype is reported by the checks in that dtype.
void check_dtype_order(experiment& e) {
  const std::optional<core::dtype> first = dtype_before(e.about(), e.c);
  if (!first) throw experiment::ended{{status::unsupported}};
  e.needs_domain(e.c);
  const test_case before = in_dtype(e.c, *first);
  e.needs_domain(before);
  try {
    e.outputs_of(before);
  } catch (const experiment::ended&) {
    throw experiment::ended{{status::unsupported}};
  }
  e.during(fmt::format("after a call in {}", core::name_of(*first)), [&] { e.right_call(e.c); });
}

}  // namespace

test_case in_dtype(const test_case& c, core::dtype type) {
  test_case other = c;
  other.call.type = other.key.type = type;
  for (auto& [name, t] : other.call.inputs)
    if (t.type == c.call.type) t = core::cast(type, t);
  return other;
}

std::optional<core::dtype> dtype_before(const description& about, const test_case& c) {
  const auto others = other_dtypes(about, c.call);
  return others.empty() ? std::nullopt : std::optional(others[c.seed % others.size()]);
}

std::optional<test_case> after_dtype(const description& about, test_case c, core::dtype first) {
  const auto others = other_dtypes(about, c.call);
  const auto place = std::find(others.begin(), others.end(), first);
  if (place == others.end()) return std::nullopt;
  c.seed += static_cast<std::uint64_t>(place - others.begin()) + others.size() - c.seed % others.size();
  return c;
}

property dtype_order_property() {
  property p =
      law("dtype_order", "a call is right after a call of the same shapes in another dtype",
          {.with = [](const core::operation&) { return true; }, .of_mild_inputs = true}, {4, check_dtype_order});
  p.concerns = [](const description& about) {
    return !about.recorded && std::any_of(about.operations.begin(), about.operations.end(),
                                          [](const auto& offered) { return offered.second.size() > 1; });
  };
  p.stays_because = "what a first call leaves behind shows in a process that was started for it";
  return p;
}

}  // namespace assay::properties
