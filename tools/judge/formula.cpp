#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "golden/formats/json_file.hpp"
#include "reference/formula/given_program.hpp"
#include "reference/registry.hpp"
#include "tools/judge/judge.hpp"

namespace assay::tools {

core::result<void> add_formula(const std::string& named_file) {
  const std::size_t equals = named_file.find('=');
  if (equals == std::string::npos || equals == 0)
    return core::failure(fmt::format("'{}' must be NAME=FILE", formats::shown(named_file)));
  const std::string name = named_file.substr(0, equals), path = named_file.substr(equals + 1);
  std::ifstream file(path, std::ios::binary);
  if (!file) return core::failure(fmt::format("cannot read {}", formats::shown(path)));
  auto p = reference::formula::read_given_program(std::string(std::istreambuf_iterator<char>(file), {}));
  if (!p) return core::failure(fmt::format("formula {}: {}", formats::shown(name), p.error().message));
  try {
    reference::add_formula_owner(reference::formula::owner_of_program(name, std::move(*p)));
  } catch (const core::contract_violation& wrong) {
    return core::failure(fmt::format("formula {}: {}", formats::shown(name), wrong.what()));
  }
  return {};
}

}  // namespace assay::tools
