// The encodings: as lines for people, and as a table and a page for documents.
#include "tools/list_encodings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "reference/oracle.hpp"
#include "tools/explore/measure.hpp"
#include "tools/explore/sweep.hpp"
#include "tools/golden_sets.hpp"
#include "tools/report/escape.hpp"

namespace assay::tools {
namespace {

std::string joined(const std::vector<std::string>& all, const char* between = ", ") {
  std::string text;
  for (const std::string& one : all) text += (text.empty() ? "" : between) + one;
  return text;
}

std::vector<core::operation> operations_of(const std::string& encoding) {
  std::vector<core::operation> all;
  for (const core::operation& op : reference::operations())
    if (op.is_forward() && op.name.starts_with(encoding + "/")) all.push_back(op);
  return all;
}

// Settings with a list of values: implementations differ in them. A setting is listed once if several operations have
// the same values, and with its operations if they have other values under that name.
std::vector<std::string> conventions_of(const std::vector<core::operation>& operations) {
  struct convention {
    std::string name, text;
    std::vector<std::string> operations;
  };
  std::vector<convention> found;
  for (const core::operation& op : operations)
    for (const core::attribute_declaration& a : op.attributes) {
      if (core::as_number(a.standard)) continue;
      std::vector<std::string> values;
      for (const core::attribute& value : a.values) values.push_back(fmt::format("`{}`", core::to_string(value)));
      const std::string text = fmt::format("`{}` = {}: {}{}", a.name, joined(values, " or "), a.meaning,
                                           a.is_later() ? " (since " + to_string(a.since) + ")" : "");
      auto same = std::find_if(found.begin(), found.end(), [&](const convention& c) { return c.text == text; });
      if (same == found.end()) same = found.insert(found.end(), {a.name, text, {}});
      same->operations.push_back(op.name);
    }
  std::vector<std::string> all;
  for (const convention& c : found) {
    const auto is_namesake = [&](const convention& other) { return other.name == c.name; };
    const bool alone = std::count_if(found.begin(), found.end(), is_namesake) == 1;
    all.push_back(alone ? c.text : fmt::format("{} ({})", c.text, joined(c.operations)));
  }
  return all;
}

// The sweeps that ask for an operation of an encoding, by its name; some measures are of one encoding. "standard" has
// all of them.
std::map<std::string, std::vector<std::string>> sweeps_by_encoding() {
  std::map<std::string, std::vector<std::string>> all;
  for (const explore::preset& p : explore::presets()) {
    const auto sweep = explore::load_sweep(std::string(p.name));
    if (!sweep || p.name == "standard") continue;
    std::set<std::string> encodings;
    const auto cells = explore::cells_of(*sweep);
    if (!cells) continue;  // a program with only some encodings (ASSAY_ONLY) lacks operations of the sweep
    for (const explore::cell& c : *cells) {
      const std::string_view own = explore::find_measure(c.measure)->encoding;
      encodings.insert(own.empty() ? c.family.substr(0, c.family.find('/')) : std::string(own));
    }
    for (const std::string& encoding : encodings) all[encoding].push_back(fmt::format("`{}`", p.name));
  }
  return all;
}

// "the number of keys, the largest distance": the quantities with which the errors of an encoding grow.
std::string growth_of(const std::vector<core::operation>& operations) {
  std::vector<std::string> all;
  for (const core::operation& op : operations)
    if (op.grows_with) {
      const std::string quantity = "the " + op.grows_with->quantity;
      if (std::find(all.begin(), all.end(), quantity) == all.end()) all.push_back(quantity);
    }
  return joined(all);
}

struct entry {
  std::string name;
  core::encoding_summary says;
  std::vector<std::string> operations{}, conventions{}, also{};
  std::string golden{}, explored{};  ///< empty if there is none
};

std::vector<entry> entries() {
  const auto sweeps = sweeps_by_encoding();
  std::vector<entry> all;
  for (const std::string& name : reference::encoding_names()) {
    entry e{.name = name, .says = reference::summary_of(name)};
    const std::vector<core::operation> operations = operations_of(name);
    for (const core::operation& op : operations) {
      std::vector<std::string> forms{fmt::format("`{}`", op.name)};
      for (const char* derivative : {":vjp", ":jvp"})
        if (reference::find_operation(op.name + derivative)) forms.push_back(fmt::format("`{}`", derivative));
      e.operations.push_back(joined(forms));
    }
    e.conventions = conventions_of(operations);
    for (const core::named_place& other : e.says.also) e.also.push_back(fmt::format("{}: {}", other.name, other.place));
    for (const golden_set& set : golden_sets())
      if (set.encoding == name) e.golden = fmt::format("{} files, {} elements", set.files, set.elements);
    std::vector<std::string> explored;
    if (const auto found = sweeps.find(name); found != sweeps.end())
      explored.push_back((found->second.size() == 1 ? "the sweep " : "the sweeps ") + joined(found->second));
    if (const std::string growth = growth_of(operations); !growth.empty())
      explored.push_back("errors grow with " + growth);
    e.explored = joined(explored, "; ");
    all.push_back(std::move(e));
  }
  return all;
}

std::string sources_of(const entry& e) {
  std::vector<std::string> all;
  for (const core::named_place& source : e.says.sources)
    all.push_back(fmt::format("[{}]({})", source.name, source.place));
  return joined(all);
}

void print_lines(const entry& e) {
  fmt::print("{:16} {}\n{:16} {}\n", e.name, e.says.what, "", e.says.formula);
  const auto detail = [](const char* what, std::string text) {
    std::erase(text, '`');
    if (!text.empty()) fmt::print("{:16} {:12} {}\n", "", what, text);
  };
  for (const core::named_place& source : e.says.sources)
    detail("source", fmt::format("{}, {}", source.name, source.place));
  for (const std::string& operation : e.operations) detail("operation", operation);
  for (const std::string& convention : e.conventions) detail("convention", convention);
  for (const std::string& other : e.also) detail("has also", other);
  detail("golden set", e.golden);
  detail("explore", e.explored);
}

void print_section(const entry& e) {
  std::string title = escape_markdown(e.says.what);
  title.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(title.front())));
  fmt::print("\n## `{0}`\n\n{1} ({2}): [{0}.hpp](encodings/{0}.hpp)\n\n    {3}\n\n", e.name, title, sources_of(e),
             e.says.formula);
  const auto detail = [](const char* what, const std::string& text) {
    if (!text.empty()) fmt::print("- **{}**: {}\n", what, text);
  };
  detail("operations", joined(e.operations, "; "));
  for (const std::string& convention : e.conventions) detail("convention", convention);
  for (const std::string& other : e.also) detail("has also", other);
  if (!e.golden.empty()) detail("golden set", fmt::format("[{0}](../golden/sets/{0}), {1}", e.name, e.golden));
  detail("explore", e.explored);
}

}  // namespace

void list_encodings(list_format format) {
  const std::vector<entry> all = entries();
  if (format == list_format::markdown) fmt::print("| encoding | what it is | source |\n|---|---|---|\n");
  for (const entry& e : all) {
    if (format == list_format::markdown)
      fmt::print("| [`{0}`](reference/ENCODINGS.md#{0}) | {1} | {2} |\n", e.name, escape_markdown(e.says.what),
                 sources_of(e));
    else if (format == list_format::page)
      print_section(e);
    else
      print_lines(e);
  }
}

}  // namespace assay::tools
