#include "tools/find/known_code.hpp"

#include <toml++/toml.h>

#include <algorithm>
#include <iterator>
#include <sstream>
#include <stdexcept>

#include "golden/formats/attributes_json.hpp"
#include "reference/oracle.hpp"
#include "tools/judge/requested_call.hpp"

namespace assay::tools {
namespace {

std::vector<std::string> strings_of(const toml::table& entry, const char* key) {
  std::vector<std::string> all;
  if (const toml::array* list = entry[key].as_array())
    for (const toml::node& text : *list) all.push_back(text.value<std::string>().value());
  return all;
}

use_of_operation use_from(const std::string& text) {
  std::istringstream words(text);
  use_of_operation use;
  words >> use.operation;
  const core::operation* op = reference::find_operation(use.operation);
  if (op == nullptr) {  // a program with only some encodings (ASSAY_ONLY) lacks operations
    const auto& encodings = reference::encoding_names();
    const std::string encoding = use.operation.substr(0, use.operation.find('/'));
    if (std::ranges::find(encodings, encoding) != encodings.end()) throw std::runtime_error(text + ": no operation");
    return use;
  }
  const std::vector<std::string> texts{std::istream_iterator<std::string>(words), {}};
  const auto given = settings_from(texts, op);
  if (!given) throw std::runtime_error(text + ": " + given.error().message);
  const auto typed = formats::declared_attributes_from(*op, *given);
  if (!typed) throw std::runtime_error(text + ": " + typed.error().message);
  for (const std::string& word : texts) {
    const std::string name = word.substr(0, word.find('='));
    if (const auto set = typed->find(name); set != typed->end()) use.settings.emplace_back(*set);
  }
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
