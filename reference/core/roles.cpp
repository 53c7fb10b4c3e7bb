#include "reference/core/roles.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

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

// "d" of "2d" and "2d-1", "h" of "h*u", nothing of "1".
std::string_view symbol_of(std::string_view axis) {
  const std::string_view product = axis.substr(std::min(axis.find_first_not_of("0123456789"), axis.size()));
  return product.substr(0, product.find_first_of("*+-/"));
}

// The operation says itself what the axis is, whatever its symbol means elsewhere.
bool is_declared(const operation& op, std::string_view axis) {
  return op.axis_roles.find(std::string(symbol_of(axis))) != op.axis_roles.end();
}

bool are_declared(const operation& op, const std::vector<std::string>& axes) {
  return std::all_of(axes.begin(), axes.end(), [&](const std::string& axis) { return is_declared(op, axis); });
}

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
  const std::string_view symbol = symbol_of(axis);
  if (symbol.empty()) return axis_role::parameter;  // "1"
  if (const auto own = op.axis_roles.find(std::string(symbol)); own != op.axis_roles.end()) return own->second;
  for (const auto& [known, role] : roles_of_symbols)
    if (known == symbol) return role;
  refuse(op, "axis '" + std::string(symbol) + "' has no role");
}

std::string axis_with(const operation& op, axis_role role) {
  if (role == axis_role::token || role == axis_role::key)
    for (const tensor_declaration& d : op.inputs)
      for (const std::string& axis : d.axes)
        if (role_of(op, axis) == role) return std::string(symbol_of(axis));
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

namespace {

using axes_by_role = std::map<axis_role, std::vector<std::string>>;

void check_position(const operation& op, const tensor_declaration& d, const axes_by_role& axes) {
  const auto along = [&](axis_role role) {
    return std::count_if(d.axes.begin(), d.axes.end(), [&](const auto& axis) { return role_of(op, axis) == role; });
  };
  const auto tokens = along(axis_role::token), keys = along(axis_role::key);
  if (tokens > 1 || keys > 1) refuse(op, "'" + d.name + "' is one position along several axes of tokens, or of keys");
  const bool is_of_a_step = !axes.contains(axis_role::token) && are_declared(op, d.axes);
  if (tokens == 0 && keys == 0 && !is_of_a_step)
    refuse(op, "'" + d.name + "' is the position of no token and of no key");
}

// Check of the role "parameter" (the same for all rows and tokens). A step has one row and one token, so it has no such
// inputs.
void check_for_all(const operation& op, const tensor_declaration& d, const axes_by_role& axes) {
  const bool is_for_all = !has_axis(op, d, {axis_role::batch, axis_role::token, axis_role::key});
  const bool is_of_rows = d.role == input_role::value || d.role == input_role::logit;
  const bool is_of_a_step =
      !axes.contains(axis_role::batch) && !axes.contains(axis_role::token) && are_declared(op, d.axes);
  const bool is_of_tokens = !has_axis(op, d, {axis_role::batch}) && are_declared(op, d.axes);
  if (is_for_all ? is_of_rows && !is_of_a_step : d.role == input_role::parameter && !is_of_tokens)
    refuse(op, "'" + d.name + "' is the same for all rows and tokens if, and only if, it is a parameter");
}

}  // namespace

void check_roles(const operation& op) {
  axes_by_role axes;
  for (const std::string& symbol : axis_symbols(op)) axes[role_of(op, symbol)].push_back(symbol);
  for (const axis_role role : {axis_role::token, axis_role::key})
    if (const auto all = axes.find(role); all != axes.end() && all->second.size() > 1 && !are_declared(op, all->second))
      refuse(op, "several axes are tokens, or keys, and the operation does not say so of each");
  for (const tensor_declaration& d : op.inputs) {
    if (d.role == input_role::position) check_position(op, d, axes);
    check_for_all(op, d, axes);
  }
}

}  // namespace assay::core
