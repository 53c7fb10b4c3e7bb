#include <fmt/format.h>

#include <set>

#include "properties/builtin.hpp"
#include "properties/harness/property.hpp"
#include "reference/oracle.hpp"
#include "tools/commands.hpp"
#include "tools/transports/declarations.hpp"

namespace assay::tools {
namespace {

std::string shape_text(const core::tensor_declaration& d) {
  std::string text = d.name + "[";
  for (std::size_t i = 0; i < d.axes.size(); ++i) text += (i ? ", " : "") + d.axes[i];
  return text + "]";
}

std::string signature(const core::operation& op) {
  std::string in, out;
  for (const auto& d : op.inputs) in += (in.empty() ? "" : ", ") + shape_text(d);
  for (const auto& d : op.outputs) out += (out.empty() ? "" : ", ") + shape_text(d);
  for (const auto& a : op.attributes) {
    std::string values;
    if (!core::as_number(a.standard))
      for (const core::attribute& value : a.values) values += (values.empty() ? " of " : ", ") + core::to_string(value);
    in += (in.empty() ? "" : ", ") + a.name + " = " + core::to_string(a.standard) + values;
  }
  return in + " -> " + out;
}

void line(const std::string& name, const std::string& text) { fmt::print("{:34} {}\n", name, text); }

void list_families() {
  std::set<std::string> seen;
  for (const auto& tests : properties::all_encoding_tests())
    for (const auto& f : tests.families)
      if (seen.insert(f.name).second) line(f.name, f.summary);
}

}  // namespace

int list(const std::string& what, bool as_json) {
  if (as_json) {
    if (what != "operations") {
      complain("--json is for: assay list operations");
      return wrong_input;
    }
    fmt::print("{}\n", transports::declarations_json());
    return all_passed;
  }
  const bool all = what.empty();
  const auto section = [&](const char* title) {
    if (all) fmt::print("{}{}:\n", std::string(title) == "encodings" ? "" : "\n", title);
    return all || what == title;
  };
  if (section("encodings"))
    for (const std::string& name : reference::encoding_names()) fmt::print("{}\n", name);
  if (section("operations"))
    for (const auto& op : reference::operations()) line(op.name, signature(op));
  if (section("properties"))
    for (const auto& p : properties::properties()) line(p.name, p.summary);
  if (section("families")) list_families();
  if (section("mutants"))
    for (const auto& tests : properties::all_encoding_tests())
      for (const auto& m : tests.mutants) line(m.id, m.summary + " (" + m.models + ")");
  if (section("builtins"))
    for (const auto& b : properties::builtins()) line(b.name, b.summary);
  return all_passed;
}

}  // namespace assay::tools
