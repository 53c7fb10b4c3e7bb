#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "properties/builtin.hpp"
#include "properties/harness/property.hpp"
#include "reference/oracle.hpp"
#include "tools/command_line.hpp"
#include "tools/commands.hpp"
#include "tools/formula/formula_host.hpp"
#include "tools/list_encodings.hpp"
#include "tools/report/escape.hpp"
#include "tools/shared_options.hpp"
#include "tools/transports/declarations.hpp"

namespace assay::tools {
namespace {

std::string shape_text(const core::tensor_declaration& d) {
  std::string text = d.name + "[";
  for (std::size_t i = 0; i < d.axes.size(); ++i) text += (i ? ", " : "") + d.axes[i];
  return text + "]";
}

std::string joined_values(const core::attribute_declaration& a, const char* between) {
  std::string all;
  for (const core::attribute& value : a.values) all += (all.empty() ? "" : between) + core::to_string(value);
  return all;
}

std::string signature(const core::operation& op) {
  std::string in, out;
  for (const auto& d : op.inputs) in += (in.empty() ? "" : ", ") + shape_text(d);
  for (const auto& d : op.outputs) out += (out.empty() ? "" : ", ") + shape_text(d);
  for (const auto& a : op.attributes) {
    const std::string values = core::as_number(a.standard) ? "" : " of " + joined_values(a, ", ");
    in += (in.empty() ? "" : ", ") + a.name + " = " + core::to_string(a.standard) + values;
  }
  return in + " -> " + out;
}

// `position` [B,n] i64
std::string tensor_cell(const core::tensor_declaration& d) {
  std::string axes;
  for (const std::string& axis : d.axes) axes += (axes.empty() ? "" : ",") + axis;
  return fmt::format("`{}` [{}]{}", d.name, axes, d.own_type ? fmt::format(" {}", core::name_of(*d.own_type)) : "");
}

// Each setting once, with the operations that have it; twice if two sentences describe it.
void list_settings_as_markdown() {
  struct use {
    std::string name, values, meaning;
    auto operator<=>(const use&) const = default;
  };
  std::map<use, std::string> operations;
  for (const core::operation& op : reference::operations())
    if (op.is_forward())
      for (const core::attribute_declaration& a : op.attributes) {
        std::string& all = operations[{a.name, core::as_number(a.standard) ? "" : joined_values(a, ", "), a.meaning}];
        all += (all.empty() ? "`" : ", `") + op.name + "`";
      }
  fmt::print("\n| setting | values | what it is | operations |\n|---|---|---|---|\n");
  for (const auto& [u, all] : operations)
    fmt::print("| *{}* | {} | {} | {} |\n", escape_markdown(u.name),
               escape_markdown(u.values.empty() ? "a number" : u.values), escape_markdown(u.meaning), all);
}

// Forward operations as a Markdown table: settings in italics, the meaning of the outputs, and which derivatives are
// operations too.
void list_operations_as_markdown() {
  const auto join = [](std::string& text, const std::string& next, const char* between) {
    if (!next.empty()) text += (text.empty() ? "" : between) + next;
  };
  fmt::print("| operation | inputs; *settings* | outputs | meaning | derivatives |\n|---|---|---|---|---|\n");
  for (const core::operation& op : reference::operations()) {
    if (!op.is_forward()) continue;
    std::string inputs, settings, outputs, meaning, derivatives;
    for (const auto& d : op.inputs) join(inputs, tensor_cell(d), ", ");
    for (const auto& a : op.attributes) join(settings, "*" + escape_markdown(a.name) + "*", ", ");
    for (const auto& d : op.outputs) join(outputs, tensor_cell(d), ", ");
    for (const auto& d : op.outputs) join(meaning, escape_markdown(d.meaning), "; ");
    for (const char* derivative : {":vjp", ":jvp"})
      if (reference::find_operation(op.name + derivative)) join(derivatives, fmt::format("`{}`", derivative), ", ");
    join(inputs, settings, "; ");
    fmt::print("| `{}` | {} | {} | {} | {} |\n", op.name, inputs, outputs, meaning, derivatives);
  }
}

void line(const std::string& name, const std::string& text) { fmt::print("{:34} {}\n", name, text); }

// "; stages: angle, table, product"
std::string stages_text(const core::operation& op) {
  std::string text;
  for (const core::stage_declaration& s : op.stages) text += (text.empty() ? "; stages: " : ", ") + s.name;
  return text;
}

// "0.5, from 0 up to 1", or "\"a\", \"b\"": the standard value first.
std::string values_text(const core::attribute_declaration& a) {
  if (!core::as_number(a.standard)) return joined_values(a, ", ");
  const auto end = [](double x, const char* word) {
    return std::fabs(x) < std::numeric_limits<double>::max() ? fmt::format(" {} {}", word, x) : "";
  };
  const std::string limits = end(a.low, "from") + end(a.high, "up to");
  return core::to_string(a.standard) + (limits.empty() ? "" : "," + limits);
}

// Prints what an operation is, with a line for each tensor, setting and stage.
void describe(const core::operation& op) {
  const auto part = [](const char* title, bool is_there) {
    if (is_there) fmt::print("  {}\n", title);
  };
  const auto entry = [](const std::string& name, const std::string& text) { fmt::print("    {:30} {}\n", name, text); };
  const auto tensors = [&](const char* title, const std::vector<core::tensor_declaration>& all) {
    part(title, !all.empty());
    for (const auto& d : all)
      entry(shape_text(d) + (d.own_type ? fmt::format(" {}", core::name_of(*d.own_type)) : ""), d.meaning);
  };
  fmt::print("{}\n", op.name);
  if (!op.source.empty()) fmt::print("  {}\n", op.source);
  tensors("inputs", op.inputs);
  part("settings, with the standard value first", !op.attributes.empty());
  for (const auto& a : op.attributes) {
    entry(a.name, a.meaning);
    entry("", values_text(a));
  }
  tensors("outputs", op.outputs);
  part("stages, whose formats a candidate may name", !op.stages.empty());
  for (const auto& s : op.stages) entry(s.name, s.meaning);
}

// Prints each stage once, with its meaning in the operations that have it.
void list_stages() {
  std::set<std::string> seen;
  for (const core::operation& op : reference::operations())
    for (const core::stage_declaration& s : op.stages)
      if (seen.insert(s.name + s.meaning).second)
        line(s.name, fmt::format("{} ({}; f16 and bf16: {})", s.meaning, op.name, s.narrow ? "as stored" : "f32"));
}

void list_families() {
  std::set<std::string> seen;
  for (const auto& tests : properties::all_encoding_tests())
    for (const auto& f : tests.families)
      if (seen.insert(f.name).second) line(f.name, f.summary);
}

int list(const std::string& what, const std::vector<std::string>& names, list_format format) {
  if (!names.empty()) {
    if (what != "operations" || format != list_format::text) {
      complain("names are for: assay list operations NAME ...");
      return wrong_input;
    }
    const auto is_meant = [](const core::operation& op, const std::string& name) {
      return op.name == name || (op.is_forward() && op.name.starts_with(name + "/"));
    };
    const auto& operations = reference::operations();
    for (const std::string& name : names)
      if (std::ranges::none_of(operations, [&](const core::operation& op) { return is_meant(op, name); })) {
        complain("unknown operation '" + name + "'; see: assay list operations");
        return wrong_input;
      }
    for (const std::string& name : names)
      for (const core::operation& op : operations)
        if (is_meant(op, name)) describe(op);
    return all_passed;
  }
  if (format != list_format::text) {
    const bool lists_encodings = what == "encodings" && format != list_format::json;
    if (!lists_encodings && (what != "operations" || format == list_format::page)) {
      complain("--json is for: assay list operations; --page for: assay list encodings; --markdown for either");
      return wrong_input;
    }
    if (lists_encodings)
      list_encodings(format);
    else if (format == list_format::json)
      fmt::print("{}\n", transports::declarations_json());
    else {
      list_operations_as_markdown();
      list_settings_as_markdown();
    }
    return all_passed;
  }
  const bool all = what.empty();
  const auto section = [&](const char* title) {
    if (all) fmt::print("{}{}:\n", std::string(title) == "encodings" ? "" : "\n", title);
    return all || what == title;
  };
  if (section("encodings")) list_encodings(format);
  if (section("operations"))
    for (const auto& op : reference::operations()) line(op.name, signature(op) + stages_text(op));
  if (section("stages")) list_stages();
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

}  // namespace

command_work list_command(CLI::App& app) {
  struct list_options {
    std::string what{};
    std::vector<std::string> names{};
    bool as_json = false, as_markdown = false, as_page = false;
    formula_options formula{};
  };
  auto options = std::make_shared<list_options>();
  app.add_option("what", options->what)
      ->check(CLI::IsMember({"encodings", "operations", "stages", "properties", "mutants", "families", "builtins"}));
  app.add_option("names", options->names,
                 "operations, or encodings with all of theirs, whose inputs and settings are described");
  app.add_flag("--json", options->as_json, "the operations for a program to read");
  add_formula(app, options->formula);
  app.add_flag("--markdown", options->as_markdown, "the encodings, or the operations, as a table for a document")
      ->excludes("--json");
  app.add_flag("--page", options->as_page, "the encodings as a page for a document, with a section for each")
      ->excludes("--json")
      ->excludes("--markdown");
  return [options](const program_options&) {
    return with_formula(options->formula, [&] {
      return list(options->what, options->names,
                  options->as_json       ? list_format::json
                  : options->as_markdown ? list_format::markdown
                  : options->as_page     ? list_format::page
                                         : list_format::text);
    });
  };
}

}  // namespace assay::tools
