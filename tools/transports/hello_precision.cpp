#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "reference/oracle.hpp"
#include "tools/transports/hello.hpp"
#include "tools/transports/message.hpp"

namespace assay::transports {
namespace {

using nlohmann::json;

// The precision of the arithmetic on tensors of dtype `storage`, or of one stage.
core::dtype parse_format(const json& value, core::dtype storage, const std::string& where) {
  std::vector<std::string_view> known;
  for (const core::dtype t : core::floating_dtypes)
    if (core::format_of(t).precision >= core::format_of(storage).precision) known.push_back(core::name_of(t));
  const std::string words = fmt::format("{}", fmt::join(known, ", "));
  require(value.is_string(), where + " must name a precision (" + words + "), or one for each stage");
  const auto in = core::dtype_named(value.get_ref<const std::string&>());
  require(in.has_value(),
          fmt::format("{}: unknown dtype '{}'; known: {}", where, clean(value.get<std::string>(), 40), words));
  require(core::is_floating(*in), fmt::format("{} must be a floating-point dtype; known: {}", where, words));
  require(core::format_of(*in).precision >= core::format_of(storage).precision,
          fmt::format("{} must not be less precise than {}; known: {}", where, core::name_of(storage), words));
  return *in;
}

// A stage that no offered operation has would have no effect, but the report would say that it was obeyed.
properties::declared_precision parse_stages(const json& value, core::dtype storage, const std::string& where,
                                            const properties::description& offered) {
  std::vector<std::string> known;
  for (const auto& [name, dtypes] : offered.operations)
    if (const core::operation* op = reference::find_operation(name))
      for (const core::stage_declaration& s : op->stages)
        if (std::find(known.begin(), known.end(), s.name) == known.end()) known.push_back(s.name);
  require(!known.empty(), where + ": no offered operation has stages; it must name one precision");
  require(!value.empty(), fmt::format("{} must name stages; known: {}", where, fmt::join(known, ", ")));
  properties::declared_precision declared;
  for (const auto& [stage, format] : value.items()) {
    const std::string member = where + "['" + clean(stage, 40) + "']";
    require(std::find(known.begin(), known.end(), stage) != known.end(),
            fmt::format("{} is no stage of an offered operation; known: {}", member, fmt::join(known, ", ")));
    declared.stages[stage] = parse_format(format, storage, member);
  }
  return declared;
}

// Arithmetic for a dtype in which no operation is offered would have no effect either.
void require_offered(core::dtype storage, const std::string& where, const properties::description& offered) {
  std::vector<std::string_view> known;
  for (const core::dtype t : core::floating_dtypes)
    for (const auto& [name, dtypes] : offered.operations)
      if (std::find(dtypes.begin(), dtypes.end(), t) != dtypes.end()) {
        known.push_back(core::name_of(t));
        break;
      }
  require(std::find(known.begin(), known.end(), core::name_of(storage)) != known.end(),
          fmt::format("{} is of a dtype that no operation is offered in; offered: {}", where, fmt::join(known, ", ")));
}

}  // namespace

void parse_compute(const json& value, properties::description& to) {
  require(value.is_object(), "hello.compute must be an object");
  for (const auto& [storage, arithmetic] : value.items()) {
    const core::dtype from = parse_dtype(json(storage), "hello.compute");
    const std::string where = "hello.compute['" + storage + "']";
    require(core::is_floating(from), "hello.compute must name floating-point dtypes");
    require_offered(from, where, to);
    if (arithmetic.is_object())
      to.compute[from] = parse_stages(arithmetic, from, where, to);
    else
      to.compute[from] = parse_format(arithmetic, from, where);
  }
}

}  // namespace assay::transports
