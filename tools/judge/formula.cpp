#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "golden/formats/json_file.hpp"
#include "reference/formula/given_program.hpp"
#include "reference/registry.hpp"
#include "tools/judge/judge.hpp"

namespace assay::tools {

core::result<void> add_formula(const std::vector<std::string>& files) {
  const std::string named_file = files.front();
  const std::size_t equals = named_file.find('=');
  if (equals == std::string::npos || equals == 0)
    return core::failure(fmt::format("'{}' must be NAME=FILE", formats::shown(named_file)));
  const std::string name = named_file.substr(0, equals);
  std::vector<reference::formula::program> ways;
  for (const std::string& text : files) {
    const std::string path = ways.empty() ? text.substr(equals + 1) : text;
    std::ifstream file(path, std::ios::binary);
    if (!file) return core::failure(fmt::format("cannot read {}", formats::shown(path)));
    auto p = reference::formula::read_given_program(std::string(std::istreambuf_iterator<char>(file), {}));
    if (!p) return core::failure(fmt::format("formula {}: {}", formats::shown(name), p.error().message));
    ways.push_back(std::move(*p));
  }
  try {
    reference::add_formula_owner(reference::formula::owner_of_program(name, std::move(ways)));
  } catch (const core::contract_violation& wrong) {
    return core::failure(fmt::format("formula {}: {}", formats::shown(name), wrong.what()));
  }
  return {};
}

}  // namespace assay::tools
