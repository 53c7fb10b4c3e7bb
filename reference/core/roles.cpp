#include "reference/core/roles.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "reference/core/operation.hpp"

namespace assay::core {
namespace {

constexpr std::array<std::pair<std::string_view, axis_role>, 10> roles_of_symbols{{{"B", axis_role::batch},
                                                                                   {"h", axis_role::head},
                                                                                   {"n", axis_role::token},
                                                                                   {"m", axis_role::key},
                                                                                   {"d", axis_role::width},
                                                                                   {"e", axis_role::width},
                                                                                   {"r", axis_role::pairs},
                                                                                   {"k", axis_role::parameter},
                                                                                   {"b", axis_role::parameter},
                                                                                   {"w", axis_role::parameter}}};

bool has_axis(const operation& op, const tensor_declaration& d, std::initializer_list<axis_role> roles) {
  return std::any_of(d.axes.begin(), d.axes.end(), [&](const std::string& axis) {
    return std::find(roles.begin(), roles.end(), role_of(op, axis)) != roles.end();
  });
}

[[noreturn]] void refuse(const operation& op, const std::string& why) {
  throw contract_violation(op.name + ": " + why);
}

}  // namespace

std::string_view name_of(axis_role role) {
  constexpr std::array<std::string_view, 7> names{"batch", "head", "token", "key", "width", "pairs", "parameter"};
  return names.at(static_cast<std::size_t>(role));
}

std::string_view name_of(input_role role) {
  constexpr std::array<std::string_view, 7> names{"value",     "position",  "distance", "logit",
                                                  "parameter", "cotangent", "tangent"};
  return names.at(static_cast<std::size_t>(role));
}

axis_role role_of(const operation& op, std::string_view axis) {
  const std::string_view product = axis.substr(std::min(axis.find_first_not_of("0123456789"), axis.size()));
  const std::string_view symbol = product.substr(0, product.find('*'));
  if (symbol.empty()) return axis_role::parameter;  // "1"
  if (const auto own = op.axis_roles.find(std::string(symbol)); own != op.axis_roles.end()) return own->second;
  for (const auto& [known, role] : roles_of_symbols)
    if (known == symbol) return role;
  refuse(op, "axis '" + std::string(symbol) + "' has no role");
}

std::string axis_with(const operation& op, axis_role role) {
  for (const std::string& symbol : axis_symbols(op))
    if (role_of(op, symbol) == role) return symbol;
  return "";
}

std::size_t size_with(const operation& op, const axis_sizes& sizes, axis_role role) {
  const std::string axis = axis_with(op, role);
  return axis.empty() ? 1 : sizes.at(axis);
}

axis_sizes sizes_by_role(const operation& op, const std::map<axis_role, std::size_t>& sizes) {
  axis_sizes all;
  for (const std::string& symbol : axis_symbols(op))
    if (const auto size = sizes.find(role_of(op, symbol)); size != sizes.end()) all[symbol] = size->second;
  return all;
}

place_inputs places_of(const operation& op) {
  place_inputs found;
  for (const tensor_declaration& d : op.inputs) {
    if (d.role == input_role::distance) found.own = &d;
    if (d.role == input_role::position) (has_axis(op, d, {axis_role::key}) ? found.key : found.own) = &d;
  }
  if (found.own == nullptr) std::swap(found.own, found.key);
  return found;
}

const tensor_declaration* integer_positions(const operation& op) {
  const auto [own, key] = places_of(op);
  const bool are_such =
      own != nullptr && key == nullptr && own->role == input_role::position && own->own_type.has_value();
  return are_such ? own : nullptr;
}

void check_roles(const operation& op) {
  std::map<axis_role, std::size_t> axes;
  for (const std::string& symbol : axis_symbols(op)) ++axes[role_of(op, symbol)];
  if (axes[axis_role::token] > 1 || axes[axis_role::key] > 1) refuse(op, "several axes are tokens, or keys");
  for (const tensor_declaration& d : op.inputs) {
    if (d.role == input_role::position && !has_axis(op, d, {axis_role::token, axis_role::key}))
      refuse(op, "'" + d.name + "' is the position of no token and of no key");
    const bool is_for_all = !has_axis(op, d, {axis_role::batch, axis_role::token, axis_role::key});
    const bool may_be_for_all = d.role != input_role::value && d.role != input_role::logit;
    if (is_for_all ? !may_be_for_all : d.role == input_role::parameter)
      refuse(op, "'" + d.name + "' is the same for all rows and tokens if, and only if, it is a parameter");
  }
}

}  // namespace assay::core
