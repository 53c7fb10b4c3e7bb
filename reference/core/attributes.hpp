// Settings of a call that are no tensors: a base, a layout, the size of a block.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "reference/core/result.hpp"

namespace assay::core {

using attribute = std::variant<bool, std::int64_t, double, std::string>;
using attributes = std::map<std::string, attribute>;

/// The value of a number; nothing for a boolean or string.
std::optional<double> as_number(const attribute& value);
/// "true or false", "an integer", "a number", "a string".
std::string type_name(const attribute& value);

/// The attribute of that name. Precondition: it is there and has the type.
template <class T>
const T& setting(const attributes& all, std::string_view name) {
  const auto it = all.find(std::string(name));
  ASSAY_EXPECTS(it != all.end() && std::holds_alternative<T>(it->second));
  return std::get<T>(it->second);
}

/// The meaning of a choice, found by its name. A contract violation where no choice has this name: there is no silent
/// default.
template <class T>
T chosen(std::string_view name, std::initializer_list<std::pair<std::string_view, T>> all) {
  for (const auto& [known, meaning] : all)
    if (known == name) return meaning;
  throw contract_violation("there is no choice '" + std::string(name) + "'");
}

/// The same of a string setting. Precondition: it is there.
template <class T>
T chosen(const attributes& all, std::string_view name, std::initializer_list<std::pair<std::string_view, T>> choices) {
  return chosen<T>(setting<std::string>(all, name), choices);
}

/// The value as JSON writes it: true, 64, 0.5, "half-split".
std::string to_string(const attribute& value);
/// "block = 64, mode = "fused"".
std::string to_string(const attributes& all);

}  // namespace assay::core
