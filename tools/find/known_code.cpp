#include "tools/find/known_code.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <stdexcept>

#include "reference/oracle.hpp"

namespace assay::tools {
namespace {

std::vector<std::string> strings_of(const toml::table& entry, const char* key) {
  std::vector<std::string> all;
  if (const toml::array* list = entry[key].as_array())
    for (const toml::node& text : *list) all.push_back(text.value<std::string>().value());
  return all;
}

// Of the type that the setting has.
core::attribute value_of(const core::attribute_declaration& declared, const std::string& text) {
  if (std::holds_alternative<std::string>(declared.standard)) return text;
  if (std::holds_alternative<bool>(declared.standard) && (text == "true" || text == "false")) return text == "true";
  double number = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) throw std::runtime_error(text + " is no number");
  return std::holds_alternative<double>(declared.standard) ? core::attribute(number)
                                                           : core::attribute(static_cast<std::int64_t>(number));
}

use_of_operation use_from(const std::string& text) {
  std::istringstream words(text);
  use_of_operation use;
  words >> use.operation;
  const core::operation* op = reference::find_operation(use.operation);
  if (op == nullptr) {  // a program of some encodings (ASSAY_ONLY) has not all
    const auto& encodings = reference::encoding_names();
    const std::string encoding = use.operation.substr(0, use.operation.find('/'));
    if (std::ranges::find(encodings, encoding) != encodings.end()) throw std::runtime_error(text + ": no operation");
    return use;
  }
  for (std::string word; words >> word;) {
    const std::string name = word.substr(0, word.find('='));
    const auto declared = std::ranges::find(op->attributes, name, &core::attribute_declaration::name);
    if (declared == op->attributes.end()) throw std::runtime_error(text + ": there is no setting " + name);
    use.settings.emplace_back(name, value_of(*declared, word.substr(name.size() + 1)));
  }
  if (const auto ok = core::check_attributes(*op, {use.settings.begin(), use.settings.end()}); !ok)
    throw std::runtime_error(text + ": " + ok.error().message);
  return use;
}

}  // namespace

const std::vector<known_code>& all_known_code() {
  static const std::vector<known_code> all = [] {
    std::vector<known_code> read;
    const toml::table file = toml::parse(std::string_view(known_code_text()));
    for (const toml::node& node : *file["entry"].as_array()) {
      const toml::table& entry = *node.as_table();
      known_code code{.kind = entry["kind"].value<std::string>().value(),
                      .names = strings_of(entry, "names"),
                      .source = entry["source"].value<std::string>().value(),
                      .uses = {},
                      .note = entry["note"].value_or(std::string())};
      for (const std::string& use : strings_of(entry, "uses")) code.uses.push_back(use_from(use));
      read.push_back(std::move(code));
    }
    return read;
  }();
  return all;
}

}  // namespace assay::tools
